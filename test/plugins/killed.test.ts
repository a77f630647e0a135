/** The failure of a program killed by a signal names the signal, not its earlier stderr. */
import { describe, expect, test } from 'vitest'
import type { ProviderFailure } from '../../src/provider/contract.js'
import type { LaunchedProgram } from '../../src/provider/host-contract.js'
import { pluginPart } from './plugin-part.js'

type Exit = Awaited<LaunchedProgram['exited']>

interface Parts {
  killerOf(exit: Exit): string | undefined
  wordsOfExit(exit: Exit): string
  failureOfExit(exit: Exit, complaint: string, command: string, signs: object): ProviderFailure
  exitFailure(program: string, exit: Exit, complaint: string, hasBegun: boolean): ProviderFailure
}

const { killerOf, wordsOfExit } = await pluginPart<Parts>('shared/src/program/exit')
const { failureOfExit } = await pluginPart<Parts>('provider-claude-code/src/failure')
const { exitFailure } = await pluginPart<Parts>('provider-codex/src/failure')

const COMPLAINT = 'ERROR: 429 Too Many Requests, connection refused, not logged in'
const KILLED: [string, Exit][] = [
  ['directly', { code: null, signal: 'SIGKILL' }],
  ['under a shell', { code: 137, signal: null }],
]

describe.each(KILLED)('a program killed %s', (_, exit) => {
  test.each<[string, () => ProviderFailure]>([
    ['claude', () => failureOfExit(exit, COMPLAINT, 'claude', {})],
    ['codex', () => exitFailure('codex', exit, COMPLAINT, true)],
  ])('fails with the name of the signal: %s', (_, fails) => {
    const failed = fails()
    expect(failed.failure).toEqual({ type: 'crashed' })
    expect(failed.message).toContain('was killed by SIGKILL')
    expect(failed.message).not.toContain('429')
  })
})

test('a program that exits by itself fails with its stderr', () => {
  const exit: Exit = { code: 1, signal: null }
  expect(failureOfExit(exit, 'not logged in', 'claude', {}).failure.type).toBe('authentication')
  expect(exitFailure('codex', exit, 'Missing environment variable', true).failure.type).toBe('authentication')
})

describe('a program that exits with status 0 before the end of its turn', () => {
  const exit: Exit = { code: 0, signal: null }
  const fails = (hasBegun: boolean): ProviderFailure[] => [
    failureOfExit(exit, '', 'claude', { hasBegun }),
    exitFailure('codex', exit, '', hasBegun),
  ]

  test('ended early if it had begun the turn: a wrapper can hide the signal', () => {
    for (const { failure, message } of fails(true)) {
      expect(failure).toEqual({ type: 'crashed', ended_early: true })
      expect(message).toContain('exited 0')
    }
  })

  test('fails if it had not begun the turn: it can be another program', () => {
    for (const { failure } of fails(false)) expect(failure).toEqual({ type: 'crashed' })
  })

  test('fails with the API error that it had reported', () => {
    const { failure } = failureOfExit(exit, '', 'claude', { hasBegun: true, error: 'rate_limit' })
    expect(failure).toEqual({ type: 'rate_limit' })
  })
})

test.each<[Exit, string | undefined, string]>([
  [{ code: 143, signal: null }, 'SIGTERM', 'was killed by SIGTERM'],
  [{ code: 134, signal: null }, 'SIGABRT', 'was killed by SIGABRT'],
  [{ code: null, signal: 'SIGHUP' }, 'SIGHUP', 'was killed by SIGHUP'],
  [{ code: 162, signal: null }, 'signal 34', 'was killed by signal 34'],
  [{ code: 192, signal: null }, 'signal 64', 'was killed by signal 64'],
  [{ code: 193, signal: null }, undefined, 'exited 193'],
  [{ code: 128, signal: null }, undefined, 'exited 128'],
  [{ code: 145, signal: null }, undefined, 'exited 145'],
  [{ code: 255, signal: null }, undefined, 'exited 255'],
  [{ code: 3, signal: null }, undefined, 'exited 3'],
])('the exit %j means the signal %s', (exit, killer, words) => {
  expect(killerOf(exit)).toBe(killer)
  expect(wordsOfExit(exit)).toBe(words)
})
