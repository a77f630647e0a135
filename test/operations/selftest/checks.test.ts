/** Each check of processes holds in a world that works, and fails in one that does not. */
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../../src/errors.js'
import { clockChecks, type Reading, readClocks } from '../../../src/operations/selftest/clock-checks.js'
import {
  type KillWorld,
  killChecks,
  promptOf,
  replyOf,
} from '../../../src/operations/selftest/kill-checks.js'
import { type LockWorld, lockChecks } from '../../../src/operations/selftest/lock-checks.js'
import { type ProgramWorld, programChecks } from '../../../src/operations/selftest/program-checks.js'
import type { SelftestCheck } from '../../../src/schema/output-home.js'

function verdicts(checks: SelftestCheck[]): string[] {
  return checks.map(({ verdict }) => verdict)
}

/** One lock. With `isDirectory`, a dead holder keeps it. */
function lockWorld({
  isDirectory = false,
  ...broken
}: Partial<LockWorld> & { isDirectory?: boolean } = {}): LockWorld {
  let holder: object | undefined
  return {
    hasDirectories: isDirectory,
    async startHolder() {
      const own = {}
      holder = own
      return {
        async kill() {
          if (!isDirectory && holder === own) holder = undefined
        },
      }
    },
    async take() {
      if (holder !== undefined) return undefined
      const own = {}
      holder = own
      return {
        async release() {
          if (holder === own) holder = undefined
        },
      }
    },
    takeElsewhere: async () => (holder === undefined ? 'taken' : 'busy'),
    async unlock() {
      holder = undefined
    },
    ...broken,
  }
}

describe('a lock', () => {
  test('holds', async () => {
    expect(verdicts(await lockChecks(lockWorld()))).toEqual(['holds', 'holds'])
  })

  test.each<[string, Partial<LockWorld> & { isDirectory?: boolean }, string[]]>([
    [
      'is granted to this process too',
      { take: async () => ({ release: async () => undefined }) },
      ['does_not_hold', 'holds'],
    ],
    ['is granted to another process too', { takeElsewhere: async () => 'taken' }, ['does_not_hold', 'holds']],
    ['is a directory, which outlives its holder', { isDirectory: true }, ['holds', 'does_not_hold']],
    ['never ends', { take: async () => undefined }, ['does_not_hold', 'does_not_hold']],
    ['is never held', { startHolder: async () => undefined }, ['does_not_hold', 'does_not_hold']],
  ])('that %s does not hold', async (_, broken, expected) => {
    expect(verdicts(await lockChecks(lockWorld(broken)))).toEqual(expected)
  })
})

describe('a program', () => {
  const world: ProgramWorld = {
    startProgram: async () => ({ sawItsRecord: true, killSubstrat: async () => undefined }),
    startUnrecorded: async () => false,
    hasEnded: async () => true,
  }

  test('holds', async () => {
    expect(verdicts(await programChecks(world))).toEqual(['holds', 'holds'])
  })

  test.each<[string, Partial<ProgramWorld>, string[]]>([
    [
      'starts before its record',
      { startProgram: async () => ({ sawItsRecord: false, killSubstrat: async () => undefined }) },
      ['does_not_hold', 'holds'],
    ],
    ['starts without a record', { startUnrecorded: async () => true }, ['does_not_hold', 'holds']],
    ['outlives substrat', { hasEnded: async () => false }, ['holds', 'does_not_hold']],
    ['does not start', { startProgram: async () => undefined }, ['does_not_hold', 'does_not_hold']],
  ])('that %s does not hold', async (_, broken, expected) => {
    expect(verdicts(await programChecks({ ...world, ...broken }))).toEqual(expected)
  })
})

/** Turns by their key, as substrat has them. */
function killWorld(broken: Partial<KillWorld> = {}): KillWorld {
  const begun = new Set<number>()
  return {
    async send(n, killAfterMs) {
      begun.add(n)
      return killAfterMs === undefined
        ? { exit: 0, stdout: `${replyOf(n)}\n`, stderr: '' }
        : { exit: null, stdout: '', stderr: '' }
    },
    unlock: async () => undefined,
    recover: async () => ({ exit: 0, stdout: '', stderr: '' }),
    traces: async () => ({
      prompts: [...begun].map(promptOf),
      replies: [...begun].map(replyOf),
      effects: [...begun].map(String),
      interrupted: 1,
    }),
    audit: async () => [],
    ...broken,
  }
}

const KILLS = 3
/** Those that are not killed come first. */
const TURNS = Array.from({ length: KILLS + 3 }, (_, index) => index + 1)

