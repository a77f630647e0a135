/** An agent program during its turn: its tools, notes, questions and failures. */
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
  /** How each of its sessions was released. */
  ends: string[]
}

/** A provider whose turns yield these in order, for prompts and answers alike. */
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

/** Each append is one batch, and one fsync. */
function appendsOf(of: Session): number {
  return new Set([...of.records({ seq: 1, offset: 0 })].map(({ batch }) => batch[0])).size
}

function decision(run: Run, decision: 'approve' | 'deny' | 'input', text = ''): TurnFacts {
  const decided = { token_id: run.wait?.resume_token_id as string, decision, text, digest: 'd' }
  return {
    first: { type: 'decided', provider: 'agent', boot_id: bootId(), decided, asks: ASKS, sources: [] },
  }
}

/** The next command, after a parked time has come or after a kill. */
function continuesTurn(): TurnFacts {
  const event = { type: 'go_on', provider: 'agent', boot_id: bootId(), auto: false, notice: null } as const
  return { first: { ...event, sources: [] } }
}

describe('a tool of the program', () => {
  const started = { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: { command: 'make' } }
  const finished = { type: 'tool_finished', call_id: 'n1', tool: 'Bash', output: 'made', is_error: false }

  test('is recorded at its start and at its end', async () => {
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

  test('with output too long for a line has an excerpt in the log, and the whole output in a blob', async () => {
    const output = 'x'.repeat(300_000)
    await turn([started, { ...finished, output }, DONE])
    const [record] = records('program.tool_finished')
    expect(Buffer.byteLength(JSON.stringify(record))).toBeLessThan(100_000)
    expect(session.text(record?.output as { blob: string; bytes: number })).toBe(output)
  })

  test('with an input too long for a line has its input in a blob', async () => {
    await turn([{ ...started, input: { text: 'x'.repeat(300_000) } }, DONE])
    const [record] = records('program.tool_started')
    expect(record?.input).toBeUndefined()
    expect(record?.input_blob?.bytes).toBeGreaterThan(300_000)
  })

  test.each([
    ['without a name', { ...started, tool: '' }],
    ['whose name is not a string', { ...started, tool: 7 }],
    ['without an id', { ...started, call_id: undefined }],
    ['whose name is too long', { ...started, tool: 'x'.repeat(limits.callNameCharactersMax + 1) }],
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
    [
      'an object that JSON cannot express',
      { at: new Date(0), f: () => 0 },
      { at: '1970-01-01T00:00:00.000Z' },
    ],
  ])('whose input is %s is recorded with an object', async (_, input, stored) => {
    await turn([{ ...started, input }, DONE])
    expect(records('program.tool_started')).toMatchObject([{ input: stored }])
  })
})

describe('a note of the program', () => {
  const note = { type: 'note', text: 'the model is asked again' }

  test('is shown at once, and is in the log without an append of its own', async () => {
    await turn([DONE])
    const before = appendsOf(session)
    await turn([DONE])
    const plain = appendsOf(session) - before
    const notes: string[] = []
    await turn([note, note, DONE], { ports: { note: (text) => void notes.push(text) } })
    expect(notes).toEqual([note.text, note.text])
    expect(records('program.note').map(({ content }) => content)).toEqual(notes)
    expect(appendsOf(session)).toBe(before + 2 * plain)
  })

  test('is in the log in its place among the tools', async () => {
    const tool = { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: {} }
    await turn([note, tool, DONE])
    const ofProgram = kindsOf(session).filter((kind) => kind.startsWith('program.'))
    expect(ofProgram).toEqual(['program.note', 'program.tool_started'])
  })

  test('is in the log of a turn that fails after it', async () => {
    await turn([note, LIMITED])
    expect(records('program.note')).toHaveLength(1)
  })

  test('is only shown once the log has very many of the turn', async () => {
    const notes: string[] = []
    const events = Array.from({ length: limits.notesRecordedMax + 3 }, () => note)
    await turn([...events, DONE], { ports: { note: (text) => void notes.push(text) } })
    expect(notes).toHaveLength(limits.notesRecordedMax + 3)
    expect(records('program.note')).toHaveLength(limits.notesRecordedMax)
  })
})

describe('the output of the program', () => {
  const piece = (text: string, stream = 'stderr'): object => ({ type: 'output', stream, text })
  const output = (): object[] =>
    records('program.output').map(({ stream, content, left_out }) => ({
      stream,
      content: session.text(content),
      ...(left_out === undefined ? {} : { left_out }),
    }))

  test('is in the log of a turn that fails, in the append of its failure', async () => {
    await turn([LIMITED])
    const plain = appendsOf(session)
    session = await newSession(tempStore())
    await turn([piece('no '), piece('half', 'stdout'), piece('key'), LIMITED])
    expect(output()).toEqual([
      { stream: 'stdout', content: 'half' },
      { stream: 'stderr', content: 'no key' },
    ])
    expect(appendsOf(session)).toBe(plain)
  })

  test('is in the log of a turn that ends well, before its reply', async () => {
    const shown: string[] = []
    const ports = { onProgress: (progress: { type: string }) => void shown.push(JSON.stringify(progress)) }
    await turn([piece('careful'), DONE], { ports })
    const kinds = kindsOf(session)
    expect(kinds.indexOf('program.output')).toBe(kinds.indexOf('message.agent') - 1)
    expect(shown).toEqual(['{"type":"stderr","text":"careful"}'])
  })

  test('is limited to the last 64 KiB of stderr, from a whole character on', async () => {
    const long = 'ü'.repeat(50_000)
    await turn([piece('begin'), piece(`${long}!`), piece(''), DONE])
    const kept = (limits.stderrBytesKept - 2) / 2
    expect(output()).toEqual([
      { stream: 'stderr', content: `${'ü'.repeat(kept)}!`, left_out: 5 + 100_000 - 2 * kept },
    ])
  })

  test('is in a blob if it has megabytes', async () => {
    await turn([piece('x'.repeat(3_000_000), 'stdout'), LIMITED])
    expect(records('program.output')).toMatchObject([{ content: { bytes: 3_000_000 } }])
  })

  test('off the contract fails the turn', async () => {
    const run = await turn([piece('x', 'paper'), DONE])
    expect(run.error?.message).toBe('the provider broke its contract: output without a stream or text')
  })
})

describe('a program that asks', () => {
  test('is released with its state, and its run is parked with a token', async () => {
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

  test('receives the decision about its question, once', async () => {
    const { provider, prompts, answers } = program([WAIT], [DONE], [DONE])
    const parked = await runTurn(session, provider)
    const run = await runTurn(session, provider, decision(parked, 'deny', 'no'))
    expect(run).toMatchObject({ status: 'completed', run_id: parked.run_id })
    await runTurn(session, provider, { prompt: 'next' })
    expect(answers).toEqual([{ decision: 'deny', text: 'no', asks: ASKS }])
    expect(prompts).toEqual(['hi', 'next'])
  })

  test('and is limited before it acts on the answer receives the answer again', async () => {
    const { provider, prompts, answers } = program([WAIT], [LIMITED], [DONE])
    const parked = await runTurn(session, provider)
    const limited = await runTurn(session, provider, decision(parked, 'approve'))
    expect(limited.wait?.kind).toBe('not_before')
    expect((await runTurn(session, provider, continuesTurn())).status).toBe('completed')
    expect(answers.map(({ decision }) => decision)).toEqual(['approve', 'approve'])
    expect(prompts).toEqual(['hi'])
  })

  test('and is limited after it acted on the answer receives the recovery prompt', async () => {
    const acts = { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: { command: 'make' } }
    const { provider, prompts, answers } = program([WAIT], [acts, LIMITED], [DONE])
    const parked = await runTurn(session, provider)
    await runTurn(session, provider, decision(parked, 'approve'))
    await runTurn(session, provider, continuesTurn())
    expect(answers).toHaveLength(1)
    expect(prompts).toEqual(['hi', expect.stringMatching(/interrupted.*hi/s)])
  })

  test('about large inputs has them shortened to fit a line', async () => {
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
    ['without questions', { type: 'wait', kind: 'approval' }, /a wait that asks for nothing$/],
    ['about no tool', { ...WAIT, asks: [{ call_id: 'n1' }] }, /a question \{ call_id: 'n1' \}$/],
    ['about null', { ...WAIT, asks: [null] }, /a question null$/],
  ])('%s fails its turn', async (_, event, sentence) => {
    const run = await turn([event])
    expect(run.error?.message).toMatch(sentence)
    expect(records('token.minted')).toEqual([])
  })

  test.each([
    ['replies', [WAIT, DONE]],
    ['asks again', [WAIT, WAIT]],
    ['had replied', [DONE, WAIT]],
  ])('and %s fails its turn', async (_, events) => {
    expect((await turn(events)).error?.message).toMatch(/an event after its end$/)
  })

  test('but has no method `answer` fails at the answer', async () => {
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

  test('with a rate limit is parked until its time, or for a minute without one', async () => {
    for (const [retry_after_ms, ms] of [
      [7_200_000, 7_200_000],
      [undefined, 60_000],
    ]) {
      const begun = Date.now()
      const { wait } = await runTurn(session, failing({ type: 'rate_limit', retry_after_ms }))
      const off = Date.parse(wait?.not_before ?? '') - begun - (ms as number)
      expect(off).toBeGreaterThanOrEqual(0)
      // The tolerance is the duration of the turn.
      expect(off).toBeLessThanOrEqual(Date.now() - begun)
    }
    expect(records('run.waiting')).toMatchObject([{ why: 'no more today' }, { why: 'no more today' }])
  })

  test.each(['overloaded', 'unreachable', 'timeout', 'crashed', 'session_lost', 'busy'])(
    'as %s is not retried: it has its own retries',
    async (type) => {
      const run = await runTurn(session, failing({ type }))
      expect(run).toMatchObject({ status: 'failed', error: { type, message: 'no more today' } })
    },
  )
})

describe('a conversation that was seeded', () => {
  const seed = (): void =>
    void session.append([{ kind: 'session.seeded', from: randomUUID(), content: 'SEED' }])

  test('precedes the prompt until a turn completes, and no later prompt', async () => {
    const { provider, prompts } = program([], [DONE], [DONE])
    seed()
    expect((await runTurn(session, provider)).status).toBe('failed')
    await runTurn(session, provider)
    await runTurn(session, provider)
    expect(prompts).toEqual(['SEED\n\nhi', 'SEED\n\nhi', 'hi'])
  })

  test('begins a new native session: the earlier native state is dropped', async () => {
    await turn([{ type: 'state', state: Buffer.from('lost') }, DONE])
    seed()
    expect(session.state.provider_state).toBeNull()
  })
})
