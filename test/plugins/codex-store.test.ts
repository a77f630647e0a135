/** How provider-codex reads the store of codex after a crash. */
import { appendFileSync, mkdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Inspection } from '../../src/provider/contract.js'
import { codex, FIRST_THREAD, place, RECORDED, settingsFor } from './codex-support.js'

const FINISHED: Inspection = { outcome: 'finished', reply: 'echo: hello there' }
const UNFINISHED: Inspection = { outcome: 'unfinished' }
const UNKNOWN: Inspection = { outcome: 'unknown' }

function recorded(name: string): string {
  return readFileSync(join(RECORDED, `store-${name}.jsonl`), 'utf8')
}

function withoutLastLine(text: string): string {
  return text.replace(/[^\n]*\n$/, '')
}

function lastLine(text: string): string {
  return text.slice(withoutLastLine(text).length)
}

/** Writes the rollout of the thread. */
function rollout(text: string | Buffer, day = '2026/11/20'): string {
  const folder = join(place.home, 'sessions', day)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `rollout-2026-11-20T16-00-52-${FIRST_THREAD}.jsonl`)
  writeFileSync(file, text)
  return file
}

/** The outcome without the usage. */
async function inspect(rollout_bytes: number | null, thread_id: string = FIRST_THREAD): Promise<Inspection> {
  const { usage: _, models: __, ...outcome } = await inspectAll(rollout_bytes, thread_id)
  return outcome as Inspection
}

function inspectAll(rollout_bytes: number | null, thread_id: string = FIRST_THREAD): Promise<Inspection> {
  return codex.inspect(Buffer.from(JSON.stringify({ thread_id, rollout_bytes })), settingsFor())
}

describe('a turn', () => {
  test('with its end in the store is finished, with its reply', async () => {
    rollout(recorded('first'))
    expect(await inspect(0)).toEqual(FINISHED)
  })

  test.each<[string, string]>([
    ['that has no end', withoutLastLine(recorded('first'))],
    ['that was aborted', recorded('aborted')],
    ['that failed', recorded('failed')],
    ['that never began', ''],
    ['whose end is torn', recorded('first').slice(0, -20)],
    ['whose end is another turn’s', withoutLastLine(recorded('first')) + recorded('resumed')],
    [
      'with the end of another turn inside',
      withoutLastLine(recorded('first')) + lastLine(recorded('resumed')),
    ],
    ['with a message that looks like an end', withoutLastLine(recorded('first')) + lookalike()],
  ])('%s is unfinished', async (_, text) => {
    rollout(text)
    expect(await inspect(0)).toEqual(UNFINISHED)
  })

  test.each<[string, number, Inspection]>([
    ['that substrat answered is finished', 1, FINISHED],
    ['that substrat did not answer is unfinished', 0, UNFINISHED],
  ])('with a call of a substrat tool %s', async (_, answered, expected) => {
    const item = (payload: object): string => `${JSON.stringify({ type: 'response_item', payload })}\n`
    const call = { type: 'function_call', name: 'list_children', namespace: 'mcp__substrat', call_id: 'c' }
    const calls = item(call) + item({ type: 'function_call_output', call_id: 'c', output: 'no' })
    rollout(withoutLastLine(recorded('first')) + calls + lastLine(recorded('first')))
    const state = { thread_id: FIRST_THREAD, rollout_bytes: 0 }
    const heard = { finished: [], answered, server: 'substrat' }
    const options = { signal: new AbortController().signal, heard }
    const inspection = await codex.inspect(Buffer.from(JSON.stringify(state)), settingsFor(), options)
    expect(inspection).toMatchObject(expected)
  })

  test('without text has an empty reply', async () => {
    rollout(
      recorded('first').replace('"last_agent_message":"echo: hello there"', '"last_agent_message":null'),
    )
    expect(await inspect(0)).toEqual({ outcome: 'finished', reply: '' })
  })

  test('is searched only after the earlier turns', async () => {
    const before = recorded('first')
    rollout(before)
    expect(await inspect(Buffer.byteLength(before))).toEqual(UNFINISHED)
    rollout(before + recorded('resumed').replaceAll('hello there', 'good bye'))
    expect(await inspect(Buffer.byteLength(before))).toEqual({ outcome: 'finished', reply: 'echo: good bye' })
  })

  test('does not include what the user did in codex afterwards', async () => {
    rollout(withoutLastLine(recorded('first')))
    appendFileSync(rolloutPath(), recorded('resumed'))
    expect(await inspect(0)).toEqual(UNFINISHED)
  })

  test('is read despite incomplete lines and NUL bytes', async () => {
    const [begin, end] = [withoutLastLine(recorded('first')), recorded('first').slice(-800)]
    rollout(
      Buffer.concat([Buffer.from(`{"timestamp":"2026-1\n${begin}`), Buffer.alloc(4096), Buffer.from('\n')]),
    )
    appendFileSync(rolloutPath(), end.slice(end.lastIndexOf('\n', end.length - 2) + 1))
    expect(await inspect(0)).toEqual(FINISHED)
  })
})

