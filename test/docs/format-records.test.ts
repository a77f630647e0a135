/** docs/format.md has the record kinds and fields of the code: its tables are compared with the shapes that check records. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { encodeBatch } from '../../src/session/batch.js'
import { RECORD_SHAPES } from '../../src/session/kinds.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Check } from '../../src/session/shapes.js'
import { namesBelow, tablesOf } from '../support/markdown.js'
import { encodeSnapshot } from '../support/snapshots.js'

type Fields = Readonly<Record<string, Check<unknown>>>

const tables = tablesOf(readFileSync('docs/format.md', 'utf8'))
const shapes = RECORD_SHAPES as unknown as Record<string, Fields>

test('docs/format.md has every record kind with its fields and their types, and no other', () => {
  expect(documented('Kind')).toEqual(mapped(shapes, fieldLines))
})

test('docs/format.md has every object within records with its fields and their types, and no other', () => {
  expect(documented('Object')).toEqual(mapped(objectsIn(shapes), fieldLines))
})

test('docs/format.md explains every type that its tables use', () => {
  const explained = [...namesBelow(tables, 'Types'), ...Object.keys(documented('Object'))]
  const typed = tables.filter(({ head }) => head.includes('Meaning') && head.includes('Type'))
  const types = typed.flatMap(({ head, rows }) => rows.map((row) => row[head.indexOf('Type')] as string))
  const used = new Set(types.filter((type) => type !== '').map((type) => baseOf(type)))
  used.delete('one of')
  expect([...used].filter((type) => !explained.includes(type))).toEqual([])
})

test('docs/format.md has every reason of an interruption, and no other', () => {
  const reasons = tables.find(({ head }) => head[0] === 'Reason')?.rows.map(([reason]) => reason)
  expect(`one of ${reasons?.join(', ')}`).toBe(RECORD_SHAPES['run.interrupted'].reason.type)
})

test('docs/format.md has the fields that frame every record, in their order', () => {
  const { bytes } = encodeBatch(undefined, [CREATED])
  const names = Object.keys(JSON.parse(String(bytes)))
  expect(namesBelow(tables, 'Fields of every record')).toEqual(
    names.filter((name) => !(name in CREATED) || name === 'kind'),
  )
})

test('docs/format.md has the fields of the snapshot, in their order', () => {
  const { state } = encodeBatch(undefined, [CREATED, KEPT, REBUILT])
  const names = Object.keys(JSON.parse(String(encodeSnapshot(state))))
  expect(namesBelow(tables, 'The snapshot')).toEqual(names)
})

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

const CREATED: NewRecord<'session.created'> = {
  kind: 'session.created',
  agent_id: ID,
  format: 1,
  name: 'a',
  parent: null,
  instructions: null,
  provider: 'exec',
  options: {},
  model: null,
  workspace: '/w',
}

/** This record and the next give the state its optional fields. */
const KEPT: NewRecord<'server.kept'> = {
  kind: 'server.kept',
  server_id: ID,
  group: { process_group: 1, start_time: 1, kernel_boot_id: 'k', pid_namespace: '1' },
}

const REBUILT: NewRecord<'session.rebuilt'> = {
  kind: 'session.rebuilt',
  kept: 'nothing',
  last_seq: 1,
  delivered: [],
  requests: [],
  keys: [],
}

/**
 * The fields of each kind or object, from the tables whose first column has that head. A row names the kind or object, and
 * the rows below it are its fields.
 */
function documented(head: string): Record<string, string[]> {
  const found: [string, string[]][] = []
  for (const [name = '', field = '', type = ''] of tables
    .filter((table) => table.head[0] === head)
    .flatMap(({ rows }) => rows)) {
    if (name === '') found.at(-1)?.[1].push(`${field}: ${type}`)
    else found.push([name, []])
  }
  const names = found.map(([name]) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  return Object.fromEntries(found)
}

function fieldLines(fields: Fields): string[] {
  return Object.entries(fields).map(([name, { type, optional }]) => `${name}${optional ? '?' : ''}: ${type}`)
}

/** The objects that fields of these shapes hold, by name, and the objects within those. */
function objectsIn(all: Record<string, Fields>): Record<string, Fields> {
  const held = Object.values(all).flatMap((fields) =>
    Object.values(fields).flatMap(({ type, fields }): [string, Fields][] =>
      fields === undefined ? [] : [[baseOf(type), fields]],
    ),
  )
  const objects = Object.fromEntries(held)
  return held.length === 0 ? objects : { ...objects, ...objectsIn(objects) }
}

/** Without `list of` and `or null`. */
function baseOf(type: string): string {
  return type
    .replace(/^list of /, '')
    .replace(/ or null$/, '')
    .replace(/^one of .*/, 'one of')
}

function mapped<T, U>(record: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
