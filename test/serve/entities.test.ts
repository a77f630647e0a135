/** The names of characters on the page, against the table of the parser, which the bundle leaves out. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { decodeHTMLStrict, NAMES } from '../../plugins/serve/page/src/parts/entities.js'
import { PLUGIN } from './support.js'

interface Parser {
  parseInline(text: string, environment: object): { children: { content: string }[] | null }[]
}

/** A dependency of the plugin alone. */
const found = createRequire(path.join(PLUGIN, 'package.json')).resolve('markdown-it')
const { default: MarkdownIt } = (await import(pathToFileURL(found).href)) as { default: new () => Parser }
const parser = new MarkdownIt()

function decodedByParser(text: string): string {
  const [inline] = parser.parseInline(text, {})
  return (inline?.children ?? []).map(({ content }) => content).join('')
}

test('each name has the character that HTML gives it, and another text stays as it is', () => {
  expect(NAMES.size).toBeGreaterThan(240)
  // U+03A2 has no character, and no name.
  for (const name of [...NAMES].filter((name) => name !== '-'))
    expect([name, decodeHTMLStrict(`&${name};`)]).toEqual([name, decodedByParser(`&${name};`)])
  expect(decodeHTMLStrict('&nosuch;')).toBe('&nosuch;')
})
