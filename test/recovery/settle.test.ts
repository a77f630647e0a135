import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { bootId, ownIdentity, processGroup, processStartTime, readClock } from '../../src/host/identity.js'
import type { InspectOptions } from '../../src/provider/contract.js'
import { type SettleOptions, settle } from '../../src/recovery/settle.js'
import { RECOVERY_TABLE } from '../../src/recovery/table.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Run, State } from '../../src/session/state.js'
import { deriveStatus, isDue, isInterrupted, isUnfinished } from '../../src/session/status.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { recoveryNotice } from '../../src/turn/prompt/history.js'
import { step } from '../../src/turn/step/step.js'
import type { Effect, ProviderKind, TurnEvent } from '../../src/turn/step/turn-event.js'
import { killedAt } from '../support/killed.js'
import { beginning, newSession, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { agent, POLICY } from '../support/turns.js'
import { CASES, DELIVERED, hanging, PENDING, type RecoveryCase } from './cases.js'
import { changes, left, optionsOf, type Visited, visit } from './visits.js'

let store: FileStore
/** A process group of an earlier boot. */
const NOBODY = { process_group: 1, start_time: 1, kernel_boot_id: 'another', pid_namespace: '1' }

beforeEach(() => {
  store = tempStore()
})

describe('the recovery table', () => {
  test.each(CASES.map((recovery) => [recovery.name, recovery.story, recovery] as const))(
    '%s: %s',
    async (_, __, recovery) => {
      const id = await left(store, recovery)
      const first = await visit(store, id, recovery)
      const second = await visit(store, id, recovery)
      expect(second.after).toEqual(first.after)
      const file = join(import.meta.dirname, '../cases', `${recovery.name}.txt`)
      const transcript = await transcriptOf(recovery, id, first)
      if (process.env.UPDATE_CASES === '1') {
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, transcript)
      }
      expect(transcript).toBe(readFileSync(file, 'utf8'))
    },
  )

  test('has a case for each of its rows', () => {
    const rows = new Set(CASES.map(({ name }) => name.split('-')[0]))
    // Row K is about the inbox. It can apply beside each other row.
    expect([...rows].sort()).toEqual([...Object.keys(RECOVERY_TABLE), 'K'].sort())
  })
})

describe('the usage in the store of a program', () => {
  const used = { input_tokens: 7, output_tokens: 3, reasoning_tokens: 1 }
  const models = [{ model: 'large', ...used }]
  const found = (outcome: object) => async (): Promise<object> => ({ ...outcome, usage: used, models })

  test.each([
    ['finished', { outcome: 'finished', reply: 'built' }, 'message.agent'],
    ['did not finish', { outcome: 'unfinished' }, 'run.interrupted'],
    ['has an unknown outcome', { outcome: 'unknown' }, 'run.interrupted'],
  ])(
    'that %s is recorded once, with its models, if recovery is killed at any step',
    async (_, outcome, kind) => {
      const recovery = CASES.find(({ name }) => name === 'J-finished') as RecoveryCase
      const inspected = { ...recovery, inspect: found(outcome) }
      for (let step = 1; ; step++) {
        const id = await left(store, inspected)
        const isKilled = await killedAt(step, () => visit(store, id, inspected), changes)
        const { after } = await visit(store, id, inspected)
        const withModels = after.filter((record) => 'models' in record)
        expect(withModels, `killed at step ${step}`).toMatchObject([{ kind, usage: used, models }])
        const session = await reopen(store, id)
        expect(session.state.usage).toEqual({ ...used, runs: 1, runs_with_usage: 1, runs_with_cost: 0 })
        expect(session.state.run?.usage).toEqual(used)
        await session.abandon()
        if (!isKilled) break
      }
    },
  )

  test('is ignored if it is not valid, and the reply counts', async () => {
    const recovery = CASES.find(({ name }) => name === 'J-finished') as RecoveryCase
    const inspect = async (): Promise<object> => ({
      outcome: 'finished',
      reply: 'built',
      usage: { input_tokens: -1 },
      models: 'large',
    })
    const { after } = await visit(store, await left(store, recovery), { ...recovery, inspect })
    expect(after.some((record) => 'usage' in record)).toBe(false)
    expect(after.map(({ kind }) => kind)).toContain('run.completed')
  })
})

