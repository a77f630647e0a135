/** The actor of a command: its user, what a face has signed, and claims. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { clock } from '../../src/clock.js'
import { actorHere, type FaceActor, signedActor } from '../../src/command/actor.js'
import { ownIdentity } from '../../src/host/identity.js'
import { openHome } from '../../src/storage/open.js'
import type { Store } from '../../src/storage/store.js'
import { tempDirectory, tempStore } from '../support/temp.js'

afterEach(() => {
  delete process.env.SUBSTRAT_ACTOR
})

/** For a command with the words of this process. */
function signed(home: string, actor: FaceActor, words = process.argv.slice(2)): string {
  return signedActor(home, actor, words)
}

function actorOf(store: Store, word: string, caller: string | null = null): object {
  process.env.SUBSTRAT_ACTOR = word
  return actorHere(store, caller)
}

const uid = process.getuid?.()
const { host_id } = ownIdentity()

test('is the user of the process, and the variable is gone from the environment of its programs', () => {
  const store = tempStore()
  expect(actorHere(store, null)).toEqual({
    uid,
    user: expect.any(String),
    face: 'cli',
    ...(host_id === undefined ? {} : { host_id }),
  })
  expect(actorOf(store, 'nightly job')).toMatchObject({ face: 'cli', claims: { name: 'nightly job' } })
  expect(process.env.SUBSTRAT_ACTOR).toBeUndefined()
})

test('has what a face of the same home has signed', () => {
  const store = tempStore()
  const phone = { face: 'http' as const, token: 'phone', claims: { name: 'Ana' } }
  const word = signed(store.address, phone)
  expect(actorOf(store, word)).toMatchObject({ uid, ...phone })
  // Another key belongs to another home.
  const other = tempStore()
  other.local.actorKey(true)
  expect(actorOf(other, word)).toMatchObject({ face: 'cli', claims: { name: word.slice(0, 100) } })
})

test('a signature is for one command, and for a short time', () => {
  const store = tempStore()
  const phone = { face: 'http', token: 'phone' }
  const other = signed(store.address, phone, ['cancel', 'a'])
  expect(actorOf(store, other)).not.toHaveProperty('token')
  const word = signed(store.address, phone)
  vi.spyOn(clock, 'now').mockReturnValue(clock.now() + 3_600_000)
  expect(actorOf(store, word)).not.toHaveProperty('token')
  vi.restoreAllMocks()
  expect(actorOf(store, word)).toHaveProperty('token', 'phone')
})

test('a forged signature, a changed one and one without a key are claims', () => {
  const store = tempStore()
  const forged = `1.${Buffer.from('{"face":"http","token":"operator"}').toString('base64url')}`
  expect(actorOf(store, `${forged}.${'A'.repeat(43)}`)).not.toHaveProperty('token')
  const [one, said, mac] = signed(store.address, { face: 'http', token: 'phone' }).split('.')
  for (const word of [
    `${forged}.${mac}`,
    `${one}.${said}.${mac?.slice(1)}`,
    `${one}.${said}x.${mac}`,
    `2.${said}.${mac}`,
    `${one}.${said}`,
  ]) {
    const actor = actorOf(store, word)
    expect(actor).not.toHaveProperty('token')
    expect(actor).toHaveProperty('claims.name')
  }
})

test('a claim is one short line without control characters, and none if it is empty', () => {
  const store = tempStore()
  expect(actorOf(store, '  \u001b[31mAna\n\u202eoperator\u0000 ')).toMatchObject({
    claims: { name: '[31mAna operator' },
  })
  expect(actorOf(store, '\n \t')).not.toHaveProperty('claims')
  expect(actorOf(store, 'x'.repeat(5000))).toMatchObject({ claims: { name: 'x'.repeat(100) } })
  const client = `Zed\n${'y'.repeat(500)}`
  const word = signed(store.address, { face: 'acp', claims: { client } })
  expect(actorOf(store, word)).toMatchObject({ claims: { client: `Zed ${'y'.repeat(96)}` } })
})

test('a claim of a face that has no visible character is none', () => {
  const store = tempStore()
  for (const name of ['', ' \n', '\u009b\u202e\u001b'.repeat(3000), '\n'.repeat(200_000)]) {
    const word = signed(store.address, { face: 'mcp', claims: { name } })
    expect(word.length).toBeLessThan(1000)
    expect(actorOf(store, word)).not.toHaveProperty('claims')
  }
  expect(actorOf(store, '😀'.repeat(200))).toMatchObject({ claims: { name: '😀'.repeat(100) } })
})

test('a key that cannot be read signs nothing, and verifies nothing', () => {
  const store = tempStore()
  mkdirSync(join(store.address, 'actor.key'))
  expect(() => signed(store.address, { face: 'http' })).toThrow(/actor.key/)
  expect(actorOf(store, '1.a.b')).toMatchObject({ face: 'cli', claims: { name: '1.a.b' } })
})

test('a command in a tool claims its agent', () => {
  const agent = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
  expect(actorOf(tempStore(), '', agent)).toMatchObject({ face: 'cli', claims: { agent } })
  expect(actorOf(tempStore(), 'job', agent)).toMatchObject({ claims: { agent, name: 'job' } })
})

test('a key is made once, and a damaged one is replaced', () => {
  const store = tempStore()
  const first = store.local.actorKey(true)
  expect(first).toHaveLength(32)
  expect(store.local.actorKey(true)).toEqual(first)
  writeFileSync(join(store.address, 'actor.key'), 'cut')
  expect(store.local.actorKey(false)).toBeUndefined()
  expect(store.local.actorKey(true)).not.toEqual(first)
  expect(actorOf(store, signed(store.address, { face: 'acp' }))).toMatchObject({ face: 'acp' })
})

test('a home that does not exist yet is made, and nothing is signed for one that cannot be made', () => {
  const home = join(tempDirectory(), 'home')
  const word = signed(home, { face: 'mcp' })
  expect(actorOf(openHome(home) as Store, word)).toMatchObject({ face: 'mcp' })
  expect(() => signed('/dev/null/home', { face: 'http' })).toThrow()
})
