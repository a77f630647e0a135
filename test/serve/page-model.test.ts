/** The models of the page: from records to a conversation, to a timeline, to the points of a plot. */
import { describe, expect, test } from 'vitest'
import { Problem } from '../../plugins/serve/page/src/api/problem.js'
import type { SessionRecord } from '../../plugins/serve/page/src/api/types.js'
import { conversationOf } from '../../plugins/serve/page/src/model/conversation.js'
import { isLate } from '../../plugins/serve/page/src/model/live-text.js'
import { fieldOf } from '../../plugins/serve/page/src/model/new-agent.js'
import { toldOf } from '../../plugins/serve/page/src/model/problem-words.js'
import { agoText, dateText, limitText, withLocalTimes } from '../../plugins/serve/page/src/model/time.js'
import { ticksIn, timelineOf } from '../../plugins/serve/page/src/model/timeline.js'
import { treeRows } from '../../plugins/serve/page/src/model/tree.js'
import { daysOf, niceCeiling } from '../../plugins/serve/page/src/model/usage.js'
import { House } from '../support/cli.js'

const START = Date.parse('2026-11-23T10:00:00.000Z')

/** Records at these seconds, with the fields that the models read. */
function recordsOf(...given: [number, string, object?][]): SessionRecord[] {
  return given.map(([second, kind, fields], index) => ({
    seq: index + 1,
    ts: new Date(START + second * 1000).toISOString(),
    kind,
    run_id: 'r',
    ...fields,
  })) as unknown as SessionRecord[]
}

const inSeconds = (at: number): number => (at - START) / 1000

function drawn(records: SessionRecord[], now: number): string[] {
  const { bars, marks } = timelineOf(records, START + now * 1000)
  return [
    ...bars.map(({ lane, line, from, to, tone, word, isOpen }) =>
      [lane, line, `${inSeconds(from)}-${inSeconds(to)}`, tone, word, ...(isOpen ? ['open'] : [])].join(' '),
    ),
    ...marks.map(({ at, kind }) => `${kind} ${inSeconds(at)}`),
  ]
}

describe('an error', () => {
  const of = (code: string, status: number | undefined, next: string | null, message = 'agent a is busy') =>
    toldOf(new Problem(message, code, status, next))

  test('has the next step on the page, not the advice for programs', () => {
    expect(of('LOCKED', 423, 'wait for it: substrat send a --if-busy wait')).toEqual({
      text: 'Agent a is busy.',
      next: ['Another command works with this agent now. Try again in a moment.'],
    })
    expect(of('USAGE', 400, 'see /v1/openapi.json').next).toEqual([''])
    expect(toldOf(new TypeError('x is undefined')).next).toEqual(['Reload the page.'])
  })

  test('has no field of a request', () => {
    expect(
      of('GATED', 409, 'ungate it: substrat ungate a; or queue the message: "queue": true').next,
    ).toEqual(['Ungate it: ', 'substrat ungate a', ''])
  })

  test('keeps a command for a terminal apart from the words', () => {
    expect(of('GATED', 409, 'ungate it: substrat ungate a').next).toEqual([
      'Ungate it: ',
      'substrat ungate a',
      '',
    ])
  })

  test('names the fields of the page, not the flags of the command', () => {
    expect(of('USAGE', 400, 'create it first, or choose another: --workspace DIR')).toMatchObject({
      next: ['Create it first, or choose another.'],
    })
    const noKey = 'no API key: set OPENAI_API_KEY, or use --option key_env=… or key_file=…'
    expect(of('PROVIDER_MISCONFIGURED', 502, 'substrat providers', noKey)).toEqual({
      text: 'No API key: set OPENAI_API_KEY, or use the option key_env or key_file=…',
      next: ['Run at a terminal: ', 'substrat providers', ''],
    })
    expect(of('USAGE', 400, null, '--allow: there is no tool x').text).toBe(
      '“Runs without approval”: there is no tool x.',
    )
    expect(of('USAGE', 400, null, '--turn-timeout: "x" is not a duration').text).toBe(
      '“Turn timeout”: "x" is not a duration.',
    )
  })

  test('has the times of the reader', () => {
    const at = '2026-11-28T21:05:33.250Z'
    const local = dateText(at)
    for (const time of [at, '2026-11-28 21:05:33Z', '2026-11-28 22:05:33+01:00'])
      expect(of('LOCKED', 423, null, `held since ${time}`).text).toBe(`Held since ${local}.`)
    expect(withLocalTimes('the version 2026-11-28 and 2026-99-99 21:05:33Z')).toBe(
      'the version 2026-11-28 and 2026-99-99 21:05:33Z',
    )
  })

  test('belongs to the field that the server or its message names', () => {
    const at = (code: string, message: string, param?: string) =>
      fieldOf(new Problem(message, code, 400, null, param === undefined ? {} : { param }))
    expect(at('USAGE', 'the body is not valid', 'workspace')).toBe('workspace')
    expect(at('NAME_TAKEN', 'agent a exists')).toBe('name')
    expect(at('USAGE', 'workspace /x does not exist')).toBe('workspace')
    expect(at('USAGE', 'the disk is full')).toBeUndefined()
  })
})