test('a program that a dead turn left running is dead before its provider is asked', async () => {
  const session = await newSession(store, { provider: 'agent', workspace: '/w' })
  const run: string = randomUUID()
  const left = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore', env: { SUBSTRAT_RUN: run } })
  const pid = left.pid as number
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  const start_time = processStartTime(pid) ?? 0
  session.append(beginning(session, run, 'hi'))
  session.append([
    { kind: 'provider.started', run_id: run, process_group: pid, start_time, kernel_boot_id, pid_namespace },
  ])
  let wasAlive: boolean | undefined
  const inspect = async (): Promise<object> => {
    wasAlive = processGroup(pid) !== undefined
    return { outcome: 'unfinished' }
  }
  const notes: string[] = []
  expect(await settle(session, optionsOf(inspect, notes))).toEqual({ row: 'J', hasSurvivor: false })
  expect(wasAlive).toBe(false)
  expect(notes).toEqual([`process group ${pid} of the interrupted turn was still running: killed it`])
})

describe('recovery with a program store that does not answer', () => {
  const recovery = CASES.find(({ name }) => name === 'J-finished') as RecoveryCase

  async function unanswered(over: Partial<SettleOptions>, ms: number) {
    const session = await reopen(store, await left(store, recovery))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const notes: string[] = []
    const settling = settle(session, { ...optionsOf(hanging, notes), ...over }).catch((error) => error)
    await vi.advanceTimersByTimeAsync(ms)
    vi.useRealTimers()
    return { session, notes, settled: await settling }
  }

  test('prints a note and times out; the turn stays open, and the next command asks again', async () => {
    const { session, notes, settled } = await unanswered({}, 300_000)
    expect(settled).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining('300 s') })
    expect(notes).toEqual([expect.stringContaining('waiting for agent to report how')])
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'launched' })
    await settle(session, optionsOf(recovery.inspect, notes))
    expect(session.state.run?.reply).not.toBeNull()
    expect(notes).toHaveLength(1)
  })

  test.each<[string, Partial<SettleOptions>, number]>([
    ['as long as the command waits for other processes', { waitMs: 60_000 }, 60_000],
    ['at least 10 s', { waitMs: 0 }, 10_000],
  ])('waits %s', async (_, over, ms) => {
    const { settled } = await unanswered(over, ms)
    expect(settled).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining(`${ms / 1000} s`) })
  })

  test.each<[string, Partial<SettleOptions>]>([
    ['does not continue it', { continuesTurn: false }],
    ['gives it up', { givesUp: true }],
  ])('leaves the turn interrupted for a command that %s', async (_, over) => {
    const { session, notes, settled } = await unanswered(over, 300_000)
    expect(settled).toEqual({ row: 'J', hasSurvivor: false })
    expect(session.state.run?.status).not.toBe('completed')
    expect(notes[1]).toContain('cannot say how the turn ended')
  })
})

test('the provider receives the tool results that the log has since the latest start of its program', async () => {
  const run_id = randomUUID()
  const session = await newSession(store, { provider: 'agent', workspace: '/w' })
  const launched = { kind: 'provider.started', run_id, ...NOBODY } as const
  const ended = { kind: 'program.tool_finished', run_id, tool: 'Bash', content: '', is_error: true } as const
  const own = { run_id, call_id: 'program_7', tool: 'list_children' } as const
  session.append(beginning(session, run_id, 'hi'))
  session.append([launched, { ...ended, call_id: 'before' }, launched, { ...ended, call_id: 'after' }])
  session.append([{ kind: 'tool.started', ...own, input: {} }])
  session.append([{ kind: 'tool.finished', ...own, content: '', is_error: false }])
  let heard: unknown
  const inspect = async (_: unknown, __: unknown, options: InspectOptions): Promise<object> => {
    heard = options.heard
    return { outcome: 'unknown' }
  }
  await settle(session, optionsOf(agent({ inspect }), []))
  expect(heard).toEqual({ finished: ['after'], answered: 1, server: 'substrat' })
})

test('the text of a program that has not finished is not a reply', async () => {
  const recovery = CASES.find(({ name }) => name === 'J-finished') as RecoveryCase
  const inspect = async (): Promise<object> => ({ outcome: 'unknown', reply: 'half of it' })
  const { after } = await visit(store, await left(store, recovery), { ...recovery, inspect })
  expect(after.map(({ kind }) => kind)).not.toContain('message.agent')
})

test('a reply that is too large is not recorded', async () => {
  const recovery = CASES.find(({ name }) => name === 'J-finished') as RecoveryCase
  const reply = 'x'.repeat(11 * 1024 * 1024)
  const inspect = async (): Promise<object> => ({ outcome: 'finished', reply })
  const { after } = await visit(store, await left(store, recovery), { ...recovery, inspect })
  expect(after.map(({ kind }) => kind)).not.toContain('message.agent')
})

