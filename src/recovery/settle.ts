/**
 * What every writing command does first with a session that a dead process may have left: the table, carried out by
 * ordinary records. Afterwards the session is at rest, or has an open run that its caller goes on with.
 *
 * Invariants: there is exactly one `run.interrupted` per run, however often this runs or is itself killed. A second
 * settle changes nothing. Nothing edits a log.
 */
import { withTimeout } from '../clock.js'
import { assert, SubstratError, shellWord } from '../errors.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { removeDelivered } from '../mail/inbox.js'
import type { AgentProvider, Inspection, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { isServerAlive, isServerElsewhere, stopKeptServer } from '../provider/kept-server.js'
import {
  type KillOutcome,
  killEscaped,
  killOrphanedGroup,
  tagOfLaunch,
  tagOfRun,
} from '../provider/process-group.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { ProcessGroup } from '../session/fields.js'
import { needsRebase } from '../session/fold/clock.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import type { ToolPolicy } from '../turn/step/turn-event.js'
import { heardOf } from './heard.js'
import { restRecords, settlement } from './settlement.js'
import { type Row, rowOf } from './table.js'

/**
 * How long a provider may look into its own store, and no longer than the command waits for a busy agent: one that hangs must
 * not hold the lock of an agent for ever. A program that has to start takes seconds, and on a busy machine a minute.
 */
const INSPECT_MS_MAX = 300_000
const INSPECT_MS_MIN = 10_000
/** After so long the person is told what is waited for. */
const INSPECT_NOTE_MS = 3000

export interface SettleOptions {
  providers: ProviderRegistry
  policy: ToolPolicy
  /** After a tool of unknown outcome: wait for a person, or let the model look for itself. */
  unknownTool: 'stop' | 'continue'
  /** Whether the caller goes on with an open run; else it is marked as interrupted. */
  goesOn: boolean
  /** How long the command waits for others (`--timeout`). */
  waitMs?: number
  /** Whether the command gives the run up: it needs no reply, and waits for none that does not come. */
  givesUp?: boolean
  note(text: string): void
}

export interface SettleResult {
  row: Row
  /** A program of the run may live on where it cannot be killed: nothing goes on there by itself. */
  hasSurvivor: boolean
}

export async function settle(session: Session, options: SettleOptions): Promise<SettleResult> {
  session.store.sweepAgent(session.id)
  removeDelivered(session)
  const now = readClock()
  if (needsRebase(session.state, now)) session.append([{ kind: 'clock.set_back', clock: now }])
  const row = rowOf(session.state, now)
  const server = await stopServerOfTurn(session, options)
  const isBeside = server.isLeft && session.state.run?.status === 'open'
  const left = { home: session.store.root, ended: server.ended, note: options.note }
  const hasSurvivor = (await killPrograms(session.state.run, left)) || isBeside
  const { policy, unknownTool, goesOn } = options
  const finished = row === 'J' && !hasSurvivor ? await finishedReply(session, options) : undefined
  session.append(settlement(session.state, row, { policy, unknownTool, goesOn, hasSurvivor, finished }))
  session.append(restRecords(session.state, 'recovery'))
  return { row, hasSurvivor }
}

/** A turn may still go on in it, which is about to be called interrupted. One that has died by itself is forgotten. */
async function stopServerOfTurn(
  session: Session,
  { note }: SettleOptions,
): Promise<{ isLeft: boolean; ended: ProcessGroup | undefined }> {
  const { store, id, state } = session
  const { warm, run } = state
  if (warm === undefined) return { isLeft: false, ended: undefined }
  const isLiving = isServerAlive(store.root, warm) || isServerElsewhere(store, id, warm)
  const isLeft = isLiving && run?.status !== 'open' ? true : !(await stopKeptServer(session, note))
  return { isLeft, ended: isLeft ? undefined : warm.group }
}

/** Every program that a dead process of the run left: of the agent, of its tools, of its tool servers. */
export async function killPrograms(
  run: Run | null,
  { home, ended, note }: { home: string; ended?: ProcessGroup | undefined; note(text: string): void },
): Promise<boolean> {
  if (run === null) return false
  const isOpen = run.status === 'open'
  const groups = [
    ...(isOpen ? [run.process, ...run.calls.map(({ group }) => group)] : []),
    ...run.servers,
  ].filter((group) => group !== null && !isSameGroup(group, ended)) as ProcessGroup[]
  let hasSurvivor = false
  for (const group of groups) {
    const killed = await killOrphanedGroup(group, run.run_id, home)
    const remark = REMARKS[killed]
    if (remark !== undefined) note(`process group ${group.process_group} of the interrupted turn ${remark}`)
    // What an ended turn left is in nobody's way.
    hasSurvivor ||= isOpen && (killed === 'foreign' || killed === 'alive')
  }
  const escaped = await killEscapedFrom(run, home)
  if (escaped > 0)
    note(`${escaped} process(es) that the interrupted turn had started apart were still there: killed them`)
  return hasSurvivor
}

/** What an agent's program has put outside of its group; and of tools and tool servers what each of them has. */
async function killEscapedFrom(run: Run, home: string): Promise<number> {
  if (run.status !== 'open') return 0
  let killed = run.process !== null ? await killEscaped(run.process, tagOfRun(run.run_id, home)) : 0
  // What a call that came to its end has left stays: the call has no group any more.
  for (const group of [...run.calls.map((call) => call.group), ...run.servers]) {
    const tag = group === null ? undefined : tagOfLaunch(group, home)
    if (group !== null && tag !== undefined) killed += await killEscaped(group, tag)
  }
  return killed
}

/** The server that a turn used is a program of it: what is known to have ended is not looked for again. */
function isSameGroup(group: ProcessGroup, other: ProcessGroup | undefined): boolean {
  return group.process_group === other?.process_group && group.start_time === other.start_time
}

const REMARKS: Record<KillOutcome, string | undefined> = {
  gone: undefined,
  killed: 'was still there: killed it',
  foreign: 'is in another pid namespace: nothing was killed',
  alive: 'has a process that does not die, or cannot be told from a stranger: left it alone',
}

/** Row J. The group is dead, or out of reach, before the program's store is read. */
async function finishedReply(session: Session, options: SettleOptions): Promise<string | undefined> {
  const { providers, note } = options
  const { provider_name } = session.state
  try {
    const provider = await providers.load(provider_name)
    assert(provider.kind === 'agent', 'a run that launched a program is of an agent provider')
    const inspection = await inspectProgram(session, provider, options)
    if (inspection.outcome !== 'finished' || typeof inspection.reply !== 'string') return undefined
    if (Buffer.byteLength(inspection.reply) > limits.replyBytesMax)
      throw new Error(`its reply is larger than ${limits.replyBytesMax} bytes`)
    return inspection.reply
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'TIMED_OUT') throw error
    // A provider that is gone or broken leaves the turn interrupted; it must not keep a session from being repaired.
    note(`the provider ${provider_name} cannot say how the turn ended: ${describeFailure(error).message}`)
    return undefined
  }
}