test('a time is rounded to the nearest unit', () => {
  const at = (seconds: number): string => agoText(new Date(START + seconds * 1000).toISOString(), START)
  expect([7 * 86_400 - 4, 2 * 3600 - 60, 5 * 3600 - 5, -90, -3599, 40].map(at)).toEqual([
    ...['in 7 days', 'in 2 hr.', 'in 5 hr.', '1 min. ago', '1 hr. ago', 'in 40 sec.'],
  ])
})

test('reasoning is counted in bytes', () => {
  const items = [{ type: 'thinking', thinking: 'é'.repeat(100) }]
  const [reasoning] = conversationOf(recordsOf([0, 'model.responded', { items, calls: [] }]))
  expect(reasoning).toMatchObject({ bytes: Buffer.byteLength(JSON.stringify(items)) })
})

describe('a question', () => {
  const input = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] }
  const asks = [{ call_id: 'q', tool: 'ask_operator', input }]
  const asked: [number, string, object?][] = [
    [0, 'run.started', {}],
    [1, 'model.responded', { calls: [{ call_id: 'q', name: 'ask_operator', input }] }],
    [1, 'run.waiting', { wait: 'input', asks }],
    // The answer renews the token first.
    [8, 'run.waiting', { wait: 'input', asks }],
    [8, 'token.consumed', { decision: 'input' }],
    [8, 'run.resumed', { token_id: 't' }],
  ]
  const answered = recordsOf(...asked, [
    8,
    'tool.finished',
    { call_id: 'q', tool: 'ask_operator', content: 'The B', is_error: false },
  ])
  const ofProgram = recordsOf(...asked, [8, 'wait.answered', { decision: 'input', content: 'The B', asks }])

  test('is shown with its choices, and its answer as a message of the reader', () => {
    expect(conversationOf(answered)).toMatchObject([
      { type: 'tool', tool: 'ask_operator', summary: 'Which? (A, B)', state: 'done' },
      { type: 'event', text: 'Waits: question (ask_operator)' },
      { type: 'message', from: 'you', text: 'The B' },
    ])
    expect(conversationOf(ofProgram).at(-1)).toMatchObject({ type: 'message', from: 'you', text: 'The B' })
  })

  test('is one wait of the timeline, with its answer', () => {
    for (const records of [answered, ofProgram])
      expect(drawn(records, 9).filter((bar) => bar.startsWith('wait'))).toEqual([
        'wait 0 1-8 wait question, answered: The B',
      ])
  })
})

