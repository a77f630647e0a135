/** What an agent's program does within its turn, and what it asks. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { bootId } from '../../../src/host/identity.js'
import { limits } from '../../../src/limits.js'
import type { AgentProvider, AgentSession, WaitAnswer } from '../../../src/provider/contract.js'
import type { SessionRecord } from '../../../src/session/records.js'
import type { Session } from '../../../src/session/session.js'
import type { Run } from '../../../src/session/state.js'
import { newSession } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { agent, kindsOf, runTurn, type TurnFacts } from '../../support/turns.js'

const DONE = { type: 'done', reply: 'fine' }
const ASKS = [{ call_id: 'n1', tool: 'Bash', input: { command: 'make' } }]
const WAIT = { type: 'wait', kind: 'approval', asks: ASKS }
const LIMITED = Object.assign(new Error('limited'), { failure: { type: 'rate_limit', retry_after_ms: 0 } })
let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

async function* yields(...events: unknown[]): AsyncIterable<unknown> {
  for (const event of events) {
    if (event instanceof Error) throw event
    yield event
  }
}

interface Program {
  provider: AgentProvider
  prompts: string[]
  answers: WaitAnswer[]
  /** How its sessions were let go of. */
  ends: string[]
}

/** Its turns yield these, one after the other, whether it is prompted or answered. */
function program(...turns: unknown[][]): Program {
  const told: Omit<Program, 'provider'> = { prompts: [], answers: [], ends: [] }
  const next = (): AsyncIterable<unknown> => yields(...(turns.shift() ?? [DONE]))
  const one = {
    send: (prompt: string) => {
      told.prompts.push(prompt)
      return next()
    },
    answer: (answer: WaitAnswer) => {
      told.answers.push(answer)
      return next()
    },
    suspend: async () => {
      told.ends.push('suspend')
      return Buffer.from('native')
    },
    stop: async () => void told.ends.push('stop'),
  }
  return { provider: agent({ create: async () => one as unknown as AgentSession }), ...told }
}

function turn(events: unknown[], facts?: TurnFacts): Promise<Run> {
  return runTurn(session, program(events).provider, facts)
}

function records<K extends SessionRecord['kind']>(kind: K): SessionRecord<K>[] {
  const all = [...session.records({ seq: 1, offset: 0 })]
  return all.filter((record) => record.kind === kind) as unknown as SessionRecord<K>[]
}

function decision(run: Run, decision: 'approve' | 'deny' | 'input', text = ''): TurnFacts {
  const decided = { token_id: run.wait?.resume_token_id as string, decision, text, digest: 'd' }
  return {
    first: { type: 'decided', provider: 'agent', boot_id: bootId(), decided, asks: ASKS, sources: [] },
  }
}

/** The next command, once a time has come or after a kill. */
function goesOn(): TurnFacts {
  const event = { type: 'go_on', provider: 'agent', boot_id: bootId(), auto: false, notice: null } as const
  return { first: { ...event, sources: [] } }
}

