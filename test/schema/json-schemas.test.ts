/** The JSON Schemas of the package accept what substrat writes and the homes of every format, and refuse spoiled values. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const DIRECTORY = 'dist/schemas'
const FORMATS = 'test/formats'
const { schemas } = JSON.parse(readFileSync(path.join(DIRECTORY, 'index.json'), 'utf8')) as {
  schemas: { name: string; description: string }[]
}
const validators = new Map<string, ValidateFunction>()

beforeAll(() => {
  const ajv = new Ajv2020({ strict: false, code: { optimize: false } })
  for (const { name } of schemas)
    validators.set(name, ajv.compile(JSON.parse(readFileSync(path.join(DIRECTORY, `${name}.json`), 'utf8'))))
})

function accepts(name: string, value: unknown): boolean {
  const validate = validators.get(name)
  if (validate === undefined) throw new Error(`no schema ${name}`)
  return validate(value)
}

function linesOf(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const homes = readdirSync(FORMATS, { recursive: true, encoding: 'utf8' }).filter((file) =>
  /home[^/]*\/home\.json$/.test(file),
)
const files = homes.flatMap((home) => {
  const root = path.join(FORMATS, path.dirname(home))
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => path.join(root, file))
})
const logs = files.filter((file) => file.endsWith('/events.jsonl'))

test('each schema has its name, an id and a description', () => {
  expect(readdirSync(DIRECTORY).sort()).toEqual(
    [...schemas.map(({ name }) => `${name}.json`), 'index.json'].sort(),
  )
  for (const { name, description } of schemas) {
    const schema = JSON.parse(readFileSync(path.join(DIRECTORY, `${name}.json`), 'utf8'))
    expect(schema.$id).toBe(`urn:substrat:schema:${name}`)
    expect(description).toMatch(/\.$/)
  }
})

describe('frozen homes', () => {
  test('are found', () => {
    expect(homes.length).toBeGreaterThan(2)
    expect(logs.length).toBeGreaterThan(10)
  })

  test.each(logs)('%s has only records that the schema accepts, and refuses when spoiled', (log) => {
    for (const record of linesOf(log)) {
      expect(accepts('record', record), JSON.stringify(record)).toBe(true)
      expect(accepts('record', { ...record, seq: String(record.seq) })).toBe(false)
      expect(accepts('record', { ...record, kind: 'no.kind' })).toBe(false)
      const { ts: _, ...without } = record
      expect(accepts('record', without)).toBe(false)
      expect(accepts('record', { ...record, later: 1 })).toBe(true)
    }
  })

  test('have a home.json and messages that the schemas accept', () => {
    const facts = files.filter((file) => file.endsWith('/home.json'))
    for (const file of facts)
      expect(
        linesOf(file).every((line) => accepts('home', line)),
        file,
      ).toBe(true)
    for (const [fact] of facts.map(linesOf)) expect(accepts('home', { ...fact, lock: 'none' })).toBe(false)
    const names = files.filter((file) => /\/(roots|children)\/[0-9a-f]{64}$/.test(file))
    for (const file of names)
      expect(
        linesOf(file).every((line) => accepts('name', line)),
        file,
      ).toBe(true)
    expect(names.length).toBeGreaterThan(0)
  })
})

test('a home of today has files that the schemas accept, and refuse when spoiled', async () => {
  const house = new House()
  const id = await house.spawn('a')
  await house.ok('send', 'a', 'hello', '--key', 'k')
  await house.ok('gate', 'a')
  await house.ok('send', 'a', 'later', '--queue')
  await house.ok('config', 'set', 'slots_max', '8')
  const [snapshot] = linesOf(house.agentFile(id, 'session.json'))
  expect(accepts('snapshot', snapshot)).toBe(true)
  expect(accepts('snapshot', { ...snapshot, tokens: 'none' })).toBe(false)
  for (const record of house.log(id).trim().split('\n'))
    expect(accepts('record', JSON.parse(record))).toBe(true)
  for (const name of house.inbox(id)) {
    const [message] = linesOf(house.agentFile(id, `inbox/${name}`))
    expect(accepts('message', message)).toBe(true)
    expect(accepts('message', { ...message, kind: 'letter' })).toBe(false)
  }
  expect(house.inbox(id)).toHaveLength(1)
  const config = JSON.parse(readFileSync(path.join(house.home, 'config.json'), 'utf8'))
  expect(accepts('config', config)).toBe(true)
  expect(accepts('config', { slots_max: 8, mcp_servers: { files: { command: 'x' } } })).toBe(true)
  for (const wrong of [{ slots: 8 }, { slots_max: 0 }, { timeout: '10' }, { mcp_servers: { 'a b': {} } }])
    expect(accepts('config', wrong)).toBe(false)
  const [lock] = linesOf(house.agentFile(id, 'lock'))
  expect(accepts('lock', lock)).toBe(true)
})

test('the manifests of the plugins have the shape of the schema', () => {
  const manifests = readdirSync('plugins')
    .filter((name) => name.startsWith('provider-'))
    .map((name) => JSON.parse(readFileSync(path.join('plugins', name, 'package.json'), 'utf8')).substrat)
  expect(manifests.length).toBeGreaterThan(3)
  for (const manifest of manifests) expect(accepts('plugin', manifest)).toBe(true)
  expect(accepts('plugin', { providers: { a: 7 } })).toBe(false)
})
