/** The page draws the Markdown of agents as elements, and never takes it for its own markup. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Served } from '../serve/support.js'
import { House } from '../support/cli.js'
import { openPage } from './page-support.js'

const WIDTH = 360

/** The page of an agent that has said the text. */
async function pageOf(text: string): Promise<{ page: Page; troubles: string[]; close(): Promise<void> }> {
  const house = new House()
  const id = await house.spawn('a', '-o', house.scenario('a.json', { say: text }))
  await house.run(['send', 'a', 'go'])
  const served = await Served.start(house)
  const { page, troubles } = await openPage(served, `#/agents/${id}`, {
    viewport: { width: WIDTH, height: 740 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await page.locator('.from-agent').waitFor()
  return { page, troubles, close: () => served.stop() }
}

test('Markdown is drawn, and its links lead only to the web and to mail, and show where', async () => {
  const text = [
    '# Result',
    '**All** tests *pass*, see [the report](https://example.org/r?a=1), https://example.org or [mail](mailto:me@example.org).',
    '- one\n- two',
    '&copy; and &eacute;, &nosuch; and &lt stay',
    '| file | lines |\n|---|---|\n| a.ts | 12 |',
    '```sh\nnpm test\n```',
    '![the plot](https://example.org/plot.png) and [notes](notes.md) and [run](javascript:window.hit=1)',
    '[hidden]: https://example.org "a definition is not left out"',
  ].join('\n\n')
  const { page, troubles, close } = await pageOf(text)
  const reply = page.locator('.from-agent')
  expect(await reply.locator('.heading, strong, em, li, th, td, pre').allTextContents()).toEqual([
    ...['Result', 'All', 'pass', 'one', 'two', 'file', 'lines', 'a.ts', '12', 'npm test'],
  ])
  const links = await reply.locator('a').all()
  const facts = await Promise.all(
    links.map(async (link) => [await link.getAttribute('href'), await link.getAttribute('rel')]),
  )
  const safe = 'noopener noreferrer nofollow'
  expect(facts).toEqual([
    ['https://example.org/r?a=1', safe],
    ['https://example.org/', safe],
    ['mailto:me@example.org', safe],
    ['https://example.org/plot.png', safe],
    // The definition stays a text.
    ['https://example.org/', safe],
  ])
  const shown = (await reply.textContent()) ?? ''
  for (const part of ['the report (example.org)', 'image: the plot (example.org)', 'notes (notes.md)'])
    expect(shown).toContain(part)
  expect(shown).toContain('© and é, &nosuch; and &lt stay')
  for (const part of ['[run](javascript:window.hit=1)', '[hidden]: https://example.org'])
    expect(shown).toContain(part)
  expect(await reply.locator('img').count()).toBe(0)
  await reply.getByRole('button', { name: 'Copy' }).click()
  await page.getByText('Copied').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text)
  expect(troubles).toEqual([])
  await close()
})

const EMPHASIS = '*'.repeat(9000)

test.each([
  ['quotes in quotes', `${'> '.repeat(4000)}the end`],
  [
    'lists in lists',
    `${Array.from({ length: 90 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n')} the end`,
  ],
  ['emphasis in emphasis', `${EMPHASIS}a${EMPHASIS} the end`],
  ['open brackets', `${'[a]('.repeat(4000)} the end`],
  ['open addresses', `${'http://a('.repeat(2000)} the end`],
])('%s hide nothing and do not stop the page', async (_, text) => {
  const { page, troubles, close } = await pageOf(text)
  await page.locator('.from-agent').getByText('the end').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(WIDTH)
  expect(troubles).toEqual([])
  await close()
})

test('a long text is cut, says so, and is shown whole as it was written', async () => {
  const { page, troubles, close } = await pageOf(`# Long\n\n${'word '.repeat(10_000)}the end`)
  const reply = page.locator('.from-agent')
  await reply.getByRole('button', { name: 'Show 30,015 more characters' }).click()
  await reply.getByText('# Long').waitFor()
  expect((await reply.textContent()) ?? '').toContain('the end')
  expect(troubles).toEqual([])
  await close()
})

test('a text of 1 MB is shown as its size, with the commands that print it', async () => {
  const { page, troubles, close } = await pageOf('word '.repeat(200_000))
  await page.locator('.from-agent').getByText('read it with substrat log').waitFor()
  expect(troubles).toEqual([])
  await close()
})