describe('a tool of the program', () => {
  const started = { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: { command: 'make' } }
  const finished = { type: 'tool_finished', call_id: 'n1', tool: 'Bash', output: 'made', is_error: false }

  test('is recorded when it starts and when it ends, in order', async () => {
    await turn([started, { ...finished, is_error: true }, DONE])
    expect(kindsOf(session)).toContain('program.tool_started')
    expect(records('program.tool_started')).toMatchObject([
      { call_id: 'n1', tool: 'Bash', input: { command: 'make' } },
    ])
    expect(records('program.tool_finished')).toMatchObject([
      { call_id: 'n1', tool: 'Bash', content: 'made', is_error: true },
    ])
    expect(records('tool.started')).toEqual([])
  })

  test('with an output that is too long for a line is in the log in short, and whole in a blob', async () => {
    const output = 'x'.repeat(300_000)
    await turn([started, { ...finished, output }, DONE])
    const [record] = records('program.tool_finished')
    expect(Buffer.byteLength(JSON.stringify(record))).toBeLessThan(100_000)
    expect(session.text(record?.output as { blob: string; bytes: number })).toBe(output)
  })

  test('with an input that is too long for a line has it in a blob', async () => {
    await turn([{ ...started, input: { text: 'x'.repeat(300_000) } }, DONE])
    const [record] = records('program.tool_started')
    expect(record?.input).toBeUndefined()
    expect(record?.input_blob?.bytes).toBeGreaterThan(300_000)
  })

  test.each([
    ['without a name', { ...started, tool: '' }],
    ['whose name is no text', { ...started, tool: 7 }],
    ['without an id', { ...started, call_id: undefined }],
    ['whose name is endless', { ...started, tool: 'x'.repeat(limits.callNameCharactersMax + 1) }],
    ['that ends without a name', { ...finished, tool: undefined }],
  ])('%s fails the turn', async (_, event) => {
    const run = await turn([event, DONE])
    expect(run.error?.message).toBe('the provider broke its contract: a tool without a name')
    expect(records('program.tool_started')).toEqual([])
  })

  test.each([
    ['nothing', undefined, {}],
    ['a list', ['a'], { value: ['a'] }],
    ['a word', 'a', { value: 'a' }],
    ['what JSON cannot say', { at: new Date(0), f: () => 0 }, { at: '1970-01-01T00:00:00.000Z' }],
  ])('whose input is %s is recorded with an object', async (_, input, stored) => {
    await turn([{ ...started, input }, DONE])
    expect(records('program.tool_started')).toMatchObject([{ input: stored }])
  })
})

test('a note is told, and is not in the log', async () => {
  const notes: string[] = []
  const before = kindsOf(session).length
  await turn([DONE])
  const plain = kindsOf(session).slice(before)
  const events = [{ type: 'note', text: 'the model is asked again' }, DONE]
  const length = kindsOf(session).length
  await turn(events, { ports: { note: (text) => void notes.push(text) } })
  expect(notes).toEqual(['the model is asked again'])
  expect(kindsOf(session).slice(length)).toEqual(plain)
})

describe('a program that asks', () => {
  test('is let go with its state, and its run waits with a token', async () => {
    const secrets: string[] = []
    const { provider, ends } = program([WAIT])
    const run = await runTurn(session, provider, {
      ports: { onToken: (secret) => void secrets.push(secret) },
    })
    expect(run).toMatchObject({ status: 'open', wait: { kind: 'approval' }, process: null })
    expect(ends).toEqual(['suspend'])
    expect(session.state).toMatchObject({ state: 'suspended', provider_state: btoa('native') })
    expect(records('run.waiting')).toMatchObject([{ wait: 'approval', asks: ASKS }])
    expect(secrets).toHaveLength(1)
  })

  test('is answered with what was decided about what it asked, and the answer is given once', async () => {
    const { provider, prompts, answers } = program([WAIT], [DONE], [DONE])
    const parked = await runTurn(session, provider)
    const run = await runTurn(session, provider, decision(parked, 'deny', 'no'))
    expect(run).toMatchObject({ status: 'completed', run_id: parked.run_id })
    await runTurn(session, provider, { prompt: 'next' })
    expect(answers).toEqual([{ decision: 'deny', text: 'no', asks: ASKS }])
    expect(prompts).toEqual(['hi', 'next'])
  })

  test('and is limited before it acts on the answer is given it again', async () => {
    const { provider, prompts, answers } = program([WAIT], [LIMITED], [DONE])
    const parked = await runTurn(session, provider)
    const limited = await runTurn(session, provider, decision(parked, 'approve'))
    expect(limited.wait?.kind).toBe('not_before')
    expect((await runTurn(session, provider, goesOn())).status).toBe('completed')
    expect(answers.map(({ decision }) => decision)).toEqual(['approve', 'approve'])
    expect(prompts).toEqual(['hi'])
  })

  test('and is limited when it has acted on the answer is told that it was interrupted', async () => {
    const acts = { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: { command: 'make' } }
    const { provider, prompts, answers } = program([WAIT], [acts, LIMITED], [DONE])
    const parked = await runTurn(session, provider)
    await runTurn(session, provider, decision(parked, 'approve'))
    await runTurn(session, provider, goesOn())
    expect(answers).toHaveLength(1)
    expect(prompts).toEqual(['hi', expect.stringMatching(/interrupted.*hi/s)])
  })

  test('with large inputs has them shortened, so that the line holds what it asks', async () => {
    const asks = Array.from({ length: 20 }, (_, index) => ({
      call_id: `n${index}`,
      tool: 'Write',
      input: { text: 'x'.repeat(100_000) },
    }))
    const run = await turn([{ ...WAIT, asks }])
    expect(run.wait?.kind).toBe('approval')
    const [record] = records('run.waiting')
    expect(record?.asks).toHaveLength(20)
    expect(JSON.stringify(record).length).toBeLessThan(2 * limits.asksCharactersMax)
  })

  test.each([
    ['for nothing', { ...WAIT, asks: [] }, /a wait that asks for nothing$/],
    ['without saying what', { type: 'wait', kind: 'approval' }, /a wait that asks for nothing$/],
    ['about no tool', { ...WAIT, asks: [{ call_id: 'n1' }] }, /a question \{ call_id: 'n1' \}$/],
    ['about nothing at all', { ...WAIT, asks: [null] }, /a question null$/],
  ])('%s fails its turn', async (_, event, sentence) => {
    const run = await turn([event])
    expect(run.error?.message).toMatch(sentence)
    expect(records('token.minted')).toEqual([])
  })

  test.each([
    ['replies', [WAIT, DONE]],
    ['asks once more', [WAIT, WAIT]],
    ['had replied', [DONE, WAIT]],
  ])('and %s fails its turn', async (_, events) => {
    expect((await turn(events)).error?.message).toMatch(/an event after its end$/)
  })

  test('and cannot be answered fails when it is', async () => {
    const deaf = agent({
      create: async () => ({
        send: () => yields(WAIT),
        suspend: async () => null,
        stop: async () => undefined,
      }),
    })
    const parked = await runTurn(session, deaf)
    const run = await runTurn(session, deaf, decision(parked, 'approve'))
    expect(run.error?.message).toBe('the provider broke its contract: a wait without `answer`')
  })
})

