/** docs/store.md lists each promise of a store, and the code above storage that relies on it. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { storeCases } from '../../src/storage/conformance/conformance.js'
import { tablesOf } from '../support/markdown.js'

const rows = tablesOf(readFileSync('docs/store.md', 'utf8')).flatMap((table) => table.rows)
const titles = storeCases(() => {
  throw new Error('no case runs here')
}).map(({ title }) => title)

test('each promise has a case of the conformance suite, in its words, and each case a promise', () => {
  expect(rows.map(([promise]) => promise)).toEqual(titles)
})

test.each([
  ['a stale lease', 'a lost lease writes nothing'],
  ['a batch id', 'appended twice is there once'],
  ['a race for a name', 'create an agent of one name at once create one'],
  ['a message to an agent that ends', 'a holder that ends the agent at once do not miss each other'],
])('%s has a case', (_, words) => {
  expect(titles.filter((title) => title.includes(words))).toHaveLength(1)
})

test('the code that relies on a promise is above storage, and uses a store', () => {
  for (const [promise, file = ''] of rows) {
    const path = file.replaceAll('`', '')
    expect(existsSync(path), `${promise}: ${path}`).toBe(true)
    expect(path).toMatch(/^src\/(?!storage)/)
    expect(readFileSync(path, 'utf8'), path).toMatch(/store|lease|homeId|session/)
  }
})
