/** docs/format.md lists the record kinds and fields of the code. Its shapes are compared with those that check records. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { z } from 'zod'
import { message } from '../../src/schema/mail.js'
import { RECORD_SECTIONS, RECORDS } from '../../src/schema/records.js'
import { snapshot } from '../../src/schema/snapshot.js'
import { framed } from '../../src/schema/types.js'
import { encodeBatch } from '../../src/session/batch.js'
import type { NewRecord } from '../../src/session/records.js'
import { shapesOf, termsBelow } from '../support/markdown.js'
import { describedObjects, fieldLines, objectsIn } from '../support/notation.js'

const page = readFileSync('docs/format.md', 'utf8')
const shapes = mapped(RECORDS, ({ shape }) => shape)

test('docs/format.md has the record kinds of src/schema (WRITE_DOCS=1 writes them)', () => {
  const sections = Object.entries(RECORD_SECTIONS).map(
    ([heading, kinds]) => `### ${heading}\n\n${describedObjects(kinds)}`,
  )
  expectSection('Record kinds', sections.join('\n\n'))
})

test('docs/format.md has the objects in records of src/schema (WRITE_DOCS=1 writes them)', () => {
  expectSection('Objects in records', describedObjects(objectsIn(Object.values(shapes))))
})

test('docs/format.md has the message of src/schema (WRITE_DOCS=1 writes it)', () => {
  expectSection('Messages', describedObjects({ message: framed(message), ...ownObjectsOf(message) }))
})

test('docs/format.md explains every type that its shapes use', () => {
  const named = ['Objects in records', 'Messages'].map(documented)
  const explained = [...termsBelow(page, 'Types'), ...named.flatMap(Object.keys)]
  const used = shapesOf(page).flatMap(({ fields }) => fields.flatMap((field) => namesIn(typeOf(field))))
  expect(used.length).toBeGreaterThan(100)
  expect([...new Set(used)].filter((type) => !explained.includes(type))).toEqual([])
})

test('docs/format.md lists the fields that frame every record, in order', () => {
  const { bytes } = encodeBatch(undefined, [CREATED])
  const names = Object.keys(JSON.parse(String(bytes)))
  const framing = shapesOf(page).find(({ name }) => name === 'record')
  expect(framing?.fields.map((field) => field.split(':')[0])).toEqual(
    names.filter((name) => !(name in CREATED) || name === 'kind'),
  )
})

test('docs/format.md describes fields of the snapshot as src/schema does', () => {
  const listed = shapesOf(page).find(({ name }) => name === 'snapshot')?.fields ?? []
  expect(listed.length).toBeGreaterThan(0)
  expect(listed.filter((field) => !fieldLines(snapshot.shape).includes(field))).toEqual([])
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

/** The named objects in the fields of a schema that no record has. */
function ownObjectsOf({ shape: fields }: z.ZodObject): Record<string, z.ZodObject> {
  const inRecords = objectsIn(Object.values(shapes))
  return Object.fromEntries(Object.entries(objectsIn([fields])).filter(([name]) => !(name in inRecords)))
}

/** The text between the comments `<!-- src/schema: TITLE -->` and `<!-- end -->`. */
function expectSection(title: string, text: string): void {
  const [begin, end] = [`<!-- src/schema: ${title} -->\n\n`, '\n\n<!-- end -->']
  const now = readFileSync('docs/format.md', 'utf8')
  const from = now.indexOf(begin) + begin.length
  const to = now.indexOf(end, from)
  expect(from).toBeGreaterThan(begin.length)
  // Without its end, the rest of the page would be lost.
  expect(to).toBeGreaterThanOrEqual(from)
  if (process.env.WRITE_DOCS === '1')
    writeFileSync('docs/format.md', `${now.slice(0, from)}${text}${now.slice(to)}`)
  else expect(now.slice(from, to)).toBe(text)
}

/** The fields of each shape below that heading. Fails on a duplicate shape. */
function documented(title: string): Record<string, string[]> {
  const shapes = shapesOf(page).filter(({ heading, chapter }) => heading === title || chapter === title)
  const names = shapes.map(({ name }) => name)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  return Object.fromEntries(shapes.map(({ name, fields }) => [name, fields]))
}

function typeOf(field: string): string {
  return field.slice(field.indexOf(':') + 1)
}

/** The names in a type, without its quoted words. */
function namesIn(type: string): string[] {
  return type.split(/[[\]{}|]/).filter((name) => name !== '' && name !== 'null' && !name.startsWith('"'))
}

function mapped<T, U>(record: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
