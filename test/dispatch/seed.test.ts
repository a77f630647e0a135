/** The seed of a conversation. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { conversationText, seed, seedAgain } from '../../src/dispatch/seed.js'
import { limits } from '../../src/limits.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { programPrompt } from '../../src/turn/prompt/program-prompt.js'
import { appendTurn, beginning, newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

function text(): string | undefined {
  return conversationText(session.store, session.id, { continuesTurn: false })
}

/** The text between the tags, message by message. */
function said(): string[] {
  const [, between] = /<conversation>\n\n([^<]*)\n\n<\/conversation>$/.exec(text() ?? '') ?? []
  return (between ?? '').split('\n\n')
}

test('nothing was said: there is none', () => {
  expect(text()).toBeUndefined()
})

test('it has what both said, in order', () => {
  appendTurn(session, 'remember 17', 'noted')
  appendTurn(session, 'which?', '17')
  expect(said()).toEqual(['User: remember 17', 'You: noted', 'User: which?', 'You: 17'])
})

test('it has the mail of others, with who sent it, and not what substrat says to a program that was cut short', () => {
  appendTurn(session, 'hi', 'hello')
  const run_id = randomUUID()
  const from = randomUUID()
  const mail: NewRecord = {
    kind: 'mail.delivered',
    run_id,
    message_id: randomUUID(),
    from,
    from_path: 'lead',
    mail_kind: 'request',
    content: 'how far are you?',
    sent_at: '2026-11-20T10:00:00.000Z',
  }
  const told = beginning(session, run_id, 'Your turn was interrupted.').map((record) =>
    record.kind === 'message.user' ? { ...record, origin: 'continuation' as const } : record,
  )
  session.append([...told, mail])
  expect(said().slice(2)).toEqual(['Message from lead: how far are you?'])
})

test('it begins with the turn that began a new conversation', () => {
  appendTurn(session, 'remember 17', 'noted')
  const run_id = randomUUID()
  session.append(
    beginning(session, run_id, 'which?').map((record) =>
      record.kind === 'run.started' ? { ...record, fresh: true } : record,
    ),
  )
  expect(conversationText(session.store, session.id, { continuesTurn: true })).toBeUndefined()
  expect(said()).toEqual(['User: which?'])
})

describe('a turn that the model refused', () => {
  const refusal = (run_id: string): NewRecord => ({
    kind: 'run.failed',
    run_id,
    error: { type: 'refused', message: 'it will not' },
  })
  let run: string

  beforeEach(() => {
    appendTurn(session, 'hi', 'hello')
    run = randomUUID()
    session.append(beginning(session, run, 'the forbidden question'))
    const said: NewRecord = { kind: 'message.agent', message_id: randomUUID(), run_id: run, content: 'well' }
    session.append([said])
  })

  test('is left out, also where others come after it', () => {
    session.append([refusal(run), { kind: 'session.suspended', reason: 'idle' }])
    expect(said()).toEqual(['User: hi', 'You: hello'])
    appendTurn(session, 'another', 'fine')
    expect(said()).toEqual(['User: hi', 'You: hello', 'User: another', 'You: fine'])
  })

  test('in which tools had run has a notice in its place', () => {
    session.append([
      { kind: 'tool.started', run_id: run, call_id: 'c1', tool: 'Bash', input: {} },
      { kind: 'tool.finished', run_id: run, call_id: 'c1', tool: 'Bash', content: 'made', is_error: false },
      refusal(run),
    ])
    expect(said().slice(2)).toEqual([
      expect.stringMatching(/^\[substrat\] A turn is left out here\..*: Bash\./),
    ])
  })

  test('is included when that turn is retried', () => {
    session.append([refusal(run)])
    const again = randomUUID()
    session.append([{ ...startedRun(again), origin: 'continuation', continues: run, auto: false }])
    session.append([{ kind: 'message.agent', message_id: randomUUID(), run_id: again, content: 'so it is' }])
    expect(said().slice(2)).toEqual(['User: the forbidden question', 'You: well', 'You: so it is'])
  })

  test('that failed in any other way is in', () => {
    session.append([{ kind: 'run.failed', run_id: run, error: { type: 'crashed', message: 'it fell' } }])
    expect(said().slice(2)).toEqual(['User: the forbidden question', 'You: well'])
  })
})

test('an earlier seed from another agent is included, one from its own log is not', () => {
  const seeded = (from: string, content: string): NewRecord => ({ kind: 'session.seeded', from, content })
  session.append([seeded(randomUUID(), 'OF ANOTHER')])
  appendTurn(session, 'hi', 'hello')
  session.append([seeded(session.id, 'OF ITSELF')])
  expect(said()).toEqual(['Earlier: OF ANOTHER', 'User: hi', 'You: hello'])
})

test('a long conversation has its newest part, and the number of omitted messages', () => {
  const length = limits.seedBytesMax / 8
  for (let nth = 1; nth <= 12; nth++) appendTurn(session, `${nth} ${'x'.repeat(length)}`, `fine ${nth}`)
  const [left, ...kept] = said()
  expect(left).toBe('[… messages left out: 9 …]')
  expect(kept).toHaveLength(15)
  expect(kept.at(-1)).toBe('You: fine 12')
  expect(Buffer.byteLength(text() as string)).toBeLessThan(limits.seedBytesMax + 1000)
})

test('a message that is too long alone is there with its beginning and its end', () => {
  appendTurn(session, 'make a book', `Once upon a time ${'x'.repeat(2 * limits.seedBytesMax)} the end`)
  const [first, book] = said()
  expect(first).toBe('User: make a book')
  expect(book).toMatch(/^You: Once upon a time x+\n\[… \d+ bytes left out …\]\nx+ the end$/)
  expect(Buffer.byteLength(text() as string)).toBeLessThan(limits.seedBytesMax)
})

