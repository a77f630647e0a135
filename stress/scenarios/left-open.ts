/** Agents as killed processes leave them: with the open run of one row of the recovery table. */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bootId, ownIdentity } from '../../src/host/identity.js'
import { digestOf } from '../../src/session/ids.js'
import { openForAppend, type Session } from '../../src/session/session.js'
import { openOrCreateHome } from '../../src/storage/open.js'
import { resolveAgent } from '../../src/tree/names.js'
import { reply } from '../../src/turn/step/records.js'
import { step } from '../../src/turn/step/step.js'
import type { RunRequest, ToolPolicy, TurnEvent } from '../../src/turn/step/turn-event.js'
import { mintToken } from '../../src/turn/tokens.js'
import { logOf, stateOf } from './homes.js'
import { effect } from './promises.js'
import type { Stage } from './stage.js'

const POLICY: ToolPolicy = { kindOf: (tool) => (tool === 'shell' ? 'program' : 'reads') }

/** Rows K and A have no open run. */
export type OpenRow = 'B' | 'C' | 'D' | 'E' | 'E reading' | 'F' | 'G' | 'H' | 'H2' | 'I' | 'J'

export interface LeftOpen {
  content: string
  /** The agent that sent the request by mail; the operator if undefined. */
  from?: string
}

export async function leaveOpen(
  stage: Stage,
  name: string,
  row: OpenRow,
  { content, from }: LeftOpen,
): Promise<void> {
  await leaveUnclean(stage, name, (session) => {
    const appendStep = (event: TurnEvent): void => {
      session.append(step(session.state, event, POLICY).records)
    }
    const provider = row === 'J' || row === 'B' || row === 'G' ? 'agent' : 'model'
    appendStep({ type: 'begin', provider, run: runRequest(content, from) })
    for (const event of EVENTS[row]) appendStep(event)
    if (row === 'G') session.append([reply({ run_id: runId(session), steps: 0 }, `answered: ${content}`)])
    if (row === 'F') session.append([resultOfShell(session)])
  })
}

function runId(session: Session): string {
  return session.state.run?.run_id as string
}

function runRequest(content: string, from?: string): RunRequest {
  const mail = {
    message_id: randomUUID(),
    from: from as string,
    mail_kind: 'request' as const,
    content,
    sent_at: new Date().toISOString(),
  }
  return {
    run_id: randomUUID(),
    boot_id: bootId(),
    prompt: from === undefined ? { origin: 'operator', content } : { origin: 'mail', mails: [mail] },
    key: null,
    digest: digestOf(content),
    turn_timeout_ms: null,
    allow: ['shell'],
    steps_max: null,
    sources: [],
  }
}

// No process has this id: the program died with its turn.
const GROUP = {
  process_group: 2 ** 22 - 1,
  start_time: 1,
  kernel_boot_id: ownIdentity().kernel_boot_id,
  pid_namespace: ownIdentity().pid_namespace,
}
/** The call ids of the rehearsal model. */
const CALL_ID = 'call_1_0'
const SHELL: TurnEvent = responseEvent({ call_id: CALL_ID, name: 'shell', input: { command: effect() } })
const READ: TurnEvent = responseEvent({ call_id: CALL_ID, name: 'read_file', input: { path: 'missing.txt' } })
const LAUNCHED: TurnEvent = { type: 'tool_launched', call_id: CALL_ID, group: GROUP }
const LIMITED: TurnEvent = {
  type: 'model_failed',
  error: { type: 'rate_limit', message: 'limited' },
  plan: { retryInMs: null, notBefore: '2026-01-01T00:00:00.000Z' },
}

const EVENTS: Record<OpenRow, TurnEvent[]> = {
  B: [],
  C: [],
  D: [SHELL],
  E: [SHELL, LAUNCHED],
  'E reading': [READ],
  F: [SHELL, LAUNCHED],
  G: [],
  H: [SHELL, parkEvent('2099-01-01T00:00:00.000Z')],
  H2: [LIMITED],
  I: [SHELL, parkEvent('2026-01-01T00:00:00.000Z')],
  J: [{ type: 'launched', group: GROUP }],
}

function responseEvent(call: { call_id: string; name: string; input: Record<string, unknown> }): TurnEvent {
  return { type: 'model_responded', reply: '', stop: 'tool_calls', usage: null, calls: [call] }
}

function parkEvent(expiresAt: string): TurnEvent {
  const asks = [{ call_id: CALL_ID, tool: 'shell', input: { command: effect() } }]
  return { type: 'parked', token: mintToken(expiresAt).token, asks }
}

/** Leaves out the model request that follows, as a killed recovery does. */
function resultOfShell(session: Session) {
  const of = { run_id: runId(session), call_id: CALL_ID, tool: 'shell' }
  return { kind: 'tool.finished' as const, ...of, content: 'Interrupted, outcome unknown', is_error: true }
}

/** Leaves the marker and writes no snapshot, as after a kill. */
function leaveUnclean(stage: Stage, name: string, work: (session: Session) => void): Promise<void> {
  return stage.act(async () => {
    const store = openOrCreateHome(stage.home)
    const session = await openForAppend(store, resolveAgent(store, name), { command: 'stress', waitMs: 0 })
    work(session)
    await session.abandon()
  })
}

/** Half a batch after the last complete one. */
export async function tear(stage: Stage, name: string): Promise<void> {
  await leaveUnclean(stage, name, () => undefined)
  const next = stateOf(stage.home, name).last_seq + 1
  const half = `{"seq":${next},"ts":"2026-11-20T10:00:00.000Z","kind":"session.activated","batch":[${next},`
  const log = logOf(stage.home, name)
  stage.put(log, Buffer.concat([readFileSync(log), Buffer.from(half)]))
}

/** Row K and its neighbour: a message whose file outlived its delivery, and one that no turn has received yet. */
export async function leaveDeliveredAndPending(stage: Stage, name: string): Promise<void> {
  const queue = async (text: string): Promise<void> => {
    await stage.do('suspend', name, '--hold')
    await stage.do('send', name, '--if-busy', 'queue', text)
  }
  await queue('delivered')
  const inbox = join(dirname(logOf(stage.home, name)), 'inbox')
  const file = join(inbox, (readdirSync(inbox) as [string])[0])
  const bytes = readFileSync(file)
  await stage.do('resume', name)
  await queue('pending')
  await leaveUnclean(stage, name, (session) => {
    session.append([{ kind: 'session.configured', hold: false }])
  })
  stage.put(file, bytes)
}
