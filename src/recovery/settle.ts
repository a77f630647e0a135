/**
 * What every writing command does first with a session that a dead process may have left: the table, carried out by
 * ordinary records. Afterwards the session is at rest, or has an open run that its caller goes on with.
 *
 * Invariants: there is exactly one `run.interrupted` per run, however often this runs or is itself killed. A second
 * settle changes nothing. Nothing edits a log.
 */
import { inTime, timestampAfter } from '../clock.js'
import { assert } from '../errors.js'
import { limits } from '../limits.js'
import { removeDelivered } from '../mail/inbox.js'
import type { ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { type KillOutcome, killLeftGroup } from '../provider/program.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { Interruption, NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run, State } from '../session/state.js'
import type { Status } from '../session/status.js'
import { ownIdentity } from '../storage/identity.js'
import { revoked } from '../turn/step-calls.js'
import { completed, reply } from '../turn/step-records.js'
import type { ToolPolicy } from '../turn/turn-event.js'
import { diagnose, RECOVERY_TABLE, type Row } from './table.js'

/** How long a provider may look into its own store: one that hangs must not hold the lock of an agent for ever. */
const INSPECT_MS_MAX = 10_000

export interface SettleOptions {
  providers: ProviderRegistry
  policy: ToolPolicy
  /** After a tool of unknown outcome: wait for a person, or let the model look for itself. */
  unknownTool: 'stop' | 'continue'
  /** Whether the caller goes on with an open run; else it is marked as interrupted. */
  goesOn: boolean
  note(text: string): void
}

export interface Settled {
  row: Row
  /** A program of the run may live on where it cannot be killed: nothing goes on there by itself. */
  hasStranger: boolean
}

export async function settle(session: Session, options: SettleOptions): Promise<Settled> {
  session.store.sweepAgent(session.id)
  removeDelivered(session)
  const row = diagnose(session.state, timestampAfter(session.state.updated_at))
  const hasStranger = await killPrograms(session, options)
  switch (RECOVERY_TABLE[row].action) {
    case 'none':
    case 'keep':
      break
    case 'close':
      session.append([completed(openRun(session).run_id, openRun(session).usage)])
      break
    case 'inspect':
      await settleProgram(session, options, hasStranger)
      break
    case 'settle_tools':
      settleTools(session, options, hasStranger)
      break
    case 'expire':
      session.append(expired(session.state, openRun(session)))
      break
    case 'go_on':
      if (!options.goesOn) session.append(interrupted(openRun(session)))
      break
  }
  const { state } = session
  if (state.state === 'active' && (state.run?.status !== 'open' || state.run.wait !== null)) {
    session.append([{ kind: 'session.suspended', reason: 'recovery' }])
  }
  return { row, hasStranger }
}

/** Ends the open run as interrupted by the death of its process. */
export function interrupted(run: Run): NewRecord[] {
  const diedWith = run.boot_id.split('/')[0]
  const reason = diedWith === ownIdentity().kernel_boot_id ? 'process_exit' : 'process_restart'
  return interruption(run, reason, 'interrupted_startup')
}

/** Row I. */
function expired(state: State, run: Run): NewRecord[] {
  return [...revoked(state, run, 'expired'), ...interruption(run, 'wait_timeout', 'interrupted_waiting')]
}

function interruption(run: Run, reason: Interruption, status: Status): NewRecord[] {
  return [
    { kind: 'run.interrupted', run_id: run.run_id, reason },
    { kind: 'status.derived', status },
  ]
}

/**
 * Row E. A tool that only reads is run again by whoever goes on. Of any other nobody knows how far it came: that is its
 * result, and by the settings a person is asked first.
 */
function settleTools(
  session: Session,
  { policy, unknownTool, goesOn }: SettleOptions,
  hasStranger: boolean,
): void {
  const run = openRun(session)
  const unknown = run.calls.filter(
    ({ status, tool }) => status === 'started' && policy.kindOf(tool) !== 'reads',
  )
  const results = unknown.map(
    ({ call_id, tool }): NewRecord => ({
      kind: 'tool.finished',
      run_id: run.run_id,
      call_id,
      tool,
      content:
        'Interrupted, outcome unknown: the process that ran this was killed. Look at what it did before doing it again.',
      is_error: true,
    }),
  )
  if (unknown.length > 0 && (unknownTool === 'stop' || hasStranger)) {
    session.append([...results, ...interruption(run, 'unknown_tool', 'interrupted_startup')])
  } else if (!goesOn) session.append([...results, ...interrupted(run)])
  else session.append(results)
}

/** Every program that a dead process of the run left: of the agent, of its tools, of its tool servers. */
async function killPrograms(session: Session, { note }: SettleOptions): Promise<boolean> {
  const { run } = session.state
  if (run?.status !== 'open') return false
  const groups = [run.process, ...run.servers, ...run.calls.map(({ group }) => group)].filter(
    (group) => group !== null,
  )
  let hasStranger = false
  for (const group of groups) {
    const killed = await killLeftGroup(group, run.run_id)
    const remark = REMARKS[killed]
    if (remark !== undefined) note(`process group ${group.process_group} of the interrupted turn ${remark}`)
    hasStranger ||= killed === 'foreign' || killed === 'alive'
  }
  return hasStranger
}

/** Row J. The group is dead, or out of reach, before the program's store is read. */
async function settleProgram(
  session: Session,
  { providers, note }: SettleOptions,
  hasStranger: boolean,
): Promise<void> {
  const run = openRun(session)
  const finished = hasStranger ? undefined : await finishedReply(session, providers, note)
  session.append(
    finished === undefined ? interrupted(run) : [reply(run, finished), completed(run.run_id, null)],
  )
}

const REMARKS: Record<KillOutcome, string | undefined> = {
  gone: undefined,
  killed: 'was still there: killed it',
  foreign: 'is in another pid namespace: nothing was killed',
  alive: 'does not die: left it alone',
}

async function finishedReply(
  session: Session,
  providers: ProviderRegistry,
  note: (text: string) => void,
): Promise<string | undefined> {
  const { provider_state, provider_name } = session.state
  try {
    const provider = await providers.load(provider_name)
    assert(provider.kind === 'agent', 'a run that launched a program is of an agent provider')
    const state = provider_state === null ? null : Buffer.from(provider_state, 'base64')
    const inspection = await inTime(
      provider.inspect(state, settingsOf(session)),
      INSPECT_MS_MAX,
      'it did not answer',
    )
    if (inspection.outcome !== 'finished' || typeof inspection.reply !== 'string') return undefined
    if (Buffer.byteLength(inspection.reply) > limits.replyBytesMax)
      throw new Error(`its reply is larger than ${limits.replyBytesMax} bytes`)
    return inspection.reply
  } catch (error) {
    // A provider that is gone or broken leaves the turn interrupted; it must not keep a session from being repaired.
    note(`the provider ${provider_name} cannot say how the turn ended: ${describeFailure(error).message}`)
    return undefined
  }
}

export function settingsOf(session: Session): ProviderSettings {
  const { workspace, model, instructions, options } = session.state
  return {
    workspace,
    model,
    instructions: instructions === null ? null : session.text(instructions),
    options,
  }
}

function openRun(session: Session): Run {
  const { run } = session.state
  assert(run?.status === 'open', 'a row other than A has an open run')
  return run
}
