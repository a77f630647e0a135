import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { OPERATOR } from '../../src/format.js'
import { limits } from '../../src/limits.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import type { Mailboxes } from '../../src/storage/mailboxes.js'
import { HomePaths } from '../../src/storage/paths.js'
import { clearFaults, failStep, operationsOf, unsyncedAfter } from '../support/operations.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const MESSAGE = { a: 'message' }
const BYTES = frame(MESSAGE)

let store: FileStore
let paths: HomePaths
let mail: Mailboxes
let agent: string

beforeEach(async () => {
  store = tempStore()
  paths = new HomePaths(store.address)
  mail = store.mail
  agent = await newAgent(store)
})

describe.each(['an agent', 'the operator'])('the inbox of %s', (whose) => {
  const to = (): string => (whose === 'an agent' ? agent : OPERATOR)

  test('has a message whole and durable after put, once per id', () => {
    const id = randomUUID()
    const operations = operationsOf(() => expect(mail.put(to(), id, MESSAGE)).toBe(true))
    // Markers are not durable.
    expect(unsyncedAfter(operations).filter((path) => path !== paths.marker(to()))).toEqual([])
    expect(mail.put(to(), id, { another: 'message' })).toBe(false)
    expect(mail.ids(to())).toEqual([id])
    expect(mail.read(to(), id)).toEqual({ object: MESSAGE })
    expect(readFileSync(mail.pathOf(to(), id))).toEqual(BYTES)
  })

  test('has no message or a whole one after any failed step', () => {
    const steps = operationsOf(() => mail.put(to(), randomUUID(), MESSAGE)).length
    expect(steps).toBeGreaterThan(5)
    for (let step = 0; step < steps; step++) {
      const id = randomUUID()
      failStep(step, 'ENOSPC', 'from then on')
      try {
        mail.put(to(), id, MESSAGE)
      } catch {
        // Not acknowledged.
      }
      clearFaults()
      expect([undefined, { object: MESSAGE }]).toContainEqual(mail.read(to(), id))
      mail.put(to(), id, MESSAGE)
      expect(mail.read(to(), id)).toEqual({ object: MESSAGE })
    }
  })

  test('lists only files with the name of a message', () => {
    const id = randomUUID()
    mail.put(to(), id, MESSAGE)
    const directory = dirname(mail.pathOf(to(), id))
    const names = [
      'notes.txt',
      'x.json',
      `${randomUUID()}.json.1-abc.tmp`,
      `${randomUUID().toUpperCase()}.json`,
    ]
    for (const name of names) writeFileSync(`${directory}/${name}`, 'x')
    expect(mail.ids(to())).toEqual([id])
  })

  test('removes a message once', () => {
    const id = randomUUID()
    mail.put(to(), id, MESSAGE)
    expect(mail.remove(to(), id)).toBe(true)
    expect(mail.remove(to(), id)).toBe(false)
    expect(mail.read(to(), id)).toBeUndefined()
  })

  test('is empty if a person deleted it, and the next message recreates it', () => {
    const id = randomUUID()
    mail.put(to(), id, MESSAGE)
    rmSync(dirname(mail.pathOf(to(), id)), { recursive: true })
    expect(mail.ids(to())).toEqual([])
    expect(mail.read(to(), id)).toBeUndefined()
    expect(mail.remove(to(), id)).toBe(false)
    const operations = operationsOf(() => mail.put(to(), id, MESSAGE))
    expect(unsyncedAfter(operations)).toEqual([])
    expect(mail.ids(to())).toEqual([id])
  })

  test('does not read a file larger than any message', () => {
    const id = randomUUID()
    mail.put(to(), id, MESSAGE)
    truncateSync(mail.pathOf(to(), id), limits.mailFileBytesMax + 1)
    expect(mail.read(to(), id)).toHaveProperty('damage')
  })

  test('does not read a directory or another special file', () => {
    const [directory, pipe] = [randomUUID(), randomUUID()]
    mail.put(to(), directory, MESSAGE)
    rmSync(mail.pathOf(to(), directory))
    mkdirSync(mail.pathOf(to(), directory))
    execFileSync('mkfifo', [mail.pathOf(to(), pipe)])
    for (const id of [directory, pipe]) expect(mail.read(to(), id)).toHaveProperty('damage')
  })

  test('refuses an id that could lead out of the inbox', () => {
    for (const id of ['../../etc/passwd', '', 'x', `${randomUUID()}/..`]) {
      expect(() => mail.put(to(), id, MESSAGE), id).toThrow()
      expect(() => mail.read(to(), id), id).toThrow()
    }
  })
})

test('a damaged message set aside is durable beside the messages and not listed as one', () => {
  const id = randomUUID()
  mail.put(OPERATOR, id, MESSAGE)
  let aside = ''
  const operations = operationsOf(() => {
    aside = mail.setAside(OPERATOR, id)
  })
  expect(unsyncedAfter(operations)).toEqual([])
  expect([mail.ids(OPERATOR), readFileSync(aside)]).toEqual([[], BYTES])
})

describe('a message that the operator took', () => {
  test('is durable in taken/ and not delivered again', () => {
    const id = randomUUID()
    mail.put(OPERATOR, id, MESSAGE)
    const operations = operationsOf(() => mail.take(id))
    expect(unsyncedAfter(operations)).toEqual([])
    expect(mail.ids(OPERATOR)).toEqual([])
    expect(readFileSync(paths.takenMail(id))).toEqual(BYTES)
    expect(mail.put(OPERATOR, id, MESSAGE)).toBe(false)
    expect(mail.ids(OPERATOR)).toEqual([])
  })

  test('may be taken twice', () => {
    const id = randomUUID()
    mail.put(OPERATOR, id, MESSAGE)
    mail.take(id)
    mail.take(id)
    mail.take(randomUUID())
    expect(readdirSync(paths.operatorTaken)).toHaveLength(1)
  })

  test('is in the inbox or in taken/ after any failed step', () => {
    const steps = operationsOf(() => mail.take(randomUUID())).length
    for (let step = 0; step < steps; step++) {
      const id = randomUUID()
      mail.put(OPERATOR, id, MESSAGE)
      failStep(step, 'EIO', 'from then on')
      try {
        mail.take(id)
      } catch {
        // Not acknowledged.
      }
      clearFaults()
      expect(mail.ids(OPERATOR).includes(id)).not.toBe(existsSync(paths.takenMail(id)))
      mail.take(id)
      expect(mail.put(OPERATOR, id, MESSAGE)).toBe(false)
    }
  })

  test('is forgotten once it is old, and only counted in a dry run', () => {
    const [old, young] = [randomUUID(), randomUUID()]
    for (const id of [old, young]) {
      mail.put(OPERATOR, id, MESSAGE)
      mail.take(id)
    }
    const then = new Date(Date.now() - 3_600_000)
    utimesSync(paths.takenMail(old), then, then)
    writeFileSync(`${paths.operatorTaken}/notes.txt`, 'x')
    const before = Date.now() - 60_000
    expect(mail.forgetTaken(before, true)).toBe(1)
    expect(readdirSync(paths.operatorTaken)).toHaveLength(3)
    expect(mail.forgetTaken(before, false)).toBe(1)
    expect(mail.forgetTaken(before, false)).toBe(0)
    expect(readdirSync(paths.operatorTaken).sort()).toEqual([`${young}.json`, 'notes.txt'].sort())
  })

  test('counts as zero before the operator takes any', () => {
    expect(mail.forgetTaken(Date.now(), false)).toBe(0)
  })
})