describe('thirty kills of a send', () => {
  const { send } = killWorld()
  const traces = {
    prompts: TURNS.map(promptOf),
    replies: TURNS.map(replyOf),
    effects: TURNS.map(String),
    interrupted: 1,
  }

  test('hold, also if a tool did not run before its kill, and are unknown if none came during a turn', async () => {
    const killed: number[] = []
    expect(verdicts(await killChecks(killWorld(), KILLS, (count) => killed.push(count)))).toEqual([
      'holds',
      'holds',
    ])
    expect(killed).toEqual([1, 2, 3])
    const early = killWorld({ traces: async () => ({ ...traces, interrupted: 0 }) })
    expect(verdicts(await killChecks(early, KILLS))).toEqual(['unknown', 'holds'])
    const lazy = killWorld({ traces: async () => ({ ...traces, effects: [] }) })
    expect(verdicts(await killChecks(lazy, KILLS))).toEqual(['holds', 'holds'])
  })

  test.each<[string, Partial<KillWorld>, string]>([
    [
      'a reply is lost',
      { traces: async () => ({ ...traces, replies: traces.replies.slice(0, -1) }) },
      'reply 6 is 0 times',
    ],
    [
      'a reply is doubled',
      { traces: async () => ({ ...traces, replies: [...traces.replies, replyOf(4)] }) },
      'reply 4 is 2 times',
    ],
    [
      'a prompt is doubled',
      { traces: async () => ({ ...traces, prompts: [...traces.prompts, promptOf(5)] }) },
      'message 5 is 2 times',
    ],
    [
      'a tool ran twice',
      { traces: async () => ({ ...traces, effects: [...traces.effects, '6'] }) },
      'the tool of message 6 ran 2 times',
    ],
    [
      'a repeated send fails',
      {
        send: async (n, at) =>
          n === 5 && at === undefined ? { exit: 10, stdout: '', stderr: 'damaged' } : send(n, at),
        traces: async () => traces,
      },
      'exited 10: damaged',
    ],
    [
      'a printed reply is another one later',
      {
        send: async (n, at) =>
          n === 5 && at !== undefined ? { exit: null, stdout: 'reply 4\n', stderr: '' } : send(n, at),
        traces: async () => traces,
      },
      'printed another reply',
    ],
    [
      'a send fails without a kill',
      { send: async () => ({ exit: 11, stdout: '', stderr: 'full' }) },
      'failed: full',
    ],
  ])('do not hold if %s', async (_, broken, detail) => {
    const [survives] = await killChecks(killWorld(broken), KILLS)
    expect(survives).toMatchObject({ verdict: 'does_not_hold', detail: expect.stringContaining(detail) })
  })

  test('do not hold if the home cannot be recovered, or the audit finds something', async () => {
    const fails = killWorld({ recover: async () => ({ exit: 10, stdout: '', stderr: 'damaged' }) })
    expect((await killChecks(fails, KILLS))[1]).toMatchObject({ verdict: 'does_not_hold' })
    const dirty = killWorld({ audit: async () => ['a log is intact: it is not'] })
    expect((await killChecks(dirty, KILLS))[1]?.detail).toContain('a log is intact: it is not')
  })

  test('that cannot be tried for an error of the disk say so, and a bug is not hidden', async () => {
    const full = killWorld({
      traces: () => Promise.reject(new SubstratError('STORAGE_FAILED', 'cannot read it')),
    })
    expect((await killChecks(full, KILLS))[0]).toMatchObject({
      verdict: 'does_not_hold',
      detail: 'cannot read it',
    })
    const bug = killWorld({ traces: () => Promise.reject(new TypeError('bug')) })
    await expect(killChecks(bug, KILLS)).rejects.toThrow('bug')
  })
})

describe('the clocks', () => {
  const at = (wallMs: number, monotonicMs = wallMs, uptimeMs = wallMs): Reading => ({
    wallMs,
    monotonicMs,
    uptimeMs,
  })

  test('agree here', async () => {
    expect(await clockChecks([...readClocks(), ...readClocks()])).toMatchObject({ verdict: 'holds' })
    const ofManyKills = Array.from({ length: 150 }, readClocks).flat()
    expect(await clockChecks(ofManyKills)).toMatchObject({ verdict: 'holds' })
  })

  test.each<[string, Reading[]]>([
    ['the wall clock goes back', [at(0), at(10), at(5, 15, 15), at(20)]],
    ['the monotonic clock goes back', [at(0), at(10), at(15, 5, 15), at(20)]],
    ['the wall clock is set forward', [at(0), at(5000, 100, 100)]],
    ['the wall clock stands still', [at(0), at(0, 5000, 5000)]],
    ['the monotonic clock stands still', [at(0), at(5000, 0, 5000)]],
  ])('do not agree if %s', async (_, readings) => {
    expect(await clockChecks(readings)).toMatchObject({ verdict: 'does_not_hold' })
  })
})
