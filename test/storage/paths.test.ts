import { randomUUID } from 'node:crypto'
import { join, resolve, sep } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldName, isUuid } from '../../src/format.js'
import {
  HomePaths,
  isSpawnLeftover,
  parseAgentDirectory,
  parseMailFile,
  parseMarker,
  parseRequestFile,
} from '../../src/storage/paths.js'

const home = new HomePaths('/home')
const id = '0b9f3c0e-7a3e-4c55-9d6e-1d8a4f8f2a11'
const sha256 = 'a'.repeat(64)

const TRAVERSING = [
  '..',
  '../../etc/passwd',
  `../${id}`,
  `${id}/../../..`,
  `${id}\n`,
  `${id}\0`,
  id.toUpperCase(),
  id.replaceAll('-', ''),
  '',
  '.',
  '/',
]

/** Every function through which outside text becomes part of a path. */
const WAYS: [name: string, build: (word: string) => string][] = [
  ['agent', (word) => home.agent(word).root],
  ['staging directory', (word) => home.spawning(word).root],
  ['marker', (word) => home.marker(word)],
  ['closing marker', (word) => home.closingMarker(word)],
  ['message', (word) => home.agent(id).mail(word)],
  ['request', (word) => home.agent(id).request(word, 'suspend')],
  ['blob', (word) => home.agent(id).blob(word)],
  ['boot', (word) => home.boot(word)],
  ['slot pool', (word) => home.slotPool(word)],
]

describe('a path', () => {
  test.each(WAYS)('to a %s refuses text that leads out of its directory', (_, build) => {
    const words = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...TRAVERSING),
      fc.stringMatching(/^[./\\0-9a-f-]{1,40}$/),
    )
    fc.assert(
      fc.property(words, (word) => {
        let path: string
        try {
          path = build(word)
        } catch (error) {
          expect(error).toMatchObject({
            code: 'UNEXPECTED',
            message: expect.stringContaining('invariant broken'),
          })
          return
        }
        expect(resolve(path)).toBe(path)
        expect(path.startsWith(`${home.root}${sep}`)).toBe(true)
        expect(path).toContain(word)
        expect(word).not.toMatch(/[/.\0\n]/)
      }),
      { numRuns: 500 },
    )
    for (const word of TRAVERSING.filter((word) => /[/.\0\n]|^$/.test(word)))
      expect(() => build(word)).toThrow()
  })

  test('to an index entry is a hash of any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(home.rootNames().entry(name)).toMatch(/^\/home\/roots\/[0-9a-f]{64}$/)
      }),
    )
  })

  test('matches docs/format.md', () => {
    const agent = home.agent(id)
    const request = randomUUID()
    expect([
      home.homeFile,
      home.configFile,
      home.operatorInbox,
      home.marker(id),
      home.slot('default', 3),
      agent.log,
      agent.snapshot,
      agent.lock,
      agent.mail(id),
      agent.blob(sha256),
      agent.request(request, 'suspend'),
    ]).toEqual(
      [
        'home.json',
        'config.json',
        'operator/inbox',
        `unclean/${id}`,
        'slots/default/3',
        `agents/${id}/events.jsonl`,
        `agents/${id}/session.json`,
        `agents/${id}/lock`,
        `agents/${id}/inbox/${id}.json`,
        `agents/${id}/blobs/${sha256}`,
        `agents/${id}/requests/${request}.suspend`,
      ].map((path) => join('/home', path)),
    )
  })
})

describe('a name on disk', () => {
  const other = ['', '.', id.slice(1), `${id}x`, `x${id}`, id.toUpperCase(), '-'.repeat(36), `${id}.tmp`]

  test('parses back into its parts', () => {
    expect(isUuid(id)).toBe(true)
    expect(parseAgentDirectory(id)).toBe(id)
    expect(parseMarker(id)).toBe(id)
    expect(parseMarker(`${id}.closing`)).toBe(id)
    expect(parseMailFile(`${id}.json`)).toBe(id)
    expect(parseRequestFile(`${id}.suspend`)).toEqual({ runId: id, verb: 'suspend' })
    expect(isSpawnLeftover(`.spawn-${id}`)).toBe(true)
  })

  test.each(other)('is not recognized in %j', (name) => {
    expect(isUuid(name)).toBe(false)
    expect(parseAgentDirectory(name)).toBeUndefined()
    expect(parseMarker(name)).toBeUndefined()
    expect(parseMailFile(`${name}.json`)).toBeUndefined()
    expect(parseRequestFile(`${name}.suspend`)).toBeUndefined()
  })

  test('for a staging directory is never parsed as an agent', () => {
    expect(parseAgentDirectory(`.spawn-${id}`)).toBeUndefined()
    expect(parseRequestFile(`${id}.erase`)).toBeUndefined()
  })
})

describe('agent names', () => {
  test.each([
    ['Build', 'build'],
    ['ÉCLAIR', 'e\u0301clair'],
    ['\u212b', '\u00e5'],
  ])('%j and %j are one name', (a, b) => {
    expect(foldName(a)).toBe(foldName(b))
    expect(home.rootNames().entry(a)).toBe(home.rootNames().entry(b))
  })

  test('that differ have different entries', () => {
    expect(foldName('build')).not.toBe(foldName('build2'))
    expect(foldName('e')).not.toBe(foldName('é'))
  })
})