describe('a timeline', () => {
  test('shows a turn, its requests, and tools that run at the same time on lines of their own', () => {
    const records = recordsOf(
      [0, 'run.started', {}],
      [0, 'model.requested'],
      [2, 'model.responded', { calls: [] }],
      [2, 'tool.started', { call_id: 'a', tool: 'shell' }],
      [3, 'tool.started', { call_id: 'b', tool: 'read_file' }],
      [4, 'tool.finished', { call_id: 'b', is_error: true }],
      [5, 'tool.finished', { call_id: 'a', is_error: false }],
      [6, 'run.completed'],
    )
    expect(drawn(records, 9)).toEqual([
      'request 0 0-2 good answered',
      'turn 0 0-6 good turn 1, completed',
      'tool 0 2-5 good shell',
      'tool 1 3-4 bad read_file',
    ])
  })

  test('ends the bars of a killed process with its last record, and shows the gap until it continued', () => {
    const records = recordsOf(
      [0, 'run.started', {}],
      [1, 'model.requested'],
      [60, 'run.interrupted', { reason: 'process_exit' }],
      [90, 'run.resumed', { auto: false, attempt: 1 }],
      [91, 'model.requested'],
    )
    expect(drawn(records, 95)).toEqual([
      'turn 0 0-1 bad turn 1, interrupted: its process died',
      'request 0 1-1 bad request',
      'gap 0 1-90 bad its process died',
      'turn 0 90-95 run turn 1 open',
      'request 0 91-95 run request open',
      'kill 1',
      'continuation 90',
    ])
  })

  test('shows a kill that no record names: the turn continued without an end before', () => {
    const records = recordsOf([0, 'run.started', {}], [1, 'model.requested'], [9, 'run.resumed', {}])
    expect(drawn(records, 9)).toContain('kill 1')
    expect(drawn(records, 9)).toContain('gap 0 1-9 bad its process died')
  })

  test('shows a wait until its decision, and no kill', () => {
    const records = recordsOf(
      [0, 'run.started', {}],
      [1, 'run.waiting', { wait: 'approval', asks: [] }],
      [8, 'token.consumed', { decision: 'approve' }],
      [8, 'run.resumed', { token_id: 't' }],
      [9, 'run.cancelled', { reason: 'cancelled' }],
    )
    expect(drawn(records, 9)).toEqual([
      'turn 0 0-1 wait turn 1',
      'wait 0 1-8 wait approval, approved',
      'turn 0 8-9 calm turn 1, cancelled: another command cancelled it',
    ])
  })

  test('has round times on its axis, and never more than there is room for', () => {
    expect(ticksIn(START, START + 10_000, 3).map(inSeconds)).toEqual([0, 5, 10])
    expect(ticksIn(START + 1, START + 4601, 3).map(inSeconds)).toEqual([2, 4])
    for (const width of [20, 3000, 86_400_000, 4e11])
      expect(ticksIn(START, START + width, 8).length).toBeLessThanOrEqual(9)
  })

  test('has the turn and the request of a real log', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const { bars } = timelineOf(house.records(id) as unknown as SessionRecord[], Date.now())
    const shown = bars.map(({ lane, tone }) => `${lane} ${tone}`)
    expect(shown.sort()).toEqual(['request good', 'turn good'])
  })
})

