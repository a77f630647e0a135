import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonTrouble, lineOfField } from '../../src/settings/json-lines.js'

test('a text that JSON.parse accepts has no trouble, and any other text has some', () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const cut = fc.tuple(fc.json(), fc.nat(), fc.nat()).map(([text, from, length]) => {
    const at = from % (text.length + 1)
    return text.slice(0, at) + text.slice(at + (length % 3))
  })
  fc.assert(
    fc.property(fc.oneof(fc.json(), cut, fc.string()), (text) => {
      expect(jsonTrouble(text) === undefined, text).toBe(isJson(text))
    }),
  )
})

test.for([
  ['{\n  "a": 1\n  "b": 2\n}\n', 3, 'expected "," or "}", not "\\"b\\": 2"'],
  ['{\n  "a": 1,\n}\n', 3, 'expected a name in double quotes, not "}"'],
  ['{ "a" 1 }', 1, 'expected ":", not "1 }"'],
  ['{\n"a": soon }', 2, 'expected a value, not "soon }"'],
  ['[1, 2', 1, 'expected "," or "]", not the end of the text'],
  ['{}\n{}', 2, 'expected the end of the text, not "{}"'],
  ['', 1, 'expected a value, not the end of the text'],
] as const)('the trouble of %j is on line %i', ([text, line, why]) => {
  expect(jsonTrouble(text)).toEqual({ line, why })
})

test('a field is found on its own line, and not within another field', () => {
  const text = '{\n  "a": {"b": 1},\n  "c": [\n1],\n  "b": 2\n}'
  expect(['a', 'b', 'c', 'd'].map((name) => lineOfField(text, name))).toEqual([2, 5, 3, undefined])
})