async function transcriptOf(recovery: RecoveryCase, agentId: string, visited: Visited): Promise<string> {
  const { settled, notes, before, after } = visited
  const session = await reopen(store, agentId)
  const { state } = session
  const next = nextStep(state, recovery)
  await session.abandon()
  const { found, action } = RECOVERY_TABLE[settled.row]
  const appended = after.slice(before.length)
  return [
    recovery.story,
    '',
    'the log before',
    ...before.map(lineOf),
    '',
    `settle${recovery.unknownTool === 'continue' ? ' (unknown_tool=continue)' : ''}${recovery.continuesTurn ? ', and the command continues the turn' : ''}`,
    `  row ${settled.row}: ${found} -> ${action}`,
    ...notes.map((note) => `  note: ${plain(note)}`),
    ...(settled.hasSurvivor ? ['  a program may still run where recovery cannot kill it'] : []),
    '',
    'the log after',
    ...(appended.length === 0 ? ['  the same'] : ['  …', ...appended.map(lineOf)]),
    '',
    ...(recovery.inbox === undefined ? [] : inboxLines(agentId, recovery.inbox)),
    ...next,
    `session ${state.state}, run ${state.run?.status ?? 'none'}, status ${deriveStatus(state, false, readClock())}`,
    '',
  ].join('\n')
}

function inboxLines(agentId: string, before: string[]): string[] {
  const left = store.mail.ids(agentId)
  const names: Record<string, string> = {
    [DELIVERED]: 'the delivered message',
    [PENDING]: 'the pending message',
  }
  return ['the inbox', ...before.map((id) => `  ${names[id]}${left.includes(id) ? '' : ': removed'}`), '']
}

/** The next step of the turn, if the caller continues it: by itself, or after the decision of a person. */
function nextStep(state: State, { continuesTurn, provider: name }: RecoveryCase): string[] {
  const { run } = state
  const provider = name === 'scripted' ? 'model' : 'agent'
  const isParked = run?.status === 'open' && run.wait !== null && !isDue(run.wait, readClock())
  if (!continuesTurn || run === null || isParked || !isUnfinished(state)) return []
  const isOpen = run.status === 'open'
  const who = isOpen || isInterrupted(state) ? 'by itself' : 'after the decision of a person'
  const { records, effect } = step(
    state,
    isOpen ? goingOn(state, provider) : continuing(state, provider),
    POLICY,
  )
  const batch: [number, number] = [state.last_seq + 1, state.last_seq + records.length]
  const lines = records.map((record, index) => lineOf({ ...record, seq: batch[0] + index, ts: '', batch }))
  return [
    `the turn continues ${who}`,
    ...lines,
    `  -> ${effect === undefined ? 'nothing' : effectOf(effect)}`,
    '',
  ]
}

function goingOn(state: State, provider: ProviderKind): TurnEvent {
  const notice = state.run?.wait === null ? recoveryNotice(state) : null
  return { type: 'go_on', provider, boot_id: bootId(), auto: true, notice, sources: [] }
}

function continuing(state: State, provider: ProviderKind): TurnEvent {
  const { run_id, key, digest, turn_timeout_ms, steps_max, allow } = state.run as Run
  const content = provider === 'model' ? null : 'the recovery prompt'
  const auto = isInterrupted(state)
  const prompt = { origin: 'continuation' as const, continues: run_id, auto, content }
  const again = { key, digest, turn_timeout_ms, steps_max, allow, sources: [] }
  return { type: 'begin', provider, run: { run_id: randomUUID(), boot_id: bootId(), prompt, ...again } }
}

function effectOf({ type, ...fields }: Effect): string {
  return [type, ...Object.values(fields).map(String)].join(' ')
}

/** Seq, batch, kind, and the fields that have the same value in each trial. */
function lineOf(record: SessionRecord): string {
  const { seq, batch, kind, ts: _, ...fields } = record as SessionRecord & Record<string, unknown>
  const told = Object.entries(fields)
    .filter(
      ([field]) =>
        ![
          'crc',
          'clock',
          'agent_id',
          'run_id',
          'message_id',
          'options',
          'workspace',
          'format',
          'token_id',
          'hash',
          'continues',
          'host_id',
          'host_name',
        ].includes(field),
    )
    .filter(([, value]) => value !== null)
    .map(([field, value]) => `${field}=${plain(typeof value === 'string' ? value : JSON.stringify(value))}`)
  const place = `${String(seq).padStart(3)} [${batch.join('-')}]`.padEnd(12)
  return `${place}${kind.padEnd(22)}${told.join(' ')}`.trimEnd()
}

function plain(text: string): string {
  const { kernel_boot_id, pid_namespace } = ownIdentity()
  return text
    .replace(new RegExp(`${kernel_boot_id}/\\S+`), 'this-boot')
    .replace(new RegExp(kernel_boot_id), 'this-kernel')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}(\/\S+)?/, 'another-kernel')
    .replace(pid_namespace, 'this-namespace')
    .replace(new RegExp(`^${process.pid}$`), 'our-own-pid')
}
