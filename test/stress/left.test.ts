import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { digestOfLeft, idsIn } from '../../stress/kill/left.js'
import type { Ended } from '../../stress/support/lab.js'
import { tempDirectory } from '../support/temp.js'

const OLD = '3e3d2b3c-8f1b-4d55-9d0c-0c3a5a5e0001'
const RECORD = { seq: 7, ts: '2026-11-20T10:00:00.000Z', kind: 'run.started', run_id: OLD, crc: '0123abcd' }
const KILLED: Ended = { code: null, signal: 'SIGKILL', stdout: '', stderr: '' }

/** A home with one agent, from which all runs start. */
function home(): string {
  const root = join(tempDirectory(), 'home-1')
  mkdirSync(join(root, 'agents', OLD, 'inbox'), { recursive: true })
  writeFileSync(join(root, 'agents', OLD, 'events.jsonl'), `${JSON.stringify(RECORD)}\n`)
  return root
}

function digest(root: string, told = KILLED, known = idsIn(home())): string {
  return digestOfLeft(root, told, known)
}

function leaving(change: (agent: string) => void): string {
  const root = home()
  change(join(root, 'agents', OLD))
  return digest(root)
}

function logged(record: object): string {
  return leaving((agent) => writeFileSync(join(agent, 'events.jsonl'), `${JSON.stringify(record)}\n`))
}

describe('the digest of the state after a kill', () => {
  test('does not depend on times, checksums, process ids and new ids', () => {
    const other = { ...RECORD, ts: '2026-11-20T11:11:11.111Z', crc: 'ffffffff' }
    expect(logged(other)).toBe(digest(home()))
    const message = (id: string) => (agent: string) => writeFileSync(join(agent, 'inbox', `${id}.json`), id)
    expect(leaving(message('9e3d2b3c-8f1b-4d55-9d0c-0c3a5a5e0009'))).toBe(
      leaving(message('1e3d2b3c-8f1b-4d55-9d0c-0c3a5a5e0001')),
    )
  })
})

describe('the digest of the state after a kill changes', () => {
  test.each([
    ['a record of another kind', () => logged({ ...RECORD, kind: 'run.completed' })],
    ['a record with another number', () => logged({ ...RECORD, seq: 8 })],
    ['another known id', () => logged({ ...RECORD, run_id: OLD.replace('3e3d', '4e3d') })],
    ['half a record', () => leaving((agent) => writeFileSync(join(agent, 'events.jsonl'), '{"seq":7,"ts"'))],
    ['a file more', () => leaving((agent) => writeFileSync(join(agent, 'session.json'), ''))],
    ['an additional empty directory', () => leaving((agent) => mkdirSync(join(agent, 'blobs')))],
    ['a directory less', () => leaving((agent) => rmSync(join(agent, 'inbox'), { recursive: true }))],
    [
      'a file beside the home',
      () => leaving((agent) => writeFileSync(join(agent, '../../../home-1.effects'), 'done\n')),
    ],
    ['a printed reply', () => digest(home(), { ...KILLED, stdout: 'hello\n' })],
    ['another exit', () => digest(home(), { ...KILLED, code: 0 })],
  ])('with %s', (_, changed) => {
    expect(changed()).not.toBe(digest(home()))
  })
})
