import { expect, test } from 'vitest'
import { actorText, isReader } from '../../src/schema/actors.js'
import type { Actor } from '../../src/schema/types.js'

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

test.each<[Actor, string]>([
  [{ uid: 1000, user: 'ana', face: 'cli' }, 'ana'],
  [{ uid: 1000, face: 'cli' }, 'uid 1000'],
  [
    { uid: 7, user: 'bob', face: 'acp', claims: { client: 'Zed 0.2' } },
    'bob in an editor (claims to use Zed 0.2)',
  ],
  [{ uid: 7, user: 'bob', face: 'mcp' }, 'bob over MCP'],
  [{ uid: 7, user: 'bob', face: 'http', token: 'phone' }, 'token phone'],
  [{ uid: 7, user: 'bob', face: 'http', token: 'resume token' }, 'the holder of a resume token'],
  [
    { face: 'channel', sender: { channel: 'telegram', id: '4711' }, claims: { name: 'Ana' } },
    '4711 on telegram (claims to be Ana)',
  ],
  [
    { uid: 7, user: 'bob', face: 'cli', claims: { agent: AGENT } },
    'bob (claims to be a tool of agent 0b9f6c1e)',
  ],
])('%j is %s', (actor, text) => {
  expect(actorText(actor)).toBe(text)
})

test('the reader is "you", by their user or their token, and a claim never hides who it was', () => {
  const bob: Actor = { uid: 7, user: 'bob', face: 'cli' }
  expect(actorText(bob, { uid: 7 })).toBe('you')
  expect(actorText(bob, { uid: 8 })).toBe('bob')
  expect(actorText({ ...bob, claims: { name: 'you' } }, { uid: 7 })).toBe('bob (claims to be you)')
  const phone: Actor = { uid: 7, face: 'http', token: 'phone' }
  expect(actorText(phone, { token: 'phone' })).toBe('you')
  // The server runs as the reader, but the request was that of another person.
  expect(actorText(phone, { uid: 7 })).toBe('token phone')
  expect([isReader(bob, { uid: 7 }), isReader(phone, { uid: 7 }), isReader(undefined, {})]).toEqual([
    true,
    false,
    true,
  ])
})
