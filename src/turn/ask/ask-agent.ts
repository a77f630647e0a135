/**
 * One turn of an agent provider. The program's process group and native state are recorded as soon as they are known, and
 * its reply before the program is released.
 */
import type {
  AgentEvent,
  AgentProvider,
  AgentSession,
  ProviderSettings,
  WaitAnswer,
} from '../../provider/contract.js'
import { Deaths } from '../../provider/deaths.js'
import {
  type FailureReport,
  hasEndedEarly,
  providerFailure,
  reportFailure,
  saysNothing,
} from '../../provider/failure.js'
import type { AgentHost, PrivateFile, ToolServer } from '../../provider/host-contract.js'
import { KeptServerHost } from '../../provider/kept-server-host.js'
import { killEscaped, tagOfRun } from '../../provider/process-group.js'
import { createHost } from '../../provider/program.js'
import { secretsOf } from '../../provider/secrets.js'
import type { Ask, ProcessGroup, RunError, Used } from '../../schema/types.js'
import type { Session } from '../../session/session.js'
import { decisionOf, programPrompt } from '../prompt/program-prompt.js'
import { usedFields } from '../step/records.js'
import type { TurnEvent } from '../step/turn-event.js'
import type { TurnStop } from '../stop.js'
import { endedEarly, offContract, orStopped, type TurnEnds, untilStopped, withinGrace } from './events.js'
import { type EventSinks, Heard, storedState } from './program-events.js'
import { StorageGuard } from './storage-guard.js'
import type { UncaughtErrors } from './uncaught-errors.js'

/** The services of a turn that an agent provider uses. */
export interface AgentTurn extends EventSinks {
  settings: ProviderSettings
  stop: TurnStop
  uncaught: UncaughtErrors
  environment: Record<string, string>
  /** The limit of the turn. Undefined without a cap in dollars. */
  budgetUsd: number | undefined
  tools: ToolServer | null
  /** Whether a server of the program may outlive the turn. Called at the turn's beginning and at its end. */
  keepsServer(): boolean
  /** Makes an event durable before it returns. Throws only if storage fails. */
  persist(event: TurnEvent): void
  /** The conversation before this turn, in words. */
  history(): string | undefined
}

export type AgentOutcome =
  | Extract<TurnEvent, { type: 'released' | 'stopped' }>
  | ({ type: 'failed' } & FailureReport)
  /** A signal that was not ours ended the program. The turn did not end; how far it got is unknown. */
  | ({ type: 'killed'; error: RunError } & Used)
  | ({ type: 'asks'; wait: 'approval' | 'input'; asks: Ask[]; state: string | null } & Used)

export async function askAgent(
  session: Session,
  provider: AgentProvider,
  turn: AgentTurn,
): Promise<AgentOutcome> {
  const { stop, environment, tools } = turn
  const ends = { signal: stop.signal, uncaught: turn.uncaught }
  const storage = new StorageGuard(turn.persist)
  const launched: ProcessGroup[] = []
  const record = (group: ProcessGroup): void => {
    launched.push(group)
    storage.persist({ type: 'launched', group })
  }
  const persist = (event: TurnEvent): void => storage.persist(event)
  const deaths = new Deaths()
  const keptServer = new KeptServerHost(session, { isOn: turn.keepsServer(), environment, persist })
  // Read before the first launch of this attempt, which sets it.
  const { hasLaunched = false } = session.state.run ?? {}
  const files = session.store.local.programFiles(session.id)
  let agent: AgentSession | undefined
  const heard = new Heard(session, storage, turn)
  try {
    const launches = createHost({ environment, tools, record, deadline: session.leaseDeadline() })
    const created = { ...launches, ...(await keptServer.open()) }
    const privateFile = (name: string, text: string): PrivateFile =>
      storage.guard(() => files.write(name, text))
    const usd = turn.budgetUsd === undefined ? {} : { budgetUsd: turn.budgetUsd }
    const host = watchedHost({ ...created, privateFile, ...usd }, deaths)
    const needsHistory = provider.needsHistory?.(turn.settings) === true
    agent = await open(session, provider, turn.settings, host, ends)
    for await (const event of untilStopped(
      begin(session, { agent, needsHistory }, turn, storage, hasLaunched),
      ends,
    ))
      heard.take(event)
    heard.recordOutput()
    // The provider may have caught the storage failure and continued.
    if (storage.hasFailed) throw storage.failure
    const { question, reply, used } = heard
    if (question !== undefined) {
      const state = await letGo(agent, 'suspend')
      // No process of the program may run during the wait for a person.
      await keptServer.close(false)
      await killApart(session, launched)
      return { type: 'asks', ...question, state, ...used }
    }
    if (reply === undefined) throw endedEarly()
    if (stop.mayHaveCaused(heard.toolFailedAtMs)) throw cutShort()
    storage.persist({ type: 'agent_replied', reply, ...used })
    const state = await letGo(agent, 'suspend')
    await keptServer.close(turn.keepsServer())
    return { type: 'released', state, terminates: false, ...used }
  } catch (error) {
    // Read before this code kills any process itself.
    const killed = killedBy(deaths)
    heard.recordOutput()
    const isStopped = stop.signal.aborted && !storage.hasFailed
    const state = await letGo(agent, isStopped && stop.reason() === 'suspended' ? 'suspend' : 'stop')
    // If the server's end cannot be recorded now, the next command to open the session records it.
    await keptServer.close(false).catch(() => undefined)
    await killApart(session, launched)
    if (storage.hasFailed) throw storage.failure
    const { used } = heard
    if (isStopped) return { type: 'stopped', reason: stop.reason(), state, result: null, ...used }
    const report = { ...reportFailure(error, secretsOf(provider, turn.settings)), ...used }
    const how = keptServer.hasDied
      ? KEPT_SERVER_ENDED
      : (killed ?? (hasEndedEarly(error) ? SAID_BY_PROVIDER : undefined))
    return endWithoutAnswer(report, how, stop)
  } finally {
    files.close()
  }
}

