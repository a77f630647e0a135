import { randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryName, writerOf } from '../../src/host/disk/temporary.js'
import { ownIdentity } from '../../src/host/identity.js'
import {
  messageIdsIn,
  putMessage,
  readMessage,
  removeMessage,
  sweepAbandoned,
  sweepLeftovers,
  syncMaildir,
} from '../../src/storage/maildir.js'
import { clearFaults, failStep, operationsOf, unsyncedAfter } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'
import { setHostId } from '../support/this-host.js'

const BYTES = Buffer.from('{"a":"message"}\n')

function newInbox(): string {
  const inbox = join(tempDirectory(), 'inbox')
  mkdirSync(inbox)
  return inbox
}

describe('a message', () => {
  test('is durable with its name once stored, even if a person deleted the inbox', () => {
    const inbox = newInbox()
    const id = randomUUID()
    expect(unsyncedAfter(operationsOf(() => putMessage(join(inbox, `${id}.json`), BYTES)))).toEqual([])
    expect(messageIdsIn(inbox)).toEqual([id])
    expect(readMessage(join(inbox, `${id}.json`))).toEqual(BYTES)
    rmSync(inbox, { recursive: true })
    expect(unsyncedAfter(operationsOf(() => putMessage(join(inbox, `${id}.json`), BYTES)))).toEqual([])
    expect(messageIdsIn(inbox)).toEqual([id])
  })

  test('with a known id is not stored twice, and the stored one is fsynced again', () => {
    const path = join(newInbox(), `${randomUUID()}.json`)
    expect(putMessage(path, BYTES)).toBe(true)
    const operations = operationsOf(() => expect(putMessage(path, Buffer.from('other'))).toBe(false))
    expect(operations.at(-1)).toMatchObject({ name: 'sync_directory' })
    expect(readFileSync(path)).toEqual(BYTES)
  })

  test('exists whole or not at all after any failed step', () => {
    const steps = operationsOf(() => putMessage(join(newInbox(), `${randomUUID()}.json`), BYTES))
    for (let index = 0; index < steps.length; index++) {
      const inbox = newInbox()
      const path = join(inbox, `${randomUUID()}.json`)
      failStep(index, 'EIO')
      try {
        putMessage(path, BYTES)
      } catch {}
      clearFaults()
      for (const id of messageIdsIn(inbox)) expect(readMessage(join(inbox, `${id}.json`))).toEqual(BYTES)
      // A sender that failed or died sends the same message again.
      putMessage(path, BYTES)
      expect(messageIdsIn(inbox)).toHaveLength(1)
    }
    expect(steps.length).toBeGreaterThan(5)
  })

  test('is unlinked at once, and its removal is durable after the next fsync of the inbox', () => {
    const inbox = newInbox()
    const path = join(inbox, `${randomUUID()}.json`)
    putMessage(path, BYTES)
    removeMessage(path)
    removeMessage(path)
    expect(messageIdsIn(inbox)).toEqual([])
    expect(readMessage(path)).toBeUndefined()
    expect(operationsOf(() => syncMaildir(inbox))).toMatchObject([{ name: 'sync_directory', path: inbox }])
  })
})

describe('an inbox', () => {
  test('that does not exist is empty', () => {
    expect(messageIdsIn(join(tempDirectory(), 'inbox'))).toEqual([])
  })

  test('holds only files with the name of a message', () => {
    const inbox = newInbox()
    const id = randomUUID()
    for (const name of [`${id}.json`, `${id}.json.12-1abc.tmp`, `${id}`, 'notes.json', `.${id}.json`])
      writeFileSync(join(inbox, name), BYTES)
    expect(messageIdsIn(inbox)).toEqual([id])
  })
})

describe('the sweep', () => {
  test('removes only old temporary files of unknown writers', () => {
    const directory = tempDirectory()
    const now = Date.now()
    for (const [name, ageMs] of [
      ['a.json.12-1abc.tmp', 20_000],
      ['b.json.13-2abc.tmp', 0],
      ['session.json', 20_000],
      ['lock', 20_000],
    ] as const) {
      writeFileSync(join(directory, name), '')
      utimesSync(join(directory, name), new Date(now - ageMs), new Date(now - ageMs))
    }
    expect(sweepAbandoned(directory, now - 10_000)).toBe(1)
    expect(readdirSync(directory).sort()).toEqual(['b.json.13-2abc.tmp', 'lock', 'session.json'])
    expect(sweepAbandoned(join(directory, 'missing'), now)).toBe(0)
    expect(sweepLeftovers(directory)).toBe(1)
  })

  test("keeps the temporary file of a living writer at any clock time, and removes a dead one's at once", () => {
    const directory = tempDirectory()
    const alive = temporaryName(join(directory, 'a.json'))
    const { kernel_boot_id, start_time } = ownIdentity()
    const dead = {
      'a reused pid': alive.replace(start_time.toString(36), start_time.toString(36).replace(/./g, '0')),
      'another kernel boot': alive.replace(kernel_boot_id.slice(0, 8), '00000000'),
      'no such pid': alive.replace(`.${process.pid}-`, '.4194999-'),
    }
    for (const path of [alive, ...Object.values(dead)]) writeFileSync(path, '')
    for (const path of Object.values(dead)) expect(writerOf(path), path).toBe('dead')
    utimesSync(alive, 0, 0)
    expect(sweepAbandoned(directory, Date.now() + 400 * 86_400_000)).toBe(3)
    expect(readdirSync(directory)).toEqual([basename(alive)])
  })

  test('judges by age if the writer is on another host, and by the boot if it is on this one or unknown', () => {
    setHostId('a'.repeat(32))
    const directory = tempDirectory()
    const ours = temporaryName(join(directory, 'a.json')).replace(
      ownIdentity().kernel_boot_id.slice(0, 8),
      '00000000',
    )
    const theirs = ours.replace('-haaaaaaaa', '-hbbbbbbbb')
    expect([ours, theirs, ours.replace('-haaaaaaaa', '-w')].map(writerOf)).toEqual([
      'dead',
      'unknown',
      'dead',
    ])
    writeFileSync(theirs, '')
    expect(sweepAbandoned(directory, Date.now() - 60_000)).toBe(0)
    setHostId(undefined)
    expect(writerOf(theirs)).toBe('dead')
  })

  test('judges by age if the writer is in another pid namespace', () => {
    const directory = tempDirectory()
    const namespace = Number(ownIdentity().pid_namespace).toString(36)
    const foreign = temporaryName(join(directory, 'a.json')).replace(namespace, '0'.repeat(namespace.length))
    writeFileSync(foreign, '')
    expect(writerOf(foreign)).toBe('unknown')
    expect(sweepAbandoned(directory, Date.now() - 60_000)).toBe(0)
    expect(sweepAbandoned(directory, Date.now() + 60_000)).toBe(1)
  })
})
