/**
 * Whether an agent may take a turn, and if not, why and what to do next: the answer of every command and tool that says
 * so, for each state of an agent. `turn-answers.txt` holds the answers; `vitest -u` writes it anew.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { hasNoMoreTurns } from '../../src/dispatch/advance.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { runUntil } from '../../src/dispatch/run-until.js'
import type { SubstratError } from '../../src/errors.js'
import { limits } from '../../src/limits.js'
import { deliver } from '../../src/operations/deliver.js'
import { showAgent } from '../../src/operations/list-and-show.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import type { MessageRequest } from '../../src/operations/message/request.js'
import { recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import { waitForAgents } from '../../src/operations/wait.js'
import type { Interruption } from '../../src/schema/words.js'
import type { NewRecord } from '../../src/session/records.js'
import { openForAppend } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { copyOf } from '../support/killed.js'
import { posted } from '../support/mail.js'
import { sendRequest } from '../support/send-request.js'
import { newSession, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const TOKEN = '3b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const LATER = '2999-01-01T00:00:00.000Z'
const EARLIER = '2020-01-01T00:00:00.000Z'

const active: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const begun: NewRecord[] = [active, startedRun(RUN), userMessage(RUN, 'do it')]
const interrupted = (reason: Interruption): NewRecord[] => [
  ...begun,
  { kind: 'run.interrupted', run_id: RUN, reason },
]
const parked = (wait: 'approval' | 'input', deadline_at: string): NewRecord[] => [
  ...begun,
  { kind: 'token.minted', run_id: RUN, token_id: TOKEN, hash: 'h', expires_at: deadline_at },
  { kind: 'run.waiting', run_id: RUN, wait, token_id: TOKEN, deadline_at },
]
const limited = (not_before: string): NewRecord[] => [
  ...begun,
  { kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before },
]
/** A turn that commands have continued as often as they do without being asked. */
const exhausted = (): NewRecord[] => {
  const records = interrupted('process_exit')
  let continues = RUN
  for (let attempt = 0; attempt < limits.barrenAttemptsMax; attempt++) {
    const run = { ...startedRun(randomUUID()), origin: 'continuation' as const, continues, auto: true }
    records.push(run, { kind: 'run.interrupted', run_id: run.run_id, reason: 'process_exit' })
    continues = run.run_id
  }
  return records
}
const gated: NewRecord = { kind: 'agent.gated', message_id: randomUUID(), from: 'operator' }
const permitted: NewRecord = { kind: 'agent.permitted', message_id: randomUUID(), from: 'operator' }
const poked: NewRecord = { kind: 'agent.poked', message_id: randomUUID(), from: 'operator' }
const held: NewRecord = { kind: 'session.configured', hold: true }

const failed: NewRecord[] = [
  ...begun,
  { kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'm' } },
]

const TURNS: [string, NewRecord[]][] = [
  ['no turn yet', []],
  ['a turn that completed', [...begun, replied(RUN, 'done'), completedRecord(RUN, null)]],
  ['a turn that failed', failed],
  ['a turn that failed, poked', [...failed, poked]],
  ['a cancelled turn', [...begun, { kind: 'run.cancelled', run_id: RUN, reason: 'cancelled' }]],
  ['a turn whose process died', interrupted('process_exit')],
  ['a turn whose process died, poked', [...interrupted('process_exit'), poked]],
  ['a turn continued in vain too often', exhausted()],
  ['a turn continued in vain too often, poked', [...exhausted(), poked]],
  ['a suspended turn', interrupted('suspended')],
  ['a suspended turn, poked', [...interrupted('suspended'), poked]],
  ['a tool of unknown outcome', interrupted('unknown_tool')],
  ['a program that may still run', interrupted('program_alive')],
  ['a program that may still run, poked', [...interrupted('program_alive'), poked]],
  ['a wait that timed out', interrupted('wait_timeout')],
  ['a turn left open', begun],
  ['a turn that waits for approval', parked('approval', LATER)],
  ['a turn that waits for an answer', parked('input', LATER)],
  ['a turn that waited too long', parked('approval', EARLIER)],
  ['a turn that waits for a time', limited(LATER)],
  ['a turn whose time has come', limited(EARLIER)],
]

