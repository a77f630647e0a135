import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { decodeMessage, type Message } from '../../src/mail/message.js'
import { frame, unframeFile } from '../../src/storage/log/frame.js'
import { stored } from '../support/mail.js'

const TO = randomUUID()
const AGENT = randomUUID()

function decoded(over: object): Message | undefined {
  const message = { ...stored(TO, 'hi'), ...over } as Message
  return decodeMessage(unframeFile(frame(message)), message.message_id)
}

describe('a message', () => {
  const WHOLE: [string, Partial<Message>][] = [
    ['a request of the operator', {}],
    ['an empty one', { content: '' }],
    ['with text that lines and terminals stumble over', { content: 'a\nb\u2028c\u0000\u001b[2J😀' }],
    ['a response', { kind: 'response', reply_to: randomUUID(), from: AGENT, from_path: 'top/a' }],
    ['an error', { kind: 'error', reply_to: randomUUID() }],
    ['a notification for later', { kind: 'notification', not_before: '2026-11-20T11:00:00.000Z' }],
    ['with a key and a timeout', { key: 'k', turn_timeout_ms: 1000 }],
    ['of control by the operator', { kind: 'control', control: { verb: 'gate' } }],
    ['that ends a watch', { kind: 'control', from: AGENT, control: { verb: 'unwatch' } }],
    ['that watches', { kind: 'control', from: AGENT, control: { verb: 'watch', on: ['idle'], once: true } }],
  ]

  test.each(WHOLE)('%s is read as it was written', (_, over) => {
    const message = { ...stored(TO, 'hi'), ...over }
    expect(decodeMessage(unframeFile(frame(message)), message.message_id)).toEqual(message)
  })

  test('is one line', () => {
    const bytes = frame(stored(TO, 'a\nb\u2028c'))
    expect(bytes.filter((byte) => byte === 0x0a)).toHaveLength(1)
    expect(bytes.at(-1)).toBe(0x0a)
    expect(bytes.toString()).not.toContain('\u2028')
  })

  test('from the first version has its sender as its path, and defaults for the later fields', () => {
    const { from_path: _, reply_to: __, control: ___, not_before: ____, ...old } = stored(TO, 'hi')
    expect(decodeMessage(unframeFile(frame(old)), old.message_id)).toEqual(stored(TO, 'hi', old))
  })

  test('from a later version keeps its unknown fields', () => {
    expect(decoded({ mood: 'good' })).toMatchObject({ mood: 'good' })
  })
})

describe('no message is', () => {
  const WRONG: [string, object][] = [
    ['one without a sender', { from: undefined }],
    ['one whose sender is a number', { from: 7 }],
    ['one whose path is none', { from_path: null }],
    ['one without a recipient', { to: undefined }],
    ['one whose content is a number', { content: 7 }],
    ['one whose content is a blob', { content: { blob: 'a'.repeat(64), bytes: 1 } }],
    ['one without a digest', { digest: undefined }],
    ['one without a time', { created_at: undefined }],
    ['one whose time is none', { created_at: 'yesterday' }],
    ['one whose place is a text', { sequence: 'first' }],
    ['one whose place is no integer', { sequence: 1.5 }],
    ['one of an unknown kind', { kind: 'letter' }],
    ['one of no kind', { kind: undefined }],
    ['one whose key is a number', { key: 7 }],
    ['one whose timeout is a text', { turn_timeout_ms: '10m' }],
    ['one that answers no uuid', { reply_to: '../../etc' }],
    ['one that answers a number', { reply_to: 7 }],
    ['one for no time', { not_before: 'later' }],
    ['one for a number', { not_before: 0 }],
    ['a control without its verb', { kind: 'control', control: null }],
    ['a control of an unknown verb', { kind: 'control', control: { verb: 'explode' } }],
    ['a control whose verb is no word', { kind: 'control', control: { verb: ['gate'] } }],
    ['a watch by the operator', { kind: 'control', control: { verb: 'watch', on: ['idle'], once: true } }],
    ['the end of a watch by the operator', { kind: 'control', control: { verb: 'unwatch' } }],
    ['a watch of nothing that is', watch({ on: ['asleep'], once: true })],
    ['a watch that is no list', watch({ on: 'idle', once: true })],
    ['a watch without its list', watch({ once: true })],
    ['a watch that does not say how often', watch({ on: ['idle'] })],
  ]

  test.each(WRONG)('%s', (_, over) => {
    expect(decoded(over)).toBeUndefined()
  })

  const message = stored(TO, 'hi')
  const bytes = frame(message)
  const SPOILED: [string, Buffer][] = [
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('\n')],
    ['half of one', bytes.subarray(0, bytes.length / 2)],
    ['one with NUL bytes at its end', Buffer.concat([bytes.subarray(0, -20), Buffer.alloc(20)])],
    ['as many NUL bytes', Buffer.alloc(bytes.length)],
    ['two of them', Buffer.concat([bytes, bytes])],
    ['a framed text', Buffer.from('"hi"\n')],
    ['an object of another kind', frame({ agent_id: TO })],
  ]

  test.each(SPOILED)('%s', (_, spoiled) => {
    expect(decodeMessage(unframeFile(spoiled), message.message_id)).toBeUndefined()
  })

  test('one with any bit changed', () => {
    for (let at = 0; at < bytes.length - 1; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 1
      expect(decodeMessage(unframeFile(changed), message.message_id), `byte ${at}`).toBeUndefined()
    }
  })

  test('with another id than its file name', () => {
    expect(decodeMessage(unframeFile(bytes), randomUUID())).toBeUndefined()
  })

  function watch(how: object): object {
    return { kind: 'control', from: AGENT, control: { verb: 'watch', ...how } }
  }
})