/** A thread of the real codex: a turn that completed, one that failed, one that was aborted, and one that completed. */
describe('the usage of a turn', () => {
  /** One response of the model. */
  const ONE = {
    input_tokens: 100,
    output_tokens: 20,
    cache_read_tokens: 30,
    cache_write_tokens: 0,
    reasoning_tokens: 5,
  }
  const TWO = { ...ONE, input_tokens: 200, output_tokens: 40, cache_read_tokens: 60, reasoning_tokens: 10 }
  const TURNS = recorded('spent').split(/(?=^.*"type":"task_started")/m)
  const startOf = (turn: number): number => Buffer.byteLength(TURNS.slice(0, turn).join(''))
  const without = (type: string): string =>
    TURNS.join('').replaceAll(new RegExp(`^.*"type":"${type}".*\\n`, 'gm'), '')

  test.each([
    ['completed', 0, 'finished', TWO],
    ['failed', 1, 'unfinished', ONE],
    ['was aborted', 2, 'unfinished', ONE],
    ['completed after these', 3, 'finished', ONE],
  ])('that %s is its own, with the model', async (_, turn, outcome, usage) => {
    rollout(TURNS.join(''))
    const inspection = await inspectAll(startOf(turn))
    expect(inspection).toMatchObject({ outcome, usage, models: [{ model: 'm', ...usage }] })
  })

  test('that was killed during a call includes the response with the call', async () => {
    const [, killed] = TURNS as [string, string]
    const call = killed.slice(0, killed.indexOf('\n', killed.indexOf('"token_usage_record"')) + 1)
    expect(call).not.toContain('token_count')
    rollout(TURNS[0] + call)
    expect(await inspectAll(startOf(1))).toMatchObject({ outcome: 'unfinished', usage: ONE })
    rollout(TURNS[0] + call.slice(0, -20))
    expect(await inspectAll(startOf(1))).toEqual({ outcome: 'unfinished' })
  })

  test('comes from the totals of the thread if a version of codex stores no others', async () => {
    const text = without('token_usage_record')
    rollout(text)
    const starts = [...text.matchAll(/^.*"type":"task_started"/gm)].map(({ index }) => index)
    const usages = await Promise.all(starts.map(async (start) => (await inspectAll(start)).usage))
    expect(usages).toEqual([TWO, ONE, ONE, ONE])
  })

  test('has no model if codex stores none', async () => {
    rollout(without('turn_context'))
    const { usage, models } = await inspectAll(0)
    expect({ usage, models }).toEqual({ usage: TWO, models: undefined })
  })
})

describe('the outcome of a turn is unknown', () => {
  test('without a state, or with a state of another provider', async () => {
    expect(await codex.inspect(null, settingsFor())).toEqual(UNKNOWN)
    expect(await codex.inspect(Buffer.from('not json'), settingsFor())).toEqual(UNKNOWN)
  })

  test('if the thread has no rollout', async () => {
    rollout(recorded('first'))
    expect(await inspect(0, '01a1f9b0-0000-75f2-91e5-cc0dddb2b092')).toEqual(UNKNOWN)
  })

  test('if substrat began no turn', async () => {
    rollout(recorded('first'))
    expect(await inspect(null)).toEqual(UNKNOWN)
  })

  test('if the rollout is shorter than before', async () => {
    const file = rollout(recorded('first'))
    truncateSync(file, 100)
    expect(await inspect(500)).toEqual(UNKNOWN)
  })

  test('if the rollout is compressed', async () => {
    const file = rollout(recorded('first'))
    renameSync(file, `${file}.zst`)
    expect(await inspect(0)).toEqual(UNKNOWN)
  })
})

test('a rollout is found under any day', async () => {
  for (const day of ['2025/01/02', '2026/11/19', '2026/11/21'])
    mkdirSync(join(place.home, 'sessions', day), { recursive: true })
  rollout(recorded('first'), '2025/12/31')
  expect(await inspect(0)).toEqual(FINISHED)
})

test('without CODEX_HOME the store is in ~/.codex', async () => {
  delete process.env.CODEX_HOME
  const home = process.env.HOME
  process.env.HOME = place.home
  try {
    expect(homedir()).toBe(place.home)
    place.home = join(place.home, '.codex')
    rollout(recorded('first'))
    expect(await inspect(0)).toEqual(FINISHED)
  } finally {
    process.env.HOME = home
  }
})

function rolloutPath(): string {
  return join(place.home, 'sessions/2026/11/20', `rollout-2026-11-20T16-00-52-${FIRST_THREAD}.jsonl`)
}

/** A message that quotes the end of a turn. */
function lookalike(): string {
  const end = recorded('first').trimEnd().split('\n').at(-1) as string
  return `${JSON.stringify({ type: 'response_item', payload: { ...JSON.parse(end).payload, event_msg: 1 } })}\n`
}