const BARS: [string, NewRecord[]][] = [
  ['free', []],
  ['on hold', [held]],
  ['gated', [gated]],
  ['gated, one turn permitted', [gated, permitted]],
  ['on hold and gated', [held, gated]],
  ['terminated', [{ kind: 'session.terminated' }]],
]

const INBOXES = ['nothing', 'a message', 'a message for later'] as const

interface Home {
  store: FileStore
  id: string
}

async function homeWith(records: NewRecord[], inbox: (typeof INBOXES)[number]): Promise<Home> {
  const store = tempStore()
  const session = await newSession(store, { name: 'bot', provider: 'nowhere' }, AGENT)
  const { id } = session
  if (records.length > 0) session.append(records.filter((record) => record.kind !== 'session.terminated'))
  if (inbox !== 'nothing') posted(store, id, 'hi', { not_before: inbox === 'a message' ? null : LATER })
  if (records.at(-1)?.kind === 'session.terminated') session.append(records.slice(-1))
  await session.close(() => true)
  return { store, id }
}

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

type Answer = (home: Home) => unknown

const said = (error: SubstratError | undefined): string =>
  error === undefined ? 'nothing' : `${error.code}: ${error.message} [${error.hint ?? ''}]`

/**
 * The report of an operation. The provider does not exist, so a turn that would begin is refused and nothing is stored.
 */
async function outcomes(
  act: (tell: (outcome: unknown) => void) => Promise<unknown>,
  notes: string[],
): Promise<unknown> {
  const told: unknown[] = []
  try {
    await act((outcome) => told.push(outcome))
  } catch (error) {
    told.push(
      (error as SubstratError).code === 'PROVIDER_NOT_FOUND' ? 'a turn' : said(error as SubstratError),
    )
  }
  return [...told, ...notes]
    .map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    .join(' | ')
}

const ofOutcome = ({ result, failure }: Outcome): unknown =>
  `${result.run?.status ?? 'no run'}, ${said(failure)}`

const sending =
  (over: Partial<MessageRequest>): Answer =>
  ({ store, id }) => {
    const { ctx, notes } = contextAt(store, { drains: false })
    const request = sendRequest(id, { content: 'new', ifBusy: 'fail', ifWaiting: 'fail', ...over })
    return outcomes((tell) => deliverMessage(ctx, request, (outcome) => tell(ofOutcome(outcome))), notes)
  }

const waiting =
  (until: 'idle' | 'waiting' | 'any'): Answer =>
  ({ store, id }) => {
    const { ctx, notes } = contextAt(store)
    const request = { agentIds: [id], until, drains: false, timeoutMs: 0 }
    return outcomes(
      (tell) => waitForAgents(ctx, request, (_, failure) => tell(said(failure))),
      notes,
    ).finally(() => ctx.shutdown.close())
  }

/** They write nothing. */
const LOOKS: Record<string, Answer> = {
  status: ({ store, id }) => showAgent(store, id).agent.status,
  'show, next': ({ store, id }) => showAgent(store, id).next,
  'after a turn': ({ store, id }) => contextAt(store).ctx.deliveries.hasWork(id),
  'wait --for any': waiting('any'),
  'wait --for idle': waiting('idle'),
  'wait --for waiting': waiting('waiting'),
}

