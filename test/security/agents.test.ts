/**
 * A sample of hostile agent programs against the published plugins, and the checks of ids and counts that programs
 * send.
 */
import { expect, test } from 'vitest'
import { runHostileAgents } from '../../stress/security/agents.js'
import { Findings } from '../../stress/security/finding.js'
import { Lab } from '../../stress/support/lab.js'
import { pluginPart } from '../plugins/plugin-part.js'

// Includes the flood that once opened a connection for each question: 305 MB.
test('a hostile agent program cannot block, overload or crash the command, or control the terminal', async () => {
  const lab = Lab.open()
  const findings = new Findings('opencode: endless questions')
  try {
    await runHostileAgents(lab, findings, 1, 1, ['opencode'])
  } finally {
    lab.close()
  }
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('hostile agent')).toBe(1)
})

const WRONG = [
  '../../x',
  '/etc/passwd',
  '--help',
  '',
  '.',
  'a/b',
  's\0x',
  '\u001b[2J',
  '\ud800',
  'x'.repeat(1000),
]

const { countOf } = await pluginPart<{ countOf(value: unknown): number }>('shared/src/program/json')

test.each([-5, 2 ** 53, 1e300, Number.POSITIVE_INFINITY, Number.NaN, '5', null])(
  '%j is not accepted as a count',
  (value) => {
    expect(countOf(value)).toBe(0)
  },
)

const { threadOf } = await pluginPart<{ threadOf(state: Uint8Array): object | undefined }>(
  'provider-codex/src/thread',
)
const { decodeClaudeState } = await pluginPart<{ decodeClaudeState(state: Uint8Array): object | undefined }>(
  'provider-claude-code/src/state',
)
const { isSessionId } = await pluginPart<{ isSessionId(id: string): boolean }>('provider-opencode/src/state')

test.each(WRONG)('%j is not accepted as a session id', (id) => {
  expect(threadOf(Buffer.from(JSON.stringify({ thread_id: id })))).toBeUndefined()
  expect(decodeClaudeState(Buffer.from(JSON.stringify({ session_id: id })))).toBeUndefined()
  expect(isSessionId(id)).toBe(false)
})