describe('a program that fails', () => {
  const failing = (failure: object): AgentProvider =>
    agent({
      create: async () => ({
        send: () => {
          throw Object.assign(new Error('no more today'), { failure })
        },
        suspend: async () => null,
        stop: async () => undefined,
      }),
    })

  test('with a limit waits until its time, and for a minute where it names none', async () => {
    for (const [retry_after_ms, ms] of [
      [7_200_000, 7_200_000],
      [undefined, 60_000],
    ]) {
      const begun = Date.now()
      const { wait } = await runTurn(session, failing({ type: 'rate_limit', retry_after_ms }))
      const off = Date.parse(wait?.not_before ?? '') - begun - (ms as number)
      expect(off).toBeGreaterThanOrEqual(0)
      // As long as the turn took, and no longer.
      expect(off).toBeLessThanOrEqual(Date.now() - begun)
    }
    expect(records('run.waiting')).toMatchObject([{ why: 'no more today' }, { why: 'no more today' }])
  })

  test.each(['overloaded', 'unreachable', 'timeout', 'crashed', 'session_lost', 'busy'])(
    'as %s is not asked again by us: it has tried itself',
    async (type) => {
      const run = await runTurn(session, failing({ type }))
      expect(run).toMatchObject({ status: 'failed', error: { type, message: 'no more today' } })
    },
  )
})

describe('a conversation that was seeded', () => {
  const seed = (): void =>
    void session.append([{ kind: 'session.seeded', from: randomUUID(), content: 'SEED' }])

  test('is told with the first prompt that completes, and in no later one', async () => {
    const { provider, prompts } = program([], [DONE], [DONE])
    seed()
    expect((await runTurn(session, provider)).status).toBe('failed')
    await runTurn(session, provider)
    await runTurn(session, provider)
    expect(prompts).toEqual(['SEED\n\nhi', 'SEED\n\nhi', 'hi'])
  })

  test('begins a session of its own: what the program had kept is forgotten', async () => {
    await turn([{ type: 'state', state: Buffer.from('lost') }, DONE])
    seed()
    expect(session.state.provider_state).toBeNull()
  })
})
