/** The rules of sending, without a network. */
import { expect, test } from 'vitest'
import { requestOf } from '../../src/outbound/event.js'
import { delayIn } from '../../src/outbound/http.js'
import { patternOf } from '../../src/outbound/notify.js'
import { beginningOf, expiry, resultOf } from '../../src/outbound/plan.js'
import type { OutboundMessage } from '../../src/outbound/target.js'
import type { OutboundEntry } from '../../src/session/state.js'
import { targetsTrouble } from '../../src/settings/notify-targets.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const NOW = { at: '2026-11-20T10:00:00.000Z', kernel_boot_id: 'k', uptime_ms: 1000 }

function entry(attempts: number): OutboundEntry {
  const at = { seq: 1, offset: 0, end: 1 }
  const rest = { not_before: null, clock: null, expires_at: null, run_id: null, thread: null }
  return { outbound_id: ID, target: 'ops', event: 'failed', at, attempts, ...rest }
}

test.each([
  ['**', ['a', 'review/tests'], []],
  ['*', ['a'], ['review/tests']],
  ['review/*', ['review/tests'], ['review', 'review/tests/unit', 'x/review/tests']],
  ['review/**', ['review', 'review/tests/unit'], ['reviewer']],
  ['**/tests', ['tests', 'x/review/tests'], ['tests/x']],
  ['a.b', ['a.b'], ['axb']],
])('the pattern %s covers only its paths', (pattern, covered, others) => {
  expect([...covered, ...others].filter((path) => patternOf(pattern).test(path))).toEqual(covered)
})

test('the pause doubles with each failure, and the last allowed attempt drops the message', () => {
  const failed = { outcome: 'failed' as const, why: 'no' }
  const pauses = [0, 1, 2].map((attempts) => {
    const result = resultOf(entry(attempts), failed, 4, NOW)
    return result?.kind === 'outbound.failed' ? Date.parse(result.not_before) - Date.parse(NOW.at) : 0
  })
  for (const [index, least] of [1000, 2000, 4000].entries()) {
    expect(pauses[index]).toBeGreaterThanOrEqual(least)
    expect(pauses[index]).toBeLessThanOrEqual(least * 1.25)
  }
  expect(resultOf(entry(2), failed, 3, NOW)).toMatchObject({ kind: 'outbound.dropped', reason: 'attempts' })
  expect(resultOf(entry(2), { outcome: 'unknown' }, 3, NOW)).toBe(undefined)
})

test('a message is dropped after two attempts of unknown outcome, and those that showed nothing do not count', () => {
  const failed = { outcome: 'failed' as const, why: 'no' }
  const notShown = { ...failed, isNotShown: true }
  const begun = (count: number, not_shown = 0) => ({ ...entry(0), begun: count, not_shown })
  const drop = { kind: 'outbound.dropped', reason: 'attempts', why: 'no; it may have been shown' }
  expect(beginningOf(begun(1))).toMatchObject({ attempt: 2 })
  expect(expiry(begun(1), true, NOW)).toBe(undefined)
  expect(expiry(begun(2), false, NOW)).toMatchObject({
    ...drop,
    why: 'the answers to its attempts were lost; it may have been shown',
  })
  expect(expiry(begun(9, 8), true, NOW)).toBe(undefined)
  expect(resultOf(begun(1), failed, 9, NOW)).toEqual(
    expect.not.objectContaining({ not_shown: true, kind: 'outbound.dropped' }),
  )
  expect(resultOf(begun(2), failed, 9, NOW)).toMatchObject(drop)
  expect(resultOf(begun(2), notShown, 9, NOW)).toMatchObject({ kind: 'outbound.failed', not_shown: true })
  expect(resultOf(begun(1), notShown, 1, NOW)).toMatchObject({ ...drop, why: 'no' })
  // Nothing was recorded before attempts at other targets.
  expect(resultOf(entry(0), notShown, 9, NOW)).not.toHaveProperty('not_shown')
})

test('the pause that a target asks for is in seconds or a date, and has a limit', () => {
  const now = Date.parse(NOW.at)
  expect(delayIn('7', now)).toBe(7000)
  expect(delayIn('Fri, 20 Nov 2026 10:00:09 GMT', now)).toBe(9000)
  expect(delayIn('Thu, 19 Nov 2026 10:00:09 GMT', now)).toBe(0)
  expect(delayIn('999999999', now)).toBe(3_600_000)
  for (const none of [null, '', 'soon']) expect(delayIn(none, now)).toBe(undefined)
})

const MESSAGE: OutboundMessage = {
  ...{ outbound_id: ID, event: 'waiting', agent: ID, path: 'a', run_id: ID, thread: null, at: NOW.at },
  text: '<!channel> & @everyone',
}
const TO = { url: 'https://ntfy.example/base/topic', homeId: ID, atSeconds: 1_795_000_000 }

test('the bodies for Slack and Discord mention no member, and the body for ntfy has its topic', () => {
  const body = (format: 'slack' | 'discord' | 'ntfy') =>
    JSON.parse(requestOf(MESSAGE, { format }, TO, {}).body)
  expect(body('slack')).toEqual({ text: '&lt;!channel&gt; &amp; @everyone' })
  expect(body('discord')).toMatchObject({ allowed_mentions: { parse: [] } })
  expect(body('ntfy')).toMatchObject({ topic: 'topic', title: 'a: waiting', message: MESSAGE.text })
  expect(requestOf(MESSAGE, { format: 'ntfy' }, TO, {}).url).toBe('https://ntfy.example')
})

test('a request has the idempotency key, and the secrets only as a signature and a token', () => {
  const { headers, body } = requestOf(MESSAGE, { format: 'json' }, TO, { secret: 's3cret', token: 't0ken' })
  expect(headers['idempotency-key']).toBe(ID)
  expect(headers.authorization).toBe('Bearer t0ken')
  expect(headers['substrat-signature']).toMatch(/^t=1795000000,v1=[0-9a-f]{64}$/)
  expect(JSON.stringify(headers) + body).not.toContain('s3cret')
})

test.each([
  [{ name: 'a', on: ['failed'], url: 'https://x', run: ['y'] }, 'it needs either url or run'],
  [{ name: 'a', on: ['failed'] }, 'it needs either url or run'],
  [{ name: 'a', on: ['failed'], url: 'https://hooks/SECRET', format: 'slack' }, 'is a secret'],
  [{ name: 'a', on: ['failed'], url: 'https://user:SECRET@x' }, 'its url is not valid'],
  [{ name: 'a', on: ['failed'], url: 'https://x', secret: 'SECRET' }, 'its secret is not valid'],
  [
    { name: 'a', on: ['over'], url: 'https://x' },
    'its on has "over", which is not an event (waiting, failed, interrupted, limited, missed, completed)',
  ],
  [{ name: 'a', on: 'failed', url: 'https://x' }, 'its on is not valid: "failed"'],
  [{ name: 'a', on: ['failed'], url: 'https://x', tries: 99 }, 'its tries is not valid: 99'],
  [{ name: 'a', on: ['failed'], url: 'https://x', retries: 4 }, 'there is no field "retries"'],
])('a wrong target is refused without its values: %j', (target, why) => {
  const trouble = targetsTrouble(JSON.stringify([target]))
  expect(trouble).toContain(why)
  expect(trouble).not.toContain('SECRET')
})
