/** The predicates of the build accept and refuse the same values as zod, and as ajv with the JSON Schemas. */
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { kinds } from '../../src/schema/config.js'
import { predicateModule } from '../../src/schema/predicates.mjs'
import {
  blob,
  content,
  decision,
  flag,
  integer,
  json,
  metadata,
  text,
  texts,
  time,
  usage,
  uuid,
} from '../../src/schema/types.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const BLOB = { blob: 'a'.repeat(64), bytes: 1 }
const TIME = '2026-11-20T10:00:00.000Z'

const TABLE: [name: string, schema: z.ZodType, accepted: unknown[], refused: unknown[]][] = [
  ['text', text, ['', 'a', '\u0000'], [null, undefined, 7, [], {}]],
  ['uuid', uuid, [ID], [ID.toUpperCase(), `${ID} `, `${ID}\n`, '', null, 7, [ID]]],
  ['integer', integer, [0, -1, 2 ** 53 - 1], [0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1', null]],
  ['number', z.number().min(0), [0, 0.5, 7], [-1, Number.NaN, Number.POSITIVE_INFINITY, '1', null]],
  ['flag', flag, [true, false], [0, 1, 'true', null]],
  ['texts', texts, [{}, { a: 'b' }], [{ a: 1 }, { a: null }, ['a'], 'a', null]],
  ['metadata', metadata, [{}, { a: 'b', c: null }], [{ a: 1 }, ['a'], 'a', null]],
  [
    'record with named keys',
    z.record(text.regex(/^[a-z]+$/), text),
    [{}, { a: 'b' }],
    [{ A: 'b' }, { a: 1 }, [], null],
  ],
  [
    'servers',
    kinds.servers,
    [{}, { 'a-1': { command: 'c' } }],
    [{ 'a b': { command: 'c' } }, { a: {} }, [], null],
  ],
  ['blob', blob, [BLOB], [{ ...BLOB, blob: 'A'.repeat(64) }, { ...BLOB, bytes: 0.5 }, 'a', null]],
  ['content', content, ['', 'a', BLOB], [7, null, {}, { blob: '../../x', bytes: 1 }]],
  ['any object', json, [{}, { a: [1, null] }], [[], 'a', null, 7]],
  ['enumeration', decision, ['approve', 'result'], ['Approve', '', null, ['deny'], 0]],
  ['nullable', text.nullable(), ['a', null], [undefined, 7]],
  ['optional', text.optional(), ['a', undefined], [null, 7]],
  ['array', z.array(text), [[], ['a', 'b']], [['a', 7], [undefined], 'a', { 0: 'a' }, null]],
  [
    'object',
    z.object({ a: text, b: text.optional() }),
    [{ a: '' }, { a: 'x', b: 'y' }, { a: 'x', later: 1 }],
    [{}, { b: 'y' }, { a: 'x', b: 7 }, ['x'], null],
  ],
  ['union', z.union([z.object({ a: text }), z.literal('x')]), ['x', { a: '' }], ['y', {}, null]],
  [
    'time',
    time,
    [TIME, '0001-01-01T00:00:00.000Z'],
    [
      '2026-11-20T10:00:00Z',
      '2026-11-20T10:00:00.000+01:00',
      '2026-11-20 10:00:00.000Z',
      '+012026-11-20T10:00:00.000Z',
      `${TIME}\n`,
      1_700_000_000_000,
      null,
    ],
  ],
]

const predicates = await predicatesOf(
  z.object(Object.fromEntries(TABLE.map(([name, schema]) => [name, schema]))),
)

describe.each(TABLE)('the predicate of %s', (name, schema, accepted, refused) => {
  const predicate = predicates[name] as (value: unknown) => boolean

  test.each(accepted.map((value) => [value]))('accepts %j', (value) => {
    expect(predicate(value)).toBe(true)
    expect(schema.safeParse(value).success).toBe(true)
  })

  test.each(refused.map((value) => [value]))('refuses %j', (value) => {
    expect(predicate(value)).toBe(false)
    expect(schema.safeParse(value).success).toBe(false)
  })
})

test('a predicate agrees with ajv on any JSON value', async () => {
  const schema = z.object({ usage, content, calls: z.array(z.object({ id: uuid, input: json.optional() })) })
  const [checks, validate] = [
    await predicatesOf(schema),
    new Ajv({ strict: false, code: { optimize: false } }).compile(jsonSchema(schema)),
  ]
  const near = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(ID, BLOB, { input_tokens: 1, output_tokens: 2 }, { id: ID }, 'x'),
    },
    fc.jsonValue(),
  )
  const value = fc.record({
    usage: near,
    content: near,
    calls: fc.oneof(near, fc.array(near, { maxLength: 3 })),
  })
  fc.assert(
    fc.property(value, (given) => {
      const isAccepted = Object.entries(checks).every(([field, check]) =>
        check(given[field as keyof typeof given]),
      )
      expect(isAccepted).toBe(validate(given))
    }),
    { numRuns: 2000 },
  )
})

test('a keyword without a predicate fails the build', () => {
  const schema = jsonSchema(z.object({ a: z.string().min(3) }))
  expect(() => predicateModule('X', [['x', schema]])).toThrow('no predicate for minLength')
})

function jsonSchema(schema: z.ZodType): object {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })
}

async function predicatesOf(schema: z.ZodType): Promise<Record<string, (value: unknown) => boolean>> {
  const code = predicateModule('X', [['x', z.toJSONSchema(schema, { io: 'input' })]])
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return module.X.x
}
