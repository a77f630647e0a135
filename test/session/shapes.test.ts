import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  blob,
  type Check,
  content,
  flag,
  integer,
  isPlainObject,
  isTime,
  json,
  list,
  object,
  oneOf,
  optional,
  orNull,
  text,
  texts,
  uuid,
} from '../../src/session/shapes.js'

const ID = randomUUID()
const BLOB = { blob: 'a'.repeat(64), bytes: 1 }

const TABLE: [string, Check<never> | Check<unknown>, unknown[], unknown[]][] = [
  ['text', text as Check<unknown>, ['', 'a', '\u0000'], [null, undefined, 7, [], {}]],
  ['uuid', uuid as Check<unknown>, [ID], [ID.toUpperCase(), `${ID} `, `${ID}\n`, '', null, 7, [ID]]],
  [
    'integer',
    integer as Check<unknown>,
    [0, -1, 2 ** 53 - 1],
    [0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1', null],
  ],
  ['flag', flag as Check<unknown>, [true, false], [0, 1, 'true', null]],
  ['texts', texts as Check<unknown>, [{}, { a: 'b' }], [{ a: 1 }, { a: null }, ['a'], 'a', null]],
  [
    'blob',
    blob as Check<unknown>,
    [BLOB],
    [{ ...BLOB, blob: 'A'.repeat(64) }, { ...BLOB, bytes: 0.5 }, 'a', null],
  ],
  ['content', content as Check<unknown>, ['', 'a', BLOB], [7, null, {}, { blob: '../../x', bytes: 1 }]],
  ['json', json as Check<unknown>, [{}, { a: [1, null] }], [[], 'a', null, 7]],
  ['oneOf', oneOf('a', 'b') as Check<unknown>, ['a', 'b'], ['c', 'A', '', null, ['a'], 0]],
  ['orNull', orNull(text) as Check<unknown>, ['a', null], [undefined, 7]],
  ['optional', optional(text) as Check<unknown>, ['a', undefined], [null, 7]],
  ['list', list(text) as Check<unknown>, [[], ['a', 'b']], [['a', 7], [undefined], 'a', { 0: 'a' }, null]],
  [
    'object',
    object<{ a: string; b: string | undefined }>('pair', {
      a: text,
      b: optional(text) as never,
    }) as Check<unknown>,
    [{ a: '' }, { a: 'x', b: 'y' }, { a: 'x', later: 1 }],
    [{}, { b: 'y' }, { a: 'x', b: 7 }, ['x'], null],
  ],
]

describe.each(TABLE)('the shape %s', (_, check, good, bad) => {
  test.each(good.map((value) => [value]))('accepts %j', (value) => expect(check(value)).toBe(true))
  test.each(bad.map((value) => [value]))('refuses %j', (value) => expect(check(value)).toBe(false))
})

test('only an optional shape has the flag that lets its field be missing', () => {
  expect(optional(text).optional).toBe(true)
  expect(text.optional).toBeUndefined()
  expect(orNull(text).optional).toBeUndefined()
})

test('a time has one length and is in UTC, so that times sort as text', () => {
  for (const time of ['2026-11-20T10:00:00.000Z', '0001-01-01T00:00:00.000Z']) expect(isTime(time)).toBe(true)
  const bad = [
    '2026-11-20T10:00:00Z',
    '2026-11-20T10:00:00.000+01:00',
    '2026-11-20 10:00:00.000Z',
    '+012026-11-20T10:00:00.000Z',
    '2026-11-20T10:00:00.000Z\n',
    1_700_000_000_000,
    null,
  ]
  for (const time of bad) expect(isTime(time), String(time)).toBe(false)
})

test('a plain object is neither a list nor null', () => {
  expect([{}, [], null, 'a', undefined, 7].map(isPlainObject)).toEqual([
    true,
    false,
    false,
    false,
    false,
    false,
  ])
})