const ACTS: Record<string, Answer> = {
  'turns for mail': async ({ store, id }) => {
    const session = await openForAppend(store, id, { command: 'test', waitMs: 0 })
    const answer = !hasNoMoreTurns(contextAt(store).ctx, session)
    await session.close(() => true)
    return answer
  },
  'a wait in place': ({ store, id }) => {
    const { ctx } = contextAt(store, { drains: false })
    const stop = new AbortController()
    let asked = 0
    const isAnswered = (): boolean => {
      asked += 1
      if (asked > 4) stop.abort()
      return false
    }
    return runUntil(ctx, id, isAnswered, stop.signal)
  },
  send: sending({}),
  'send --if-busy queue': sending({ ifBusy: 'queue', ifWaiting: 'queue' }),
  'send --queue': sending({ isQueued: true }),
  deliver: ({ store, id }) => {
    const { ctx, notes } = contextAt(store)
    const told = (tell: (outcome: unknown) => void) =>
      deliver(ctx, { all: false, agentIds: [id] }, ({ status, inbox }, failure) =>
        tell(`${status}, ${inbox} pending, ${said(failure)}`),
      )
    return outcomes(told, notes)
  },
  recover: ({ store, id }) => {
    const { ctx, notes } = contextAt(store)
    return outcomes(
      (tell) =>
        recover(ctx, { all: false, agents: [id] }, 'all', ({ outcome }, failure, words) =>
          tell(`${outcome}, ${words}, ${said(failure)}`),
        ),
      notes,
    )
  },
  resume: ({ store, id }) => {
    const { ctx, notes } = contextAt(store)
    return outcomes(
      (tell) => resume(ctx, id, { reseed: false }, (outcome) => tell(ofOutcome(outcome))),
      notes,
    )
  },
}

const scrubbed = (text: string): string =>
  text
    .replaceAll(AGENT, 'AGENT')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/20(?:2[1-9]|[3-9]\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'NOW')

/** The distinct answers of each place. A row of the table names them by their numbers. */
class Answers {
  private readonly seen = new Map<string, Map<string, number>>()

  numberOf(place: string, answer: unknown): number {
    const text = scrubbed(typeof answer === 'string' ? answer : JSON.stringify(answer))
    const known = this.seen.get(place) ?? new Map<string, number>()
    this.seen.set(place, known)
    known.set(text, known.get(text) ?? known.size)
    return known.get(text) as number
  }

  get legend(): string[] {
    return [...this.seen].flatMap(([place, known]) => [
      place,
      ...[...known].map(([text, number]) => `${String(number).padStart(4)} ${text}`),
    ])
  }
}

interface Situation {
  name: string
  records: NewRecord[]
  inbox: (typeof INBOXES)[number]
}

/** Each turn is free, and behind every other bar: the next turn has the others. */
function barsOf(turn: number): typeof BARS {
  return BARS.filter((_, bar) => bar === 0 || (bar + turn) % 2 === 0)
}

function situations(): Situation[] {
  return TURNS.flatMap(([turn, records], index) =>
    barsOf(index).flatMap(([bar, more]) =>
      INBOXES.map((inbox) => ({
        name: `${turn}; ${bar}; ${inbox}`,
        records: [...records, ...more],
        inbox,
        bar,
      })),
    ),
  ).filter(
    ({ records, inbox, bar }) =>
      (inbox !== 'a message for later' || bar === 'free') && !(bar === 'terminated' && isOpen(records)),
  )
}

/** An agent is terminated only after its turn has ended. */
function isOpen(records: NewRecord[]): boolean {
  const ends = ['run.completed', 'run.failed', 'run.cancelled', 'run.interrupted']
  const of = (kinds: string[]): number => records.filter(({ kind }) => kinds.includes(kind)).length
  return of(['run.started']) > of(ends)
}

test('every place answers as the table says', { timeout: 600_000 }, async () => {
  const answers = new Answers()
  const rows: string[] = []
  for (const { name, records, inbox } of situations()) {
    const home = await homeWith(records, inbox)
    const row: number[] = []
    for (const [place, look] of Object.entries(LOOKS)) row.push(answers.numberOf(place, await look(home)))
    if (inbox !== 'nothing')
      for (const [place, act] of Object.entries(ACTS))
        row.push(answers.numberOf(place, await act({ ...home, store: copyOf(home.store) })))
    rows.push(`${name}: ${row.join(' ')}`)
  }
  const places = [...Object.keys(LOOKS), ...Object.keys(ACTS)].join(', ')
  const table = `${[...answers.legend, '', places, ...rows].join('\n')}\n`
  await expect(table).toMatchFileSnapshot('turn-answers.txt')
})
