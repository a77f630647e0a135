/** The names of characters on the page, against the table of the package that the parser of Markdown has otherwise. */
import { decodeHTMLStrict as decodeOfPackage } from 'entities'
import { expect, test } from 'vitest'
import { decodeHTMLStrict, NAMES } from '../../plugins/serve/page/src/parts/entities.js'

test('each name has the character that HTML gives it, and another text stays as it is', () => {
  expect(NAMES.size).toBeGreaterThan(240)
  for (const name of [...NAMES].filter((name) => name !== '-'))
    expect([name, decodeHTMLStrict(`&${name};`)]).toEqual([name, decodeOfPackage(`&${name};`)])
  expect(decodeHTMLStrict('&nosuch;')).toBe('&nosuch;')
})
