/**
 * Settles a session that a dead process may have left. Every writing command does this first. It applies the recovery table
 * by appending ordinary records. Afterwards the session is idle, or has an open run for the caller to continue.
 *
 * Invariants: a run has at most one `run.interrupted`, however often settle runs or is killed. A second settle changes
 * nothing. Settle never edits a log, only appends.
 */
import { withTimeout } from '../clock.js'
import { assert, RUN_AGAIN, SubstratError, shellWord } from '../errors.js'
import { readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import { removeDelivered } from '../mail/inbox.js'
import type { AgentProvider, Inspection, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { isServerAlive, isServerElsewhere, stopKeptServer } from '../provider/kept-server.js'
import { hostLabel, placeOfGroup } from '../provider/other-host.js'
import {
  type KillOutcome,
  killEscaped,
  killOrphanedGroup,
  tagOfLaunch,
  tagOfRun,
} from '../provider/process-group.js'
import type { ProviderRegistry } from '../provider/registry.js'
import type { ProcessGroup, Used } from '../schema/types.js'
import { needsRebase } from '../session/fold/clock.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { isAtWork } from '../session/status.js'
import { usedOf } from '../turn/ask/used.js'
import type { ToolPolicy } from '../turn/step/turn-event.js'
import { heardOf } from './heard.js'
import { checkPrograms } from './other-host.js'
import { restRecords, settlement } from './settlement.js'
import { type Row, rowOf } from './table.js'
import { programRow, type TakeoverRules } from './takeover.js'

/**
 * Bounds for reading the program's own store. Between them `--timeout` decides. Without a limit a provider that hangs would
 * hold the agent's lock forever. A program that has to start takes seconds, or a minute on a busy machine.
 */
const INSPECT_MS_MAX = 300_000
const INSPECT_MS_MIN = 10_000
/** After this time the command prints that it is waiting for the provider. */
const INSPECT_NOTE_MS = 3000

export interface SettleOptions {
  providers: ProviderRegistry
  policy: ToolPolicy
  /** After a tool with unknown outcome: wait for a person, or let the model find out. */
  unknownTool: 'stop' | 'continue'
  /** Whether the caller continues an open run. Otherwise the run ends as interrupted. */
  continuesTurn: boolean
  /** Whether a turn continues although its programs ran on another host, once their leash has ended them. */
  takesOver?: boolean
  /** How long the command waits for other processes (`--timeout`). */
  waitMs?: number
  /** Whether the command gives up the run. It then needs no reply, and a provider that does not answer is not an error. */
  givesUp?: boolean
  note(text: string): void
}

export interface SettleResult {
  row: Row
  /** A program of the run may still run and cannot be killed. No command then continues the run automatically. */
  hasSurvivor: boolean
}

export async function settle(session: Session, options: SettleOptions): Promise<SettleResult> {
  removeDelivered(session)
  await checkPrograms(session, options)
  const now = readClock()
  if (needsRebase(session.state, now)) session.append([{ kind: 'clock.set_back', clock: now }])
  const row = rowOf(session.state, now)
  const server = await stopServerOfTurn(session, options)
  const isBeside = server.isLeft && session.state.run?.status === 'open'
  const left = await killPrograms(session, server.ended, options.note, options)
  const hasSurvivor = left.hasSurvivor || isBeside
  const elsewhere = isBeside ? [...left.elsewhere, ...server.elsewhere] : left.elsewhere
  const { policy, unknownTool, continuesTurn } = options
  const found = row === 'J' && !hasSurvivor ? await inspectedTurn(session, options) : { finished: undefined }
  session.append(
    settlement(session.state, row, { policy, unknownTool, continuesTurn, hasSurvivor, elsewhere, ...found }),
  )
  session.append(restRecords(session.state, 'recovery'))
  return { row, hasSurvivor }
}

/** Stops the kept server of an open run, because the turn may still be running in it. A dead server is recorded as stopped. */
async function stopServerOfTurn(
  session: Session,
  { note }: SettleOptions,
): Promise<{ isLeft: boolean; ended: ProcessGroup | undefined; elsewhere: ProcessGroup[] }> {
  const { store, state } = session
  const { warm, run } = state
  if (warm === undefined) return { isLeft: false, ended: undefined, elsewhere: [] }
  const isLiving = isServerAlive(store.address, warm) || isServerElsewhere(store, state)
  const isLeft = isLiving && run?.status !== 'open' ? true : !(await stopKeptServer(session, note))
  const isElsewhere = isLeft && placeOfGroup(store, state, warm.group) === 'elsewhere'
  return { isLeft, ended: isLeft ? undefined : warm.group, elsewhere: isElsewhere ? [warm.group] : [] }
}

/**
 * Kills the programs of the run that its dead process left: the agent program, tools and tool servers. `elsewhere`: those of an
 * open run that may be alive on another host.
 */
export async function killPrograms(
  session: Pick<Session, 'store' | 'state' | 'leashesLeftMs'>,
  ended: ProcessGroup | undefined,
  note: (text: string) => void,
  rules: Partial<TakeoverRules> = {},
): Promise<{ hasSurvivor: boolean; elsewhere: ProcessGroup[] }> {
  const { store, state } = session
  const { run } = state
  const elsewhere: ProcessGroup[] = []
  if (run === null) return { hasSurvivor: false, elsewhere }
  const home = store.address
  const isOpen = run.status === 'open'
  const groups = [
    ...(isOpen ? [run.process, ...run.calls.map(({ group }) => group)] : []),
    ...run.servers,
  ].filter((group) => group !== null && !isSameGroup(group, ended)) as ProcessGroup[]
  let hasSurvivor = false
  for (const group of groups) {
    const row = programRow(session, group, rules)
    if (row === 'elsewhere' || row === 'leashed') {
      // A run that has ended or waits has no call in progress, so its tool servers do not block the agent.
      if (isAtWork(state)) elsewhere.push(group)
      continue
    }
    const killed = row === 'ended' ? 'gone' : await killOrphanedGroup(group, run.run_id, home)
    const remark = REMARKS[killed]
    if (remark !== undefined) note(`process group ${group.process_group} of the interrupted turn ${remark}`)
    // A survivor of an ended run does not block the agent.
    hasSurvivor ||= isOpen && (killed === 'foreign' || killed === 'alive')
  }
  const [first] = elsewhere
  if (first !== undefined)
    note(
      `programs of the interrupted turn may still be running on the host ${hostLabel(state, first)}: nothing was killed`,
    )
  const escaped = await killEscapedFrom(run, home)
  if (escaped > 0)
    note(`killed ${escaped} process(es) that the interrupted turn had started in other process groups`)
  return { hasSurvivor: hasSurvivor || elsewhere.length > 0, elsewhere }
}

/** Kills processes that the agent program, a tool or a tool server started outside its process group. Returns their number. */
async function killEscapedFrom(run: Run, home: string): Promise<number> {
  if (run.status !== 'open') return 0
  let killed = run.process !== null ? await killEscaped(run.process, tagOfRun(run.run_id, home)) : 0
  // A finished call has no group, so its escaped processes stay.
  for (const group of [...run.calls.map((call) => call.group), ...run.servers]) {
    const tag = group === null ? undefined : tagOfLaunch(group, home)
    if (group !== null && tag !== undefined) killed += await killEscaped(group, tag)
  }
  return killed
}

/** A run's process may be the kept server's, which `stopServerOfTurn` has already ended. */
function isSameGroup(group: ProcessGroup, other: ProcessGroup | undefined): boolean {
  return group.process_group === other?.process_group && group.start_time === other.start_time
}

const REMARKS: Record<KillOutcome, string | undefined> = {
  gone: undefined,
  // `killPrograms` names the host itself, or a person has declared that host gone.
  elsewhere: undefined,
  killed: 'was still running: killed it',
  foreign: 'is in another pid namespace: nothing was killed',
  alive: 'could not be killed: one of its processes survives SIGKILL, or may belong to another program',
}

/** Row J. Call it only after the process group is dead, because a living program may still write to its store. */
async function inspectedTurn(
  session: Session,
  options: SettleOptions,
): Promise<{ finished: string | undefined; used?: Used }> {
  const { providers, note } = options
  const { provider_name } = session.state
  try {
    const provider = await providers.load(provider_name)
    assert(provider.kind === 'agent', 'a run that launched a program is of an agent provider')
    const inspection = await inspectProgram(session, provider, options)
    const used = usedOf(inspection) ?? {}
    if (inspection.outcome !== 'finished' || typeof inspection.reply !== 'string')
      return { finished: undefined, used }
    if (Buffer.byteLength(inspection.reply) > limits.replyBytesMax)
      throw new Error(`its reply is larger than ${limits.replyBytesMax} bytes`)
    return { finished: inspection.reply, used }
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'TIMED_OUT') throw error
    // A missing or broken provider must not prevent the repair of the session. The turn stays interrupted.
    note(`the provider ${provider_name} cannot say how the turn ended: ${describeFailure(error).message}`)
    return { finished: undefined }
  }
}

/**
 * If the provider does not answer in time, a command that continues the turn fails and records nothing, so that the next
 * command asks again. For any other command the turn then ends as interrupted.
 */
async function inspectProgram(
  session: Session,
  provider: AgentProvider,
  { waitMs = INSPECT_MS_MAX, continuesTurn, givesUp = false, note }: SettleOptions,
): Promise<Inspection> {
  const { provider_state, provider_name, path } = session.state
  const state = provider_state === null ? null : Buffer.from(provider_state, 'base64')
  const ms = Math.max(INSPECT_MS_MIN, Math.min(INSPECT_MS_MAX, waitMs))
  const time = new AbortController()
  const heard = heardOf(session, session.state.run as Run)
  const late = new Error(`it did not answer within ${Math.round(ms / 1000)} s`)
  const telling = setTimeout(
    () => note(`waiting for ${provider_name} to report how the interrupted turn of ${path} ended`),
    INSPECT_NOTE_MS,
  )
  try {
    const asked = provider.inspect(state, settingsOf(session), { signal: time.signal, heard })
    return await withTimeout(asked, ms, late)
  } catch (error) {
    if (error !== late || !continuesTurn || givesUp) throw error
    throw new SubstratError(
      'TIMED_OUT',
      `${provider_name} did not report how the turn of ${path} ended: ${late.message}`,
      {
        hint: `${RUN_AGAIN}; or give up the turn: substrat cancel ${shellWord(path)}`,
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
