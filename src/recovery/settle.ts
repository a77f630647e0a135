/**
 * What every writing command does first with a session that a dead process may have left: the table, carried out by
 * ordinary records. Afterwards the session is at rest, or has an open run that its caller goes on with.
 *
 * Invariants: there is exactly one `run.interrupted` per run, however often this runs or is itself killed. A second
 * settle changes nothing. Nothing edits a log.
 */
import { inTime } from '../clock.js'
import { assert } from '../errors.js'
import { limits } from '../limits.js'
import { removeDelivered } from '../mail/inbox.js'
import type { ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { type KillOutcome, killLeftGroup } from '../provider/program.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { ownIdentity } from '../storage/identity.js'
import { completed, reply } from '../turn/step.js'
import { diagnose, RECOVERY_TABLE, type Row } from './table.js'

/** How long a provider may look into its own store: one that hangs must not hold the lock of an agent for ever. */
const INSPECT_MS_MAX = 10_000

export interface SettleOptions {
  providers: ProviderRegistry
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
  const row = diagnose(session.state)
  let hasStranger = false
  switch (RECOVERY_TABLE[row].action) {
    case 'none':
      break
    case 'close':
      session.append([completed(openRun(session).run_id, openRun(session).usage)])
      break
    case 'inspect':
      hasStranger = await settleProgram(session, options)
      break
    case 'ask':
      if (!options.goesOn) session.append(interrupted(openRun(session)))
      break
  }
  if (session.state.state === 'active' && session.state.run?.status !== 'open') {
    session.append([{ kind: 'session.suspended', reason: 'recovery' }])
  }
  return { row, hasStranger }
}

/** Ends the open run as interrupted by the death of its process. */
export function interrupted(run: Run): NewRecord[] {
  const diedWith = run.boot_id.split('/')[0]
  const reason = diedWith === ownIdentity().kernel_boot_id ? 'process_exit' : 'process_restart'
  return [
    { kind: 'run.interrupted', run_id: run.run_id, reason },
    { kind: 'status.derived', status: 'interrupted_startup' },
  ]
}

/** Row J. The group is dead, or out of reach, before the program's store is read. */
async function settleProgram(session: Session, { providers, note }: SettleOptions): Promise<boolean> {
  const run = openRun(session)
  const group = run.process
  const killed = group === null ? 'gone' : await killLeftGroup(group, run.run_id)
  const remark = REMARKS[killed]
  if (remark !== undefined) note(`process group ${group?.process_group} of the interrupted turn ${remark}`)
  const hasStranger = killed === 'foreign' || killed === 'alive'
  const finished = hasStranger ? undefined : await finishedReply(session, providers, note)
  session.append(
    finished === undefined ? interrupted(run) : [reply(run.run_id, finished), completed(run.run_id, null)],
  )
  return hasStranger
}

const REMARKS: Record<KillOutcome, string | undefined> = {
  gone: undefined,
  killed: 'was still there: killed it',
  foreign: 'is in another pid namespace: nothing was killed',
  alive: 'has a process that does not die, or cannot be told from a stranger: left it alone',
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