/**
 * A store that does not answer in time says nothing: nothing is recorded, and the next command asks again. Interrupted is
 * the turn then only for a command that does not go on with it.
 */
async function inspectProgram(
  session: Session,
  provider: AgentProvider,
  { waitMs = INSPECT_MS_MAX, goesOn, givesUp = false, note }: SettleOptions,
): Promise<Inspection> {
  const { provider_state, provider_name, path } = session.state
  const state = provider_state === null ? null : Buffer.from(provider_state, 'base64')
  const ms = Math.max(INSPECT_MS_MIN, Math.min(INSPECT_MS_MAX, waitMs))
  const time = new AbortController()
  const heard = heardOf(session, session.state.run as Run)
  const late = new Error(`it did not answer in ${Math.round(ms / 1000)} s`)
  const telling = setTimeout(
    () => note(`waiting for ${provider_name} to say how the interrupted turn of ${path} ended`),
    INSPECT_NOTE_MS,
  )
  try {
    const asked = provider.inspect(state, settingsOf(session), { signal: time.signal, heard })
    return await withTimeout(asked, ms, late)
  } catch (error) {
    if (error !== late || !goesOn || givesUp) throw error
    throw new SubstratError(
      'TIMED_OUT',
      `${provider_name} does not say how the turn of ${path} ended: ${late.message}`,
      {
        hint: `run the same command again; or give the turn up: substrat cancel ${shellWord(path)}`,
        facts: { agent_id: session.id },
      },
    )
  } finally {
    clearTimeout(telling)
    time.abort()
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