describe('a conversation', () => {
  test('has one entry for a tool call, with its input, its output and its time', () => {
    const calls = [{ call_id: 'a', name: 'shell', input: { command: 'ls' } }]
    const entries = conversationOf(
      recordsOf(
        [0, 'message.user', { origin: 'operator', content: 'go' }],
        [1, 'model.responded', { calls, items: [{ type: 'thinking', thinking: 'look first' }] }],
        [2, 'tool.started', { call_id: 'a', tool: 'shell' }],
        [5, 'tool.finished', { call_id: 'a', tool: 'shell', content: 'notes.md', is_error: false }],
        [6, 'message.agent', { content: { blob: 'x', bytes: 90_000 } }],
      ),
    )
    expect(entries).toMatchObject([
      { type: 'message', from: 'you', text: 'go' },
      { type: 'reasoning', text: 'look first' },
      { type: 'tool', summary: 'ls', state: 'done', output: 'notes.md', tookMs: 3000 },
      { type: 'message', from: 'agent', text: expect.stringContaining('substrat log') },
    ])
  })

  test('has an item for a call of a program, although its input is large and its id was used before', () => {
    const input_blob = { blob: 'x', bytes: 90_000 }
    const items = conversationOf(
      recordsOf(
        [0, 'program.tool_started', { call_id: '1', tool: 'Bash', input: { command: 'ls' } }],
        [1, 'tool.started', { call_id: '1', tool: 'send_message', input_blob }],
      ),
    )
    expect(items).toMatchObject([
      { type: 'tool', tool: 'Bash', summary: 'ls' },
      { type: 'tool', tool: 'send_message', summary: '(large)', state: 'running' },
    ])
  })
})

describe('a tree', () => {
  const agent = (id: string, parent: string | null) => ({ id, parent, path: id, status: 'idle' }) as never
  const agents = [agent('a', null), agent('b', 'a'), agent('c', 'b'), agent('d', 'gone')]
  const shown = (closed: string[], wanted?: (agent: { id: string }) => boolean): string[] =>
    treeRows(agents, new Set(closed), wanted).map(({ agent, level }) => `${agent.id}${level}`)

  test('has children below their parents, and agents without a listed parent on top', () => {
    expect(shown([])).toEqual(['a1', 'b2', 'c3', 'd1'])
    expect(shown(['b'])).toEqual(['a1', 'b2', 'd1'])
  })

  test('is a flat list while it is filtered', () => {
    expect(shown(['a'], ({ id }) => id > 'b')).toEqual(['c1', 'd1'])
  })
})

test('the end of a rate limit is in the future or in the past, as the clock says', () => {
  const at = (seconds: number): string => limitText(new Date(START + seconds * 1000).toISOString(), START)
  expect(at(45)).toMatch(/^It can continue in 45 sec/)
  expect(at(2)).toBe('It can continue in a moment.')
  expect(at(-2)).toBe('The limit ended just now; the next substrat deliver continues the turn.')
  expect(at(-45)).toMatch(/^The limit ended 45 sec.* ago; the next substrat deliver continues the turn\.$/)
})

test('a plot has every day of its period, and a scale of round numbers', () => {
  const rows = [{ day: '2026-11-22', input_tokens: 5, output_tokens: 2 }] as never
  const days = daysOf(rows, 3, new Date('2026-11-23T10:00:00Z'))
  expect(days.map(({ day, input }) => `${day} ${input}`)).toEqual([
    '2026-11-21 0',
    '2026-11-22 5',
    '2026-11-23 0',
  ])
  expect([1, 7, 33, 95, 1234].map(niceCeiling)).toEqual([4, 8, 40, 100, 2000])
})

describe('live text that comes after a record', () => {
  test.each<[string, string[], boolean]>([
    ['of a request that is open', ['run.started', 'model.requested'], false],
    [
      'of a request whose reply is recorded',
      ['run.started', 'model.requested', 'message.agent', 'model.responded'],
      true,
    ],
    ['of the next request', ['run.started', 'model.requested', 'model.failed', 'model.requested'], false],
    ['of a program after its first words', ['run.started', 'provider.started', 'message.agent'], false],
    ['of a turn that has ended', ['run.started', 'provider.started', 'message.agent', 'run.completed'], true],
    ['of a turn that continues', ['run.started', 'run.interrupted', 'run.resumed'], false],
    ['of a turn without a record', [], false],
  ])('is shown unless the record has replaced it: %s', (_, kinds, late) => {
    const records = recordsOf(...kinds.map((kind, second): [number, string] => [second, kind]))
    expect(isLate(records, 'r')).toBe(late)
    expect(isLate(records, 'another')).toBe(false)
  })
})