test('the conversation before a fork is included as far as it fits, after any later messages', async () => {
  for (let nth = 1; nth <= 10; nth++) appendTurn(session, `${nth} ${'é'.repeat(15_000)}`, `fine ${nth}`)
  const before = text() as string
  session = await newSession(tempStore())
  session.append([{ kind: 'session.seeded', from: randomUUID(), content: before }])
  appendTurn(session, `a long one ${'y'.repeat(limits.seedBytesMax / 4)}`, 'yes')
  for (const latest of ['yes', 'well']) {
    expect(text()).toMatch(/^[^é]*<conversation>\n\nEarlier: \[… its beginning is left out …\]\né+\n/)
    expect(text()).toContain('You: fine 10\n\n</conversation>\n\nUser: a long one')
    expect(text()).toMatch(new RegExp(`\\nYou: ${latest}\\n\\n</conversation>$`))
    const bytes = Buffer.byteLength(text() as string)
    expect(bytes).toBeGreaterThan(limits.seedBytesMax - 1000)
    expect(bytes).toBeLessThan(limits.seedBytesMax + 1000)
    appendTurn(session, 'more', 'well')
  }
})

describe('the continued turn', () => {
  test('is not included, because its prompt follows; nor is the turn that it continues', () => {
    appendTurn(session, 'hi', 'hello')
    const [first, second] = [randomUUID(), randomUUID()]
    session.append(beginning(session, first, 'build it'))
    session.append([{ kind: 'run.interrupted', run_id: first, reason: 'process_exit' }])
    session.append([{ ...startedRun(second), origin: 'continuation', continues: first }])
    const told = conversationText(session.store, session.id, { continuesTurn: true })
    expect(told).toContain('You: hello')
    expect(told).not.toContain('build it')
    expect(said()).toEqual(['User: hi', 'You: hello', 'User: build it'])
  })

  test('takes no room from the earlier conversation', () => {
    appendTurn(session, 'hi', `hello ${'x'.repeat(limits.seedBytesMax / 2)}`)
    session.append(beginning(session, randomUUID(), 'y'.repeat((limits.seedBytesMax * 3) / 4)))
    expect(conversationText(session.store, session.id, { continuesTurn: true })).toMatch(
      /User: hi\n\nYou: hello/,
    )
  })

  test('may be all that there is', () => {
    session.append(beginning(session, randomUUID(), 'build it'))
    expect(conversationText(session.store, session.id, { continuesTurn: true })).toBeUndefined()
  })
})

describe('a session that was begun with it', () => {
  const begun = (content: string): string => {
    const run_id = randomUUID()
    session.append([
      ...beginning(session, run_id, content),
      { kind: 'provider.state', run_id, state: 'bmF0' },
    ])
    return run_id
  }
  const seeds = (): number =>
    [...session.records({ seq: 1, offset: 0 })].filter(({ kind }) => kind === 'session.seeded').length

  beforeEach(() => {
    appendTurn(session, 'hi', 'hello')
    session.append([{ kind: 'session.seeded', from: session.id, content: text() as string }])
  })

  test('is replaced if nothing proves that it arrived; the new seed includes later messages', () => {
    seedAgain(session, { continuesTurn: false })
    expect(seeds()).toBe(1)
    const run_id = begun('build it')
    session.append([{ kind: 'run.failed', run_id, error: { type: 'crashed', message: 'it did' } }])
    seedAgain(session, { continuesTurn: false })
    expect(session.state).toMatchObject({ provider_state: null, isSeedDue: true })
    expect(session.text((session.recordAt(session.state.seed as never) as { content: string }).content)).toBe(
      text(),
    )
    expect(text()).toContain('User: build it')
    // Until that is tried.
    seedAgain(session, { continuesTurn: false })
    expect(seeds()).toBe(2)
  })

  test('includes the turn that it was made to continue only if another turn starts instead', () => {
    const run_id = randomUUID()
    session.append(beginning(session, run_id, 'remember 17'))
    seed(session, { continuesTurn: true })
    seedAgain(session, { continuesTurn: true })
    expect(seeds()).toBe(2)
    session.append([{ kind: 'run.cancelled', run_id, reason: 'superseded' }])
    for (let nth = 1; nth <= 2; nth++) seedAgain(session, { continuesTurn: false })
    expect(seeds()).toBe(3)
    session.append(beginning(session, randomUUID(), 'which?'))
    expect(programPrompt(session, false)).toMatch(/User: remember 17\n\n<\/conversation>\n\nwhich\?$/)
  })

  test.each<[string, (run_id: string) => NewRecord]>([
    [
      'used a tool',
      (run_id) => ({ kind: 'program.tool_started', run_id, call_id: 'n', tool: 'Bash', input: {} }),
    ],
    [
      'used one of ours',
      (run_id) => ({ kind: 'tool.started', run_id, call_id: 'n', tool: 'list', input: {} }),
    ],
    ['asked', (run_id) => ({ kind: 'run.waiting', run_id, wait: 'approval', asks: [] })],
  ])('counts as received if its program %s, for any outcome of the turn', (_, record) => {
    const run_id = begun('build it')
    session.append([record(run_id), { kind: 'run.cancelled', run_id, reason: 'cancelled' }])
    seedAgain(session, { continuesTurn: false })
    expect(session.state).toMatchObject({ provider_state: 'bmF0', isSeedDue: false })
  })
})