/** A host that notes the signal if a program is killed, but not by substrat. */
function watchedHost(host: AgentHost, deaths: Deaths): AgentHost {
  const { launch, launchServer } = host
  return {
    ...host,
    launch: async (command, options) => deaths.watch(await launch(command, options)),
    launchServer:
      launchServer === null
        ? null
        : async (command, options) => deaths.watch(await launchServer(command, options)),
  }
}

/** Outcome of a program that ended without an answer: substrat is being stopped, the program was killed, or the turn failed. */
async function endWithoutAnswer(
  report: FailureReport,
  how: string | undefined,
  stop: TurnStop,
): Promise<AgentOutcome> {
  const { error, usage, models } = report
  const used = usedFields({ usage, models })
  const isEnd = error.type === 'crashed'
  if (saysNothing(error) && (await stop.isShuttingDown(true)))
    return { type: 'stopped', reason: 'shutdown', state: null, result: null, ...used }
  if (!isEnd || how === undefined) return { type: 'failed', ...report }
  const message = error.message.includes(how) ? error.message : `the agent program ${how}: ${error.message}`
  return { type: 'killed', error: { ...error, message }, ...used }
}

/** A stop signal to the whole process group may kill a tool of the program first. A reply after that does not mean that the work is done. */
function cutShort(): Error {
  return providerFailure('crashed', 'a tool of the program failed when the stop signal arrived')
}

function killedBy({ killer }: Deaths): string | undefined {
  return killer === undefined ? undefined : `was killed by ${killer}`
}

/** The cause is unknown: a kept server is not a child process of this command. */
const KEPT_SERVER_ENDED = 'lost its kept server during the turn'

/**
 * A program that ends with status 0, or with an unknown status, and without an answer may have been killed under a wrapper that
 * hides the signal. The provider's sentence says how it ended.
 */
const SAID_BY_PROVIDER = ''

/** Begins the program's turn with its prompt, or with a person's answer to its question. */
function begin(
  session: Session,
  { agent, needsHistory }: { agent: AgentSession; needsHistory: boolean },
  { stop, history }: AgentTurn,
  storage: StorageGuard,
  hasLaunched: boolean,
): AsyncIterable<AgentEvent> {
  const { run, isSeedDue } = session.state
  const options = { signal: stop.signal, allow: run?.allow ?? [] }
  // A new native session has asked no question, so the prompt has the decision in words.
  const answered = isSeedDue ? undefined : storage.guard(() => decisionOf(session))
  if (answered === undefined)
    return agent.send(
      storage.guard(() => programPrompt(session, hasLaunched, needsHistory ? history : undefined)),
      options,
    )
  if (agent.answer === undefined) throw offContract('a wait without `answer`')
  const { decision, asks, content } = answered
  const text = storage.guard(() => session.text(content))
  const answer = { decision: decision as WaitAnswer['decision'], text, asks }
  return agent.answer(answer, options)
}

/** Kills processes that the program started in groups of their own. They may outlive only a completed turn. */
async function killApart({ state, store }: Session, [first]: ProcessGroup[]): Promise<void> {
  // The first group is the oldest: it bounds the search for all of them.
  if (first !== undefined && state.run !== null)
    await killEscaped(first, tagOfRun(state.run.run_id, store.address))
}

async function open(
  session: Session,
  provider: AgentProvider,
  settings: ProviderSettings,
  host: AgentHost,
  ends: TurnEnds,
): Promise<AgentSession> {
  const state = session.state.provider_state
  const opening =
    state === null
      ? provider.create(settings, host)
      : provider.restore(Buffer.from(state, 'base64'), settings, host)
  try {
    return await orStopped(opening, ends)
  } catch (error) {
    // If the provider opens the session after the stop, stop that session.
    Promise.resolve(opening).then(
      (late) => letGo(late, 'stop'),
      () => undefined,
    )
    throw error
  }
}

/** Never throws and never hangs: if the provider does not release its session, recovery does it. */
async function letGo(agent: AgentSession | undefined, how: 'suspend' | 'stop'): Promise<string | null> {
  if (agent === undefined) return null
  try {
    if (how === 'stop') await withinGrace(agent.stop())
    else {
      const state = await withinGrace(agent.suspend())
      return state === null || state === undefined ? null : storedState(state)
    }
  } catch {
    // The turn's result is recorded already.
  }
  return null
}
