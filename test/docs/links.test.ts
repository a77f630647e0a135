/** Every relative link of the pages leads to a file of the repository and to a heading in it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { anchorsOf, linksOf } from '../support/markdown.js'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'stress/README.md',
  'src/start/README.md',
  ...pagesIn('docs', (name) => name),
  ...pagesIn('plugins', (name) => `${name}/README.md`),
]

test('every link of README.md, CHANGELOG.md, docs/ and the other pages leads to a file and a heading that exist', () => {
  const links = PAGES.flatMap((page) => linksOf(readFileSync(page, 'utf8')).map((link) => ({ page, link })))
  const broken = links.filter(({ page, link }) => isBroken(page, link))
  expect(broken).toEqual([])
  expect(links.length).toBeGreaterThan(100)
  for (const page of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'stress/README.md', 'docs/README.md'])
    expect(links.some((each) => each.page === page)).toBe(true)
})

test('a link in code does not count, and neither does a comment in a code block as a heading', () => {
  const text = [
    '# A page: `code` and a [link](b.md#there)',
    '## Twice',
    '## Twice',
    'A `[link](in-code.md)`, [two](c.md "a title") and ![three](<d e.png>).',
    '```sh',
    '# a comment [four](e.md)',
    '```',
    '[five]: f.md#g',
    'https: [six](https://example.com/a.md), [seven](mailto:a@example.com)',
  ].join('\n')
  expect(linksOf(text)).toEqual(['b.md#there', 'c.md', 'd e.png', 'f.md#g'])
  expect(anchorsOf(text)).toEqual(['a-page-code-and-a-link', 'twice', 'twice-1'])
})

function isBroken(page: string, link: string): boolean {
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? page : join(dirname(page), file)
  return (
    !existsSync(target) || (anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor))
  )
}

function pagesIn(directory: string, pageOf: (name: string) => string): string[] {
  const pages = readdirSync(directory).map((name) => `${directory}/${pageOf(name)}`)
  return pages.filter((page) => page.endsWith('.md') && existsSync(page))
}
