/**
 * One turn of an agent provider. Its program's group and its native state are recorded the moment they are known, its
 * reply before it is let go.
 */
import { clock } from '../../clock.js'
import { limits } from '../../limits.js'
import type {
  AgentEvent,
  AgentHost,
  AgentProvider,
  AgentSession,
  JsonObject,
  McpStdioServer,
  PrivateFile,
  ProviderSettings,
  ToolCall,
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
import { KeptServerHost } from '../../provider/kept-server-host.js'
import { tagOfRun } from '../../provider/process-tag.js'
import { createHost, killEscaped } from '../../provider/program.js'
import { secretsOf } from '../../provider/secrets.js'
import type { Ask, CallRecord, ProcessGroup, RunError, Usage } from '../../session/fields.js'
import type { Session } from '../../session/session.js'
import { shortenedInput } from '../asks.js'
import { decisionOf, programPrompt } from '../prompt/program-prompt.js'
import type { TurnEvent } from '../step/turn-event.js'
import type { TurnStop } from '../stop.js'
import { cappedResult } from '../tools/toolbox.js'
import {
  endedEarly,
  Gathered,
  offContract,
  orStopped,
  shownEvent,
  type TurnEnds,
  untilStopped,
  withinGrace,
} from './events.js'
import { isDeeperThan } from './levels.js'
import { StorageGuard } from './storage-guard.js'
import type { UncaughtErrors } from './uncaught-errors.js'

/** What an agent's turn is given of its surroundings. */
export interface AgentTurn {
  settings: ProviderSettings
  stop: TurnStop
  uncaught: UncaughtErrors
  environment: Record<string, string>
  tools: McpStdioServer | null
  /** Whether a server of the program may outlive the turn; asked when it begins, and at its end. */
  keepsServer(): boolean
  /** Makes what happens in mid-turn durable before it returns; what it throws is a failure of storage. */
  persist(event: TurnEvent): void
  /** Calls as they are stored: what is too large for a line is in a blob. */
  callRecord(call: ToolCall): CallRecord
  onText(text: string): void
  note(text: string): void
}

export type AgentOutcome =
  | Extract<TurnEvent, { type: 'released' | 'stopped' }>
  | ({ type: 'failed' } & FailureReport)
  /** A signal that was not ours has ended its program: nothing is known of the turn but that it did not end. */
  | { type: 'killed'; error: RunError }
  | { type: 'asks'; wait: 'approval' | 'input'; asks: Ask[]; state: string | null }

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
  // Before this attempt launches anything.
  const { hasLaunched = false } = session.state.run ?? {}
  const files = session.store.programFiles(session.id)
  let agent: AgentSession | undefined
  const heard = new Heard(session, storage, turn)
  try {
    const created = { ...createHost({ environment, tools, record }), ...(await keptServer.open()) }
    const privateFile = (name: string, text: string): PrivateFile =>
      storage.guard(() => files.write(name, text))
    const host = watchedHost({ ...created, privateFile }, deaths)
    agent = await open(session, provider, turn.settings, host, ends)
    for await (const event of untilStopped(begin(session, agent, turn, storage, hasLaunched), ends))
      heard.take(event)
    // Also where the provider took the failure to record for something that it may pass over.
    if (storage.hasFailed) throw storage.failure
    const { question, reply, usage } = heard
    if (question !== undefined) {
      const state = await letGo(agent, 'suspend')
      // Nothing of it runs while a person is asked.
      await keptServer.close(false)
      await killApart(session, launched)
      return { type: 'asks', ...question, state }
    }
    if (reply === undefined) throw endedEarly()
    if (stop.mayHaveCaused(heard.toolFailedAtMs)) throw cutShort()
    storage.persist({ type: 'agent_replied', reply })
    const state = await letGo(agent, 'suspend')
    await keptServer.close(turn.keepsServer())
    return { type: 'released', state, usage, terminates: false }
  } catch (error) {
    // Before anything is killed here.
    const killed = killedBy(deaths)
    const isStopped = stop.signal.aborted && !storage.hasFailed
    const state = await letGo(agent, isStopped && stop.reason() === 'suspended' ? 'suspend' : 'stop')
    // Its end is recorded by who comes next, where it cannot be now.
    await keptServer.close(false).catch(() => undefined)
    await killApart(session, launched)
    if (storage.hasFailed) throw storage.failure
    if (isStopped) return { type: 'stopped', reason: stop.reason(), state, result: null }
    const report = { ...reportFailure(error, secretsOf(provider, turn.settings)), ...heard.used }
    const how = keptServer.hasDied
      ? KEPT_SERVER_ENDED
      : (killed ?? (hasEndedEarly(error) ? ENDED_EARLY : undefined))
    return endWithoutAnswer(report, how, stop)
  } finally {
    files.close()
  }
}

/** Of its programs it is known who ended them. */
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

/** What the end of a program that gave no answer comes to: substrat's own end, that of its program alone, or a failure. */
async function endWithoutAnswer(
  report: FailureReport,
  how: string | undefined,
  stop: TurnStop,
): Promise<AgentOutcome> {
  const { error } = report
  const isEnd = error.type === 'crashed'
  if (saysNothing(error) && (await stop.isShuttingDown(true)))
    return { type: 'stopped', reason: 'shutdown', state: null, result: null }
  if (!isEnd || how === undefined) return { type: 'failed', ...report }
  const message = error.message.includes(how) ? error.message : `the agent program ${how}: ${error.message}`
  return { type: 'killed', error: { ...error, message } }
}

/** A stop signal to every process kills a tool of the program first: what the model then says of it is no end of the work. */
function cutShort(): Error {
  return providerFailure('crashed', 'a tool of the program failed as the stop signal came')
}

function killedBy({ killer }: Deaths): string | undefined {
  return killer === undefined ? undefined : `was killed by ${killer}`
}

/** How is not known: it is no child of ours. */
const KEPT_SERVER_ENDED = 'had a server kept, which ended in the middle of the turn'

/** A program that says no more of its end than this may have been killed under a wrapper that hides it. */
const ENDED_EARLY = 'exited 0'

/** The program's turn: what it is asked, or what a person decided about what it asked. */
function begin(
  session: Session,
  agent: AgentSession,
  { stop }: AgentTurn,
  storage: StorageGuard,
  hasLaunched: boolean,
): AsyncIterable<AgentEvent> {
  const { run, isSeedDue } = session.state
  const options = { signal: stop.signal, allow: run?.allow ?? [] }
  // A session that is begun anew has never asked: it is told in words.
  const answered = isSeedDue ? undefined : storage.guard(() => decisionOf(session))
  if (answered === undefined)
    return agent.send(
      storage.guard(() => programPrompt(session, hasLaunched)),
      options,
    )
  if (agent.answer === undefined) throw offContract('a wait without `answer`')
  const { decision, asks, content } = answered
  const text = storage.guard(() => session.text(content))
  const answer = { decision: decision as WaitAnswer['decision'], text, asks }
  return agent.answer(answer, options)
}

/** What its programs have started in groups of their own outlives them only where the turn came to its end. */
async function killApart({ state, store }: Session, [first]: ProcessGroup[]): Promise<void> {
  // Each later one began after it.
  if (first !== undefined && state.run !== null)
    await killEscaped(first, tagOfRun(state.run.run_id, store.root))
}

/** What a program's turn has come to, event by event. */
class Heard {
  reply: string | undefined
  question: { wait: 'approval' | 'input'; asks: Ask[] } | undefined
  /** When a tool of the program last failed. */
  toolFailedAtMs = Number.NEGATIVE_INFINITY
  private readonly gathered = new Gathered()

  constructor(
    private readonly session: Session,
    private readonly storage: StorageGuard,
    private readonly turn: AgentTurn,
  ) {}

  get usage(): Usage | null {
    return this.gathered.usage
  }

  get used(): { usage?: Usage } {
    return this.gathered.used
  }

  take(event: AgentEvent): void {
    if (this.reply !== undefined || this.question !== undefined) throw offContract('an event after its end')
    if (event?.type === 'text') this.turn.onText(String(event.text))
    else if (event?.type === 'usage') this.gathered.count(event.usage)
    else if (event?.type === 'note') this.turn.note(String(event.text).slice(0, limits.noteCharactersMax))
    else if (event?.type === 'state')
      this.storage.persist({ type: 'state_known', state: storedState(event.state) })
    else if (event?.type === 'tool_started') this.toolStarted(event)
    else if (event?.type === 'tool_finished') this.toolFinished(event)
    else if (event?.type === 'wait')
      this.question = { wait: event.kind === 'input' ? 'input' : 'approval', asks: checkAsks(event.asks) }
    else if (event?.type === 'done') this.reply = this.gathered.add(event.reply)
    else throw offContract(`an event ${shownEvent(event)}`)
  }

  private toolStarted({ call_id, tool, input }: Extract<AgentEvent, { type: 'tool_started' }>): void {
    if (!isName(call_id) || !isName(tool)) throw offContract('a tool without a name')
    const call = this.turn.callRecord({ call_id, name: tool, input: plainObject(input) })
    this.storage.persist({ type: 'program_tool_started', call })
  }

  private toolFinished(event: Extract<AgentEvent, { type: 'tool_finished' }>): void {
    const { call_id, tool } = event
    if (!isName(call_id) || !isName(tool)) throw offContract('a tool without a name')
    const { whole, content, is_error } = cappedResult(
      Buffer.from(String(event.output)),
      event.is_error === true,
    )
    if (is_error) this.toolFailedAtMs = clock.monotonic()
    const output = whole === null ? null : this.session.writeBlob(whole)
    this.storage.persist({ type: 'program_tool_finished', call_id, tool, content, is_error, output })
  }
}

function checkAsks(asks: unknown): Ask[] {
  if (!Array.isArray(asks) || asks.length === 0) throw offContract('a wait that asks for nothing')
  const room = Math.floor(limits.asksCharactersMax / asks.length)
  return asks.map((ask: Partial<Ask>) => {
    if (!isName(ask?.call_id) || !isName(ask.tool))
      throw offContract(`a question ${shownEvent(ask as never)}`)
    return { call_id: ask.call_id, tool: ask.tool, input: shortenedInput(plainObject(ask.input), room) }
  })
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= limits.callNameCharactersMax
}

/** As JSON has it: what is no object of its kind is shown as a whole. */
function plainObject(input: unknown): JsonObject {
  // First: to write a deep one as JSON is what it would break.
  if (isDeeperThan(input, limits.inputLevelsMax)) throw offContract('an input of too many levels')
  const value = JSON.parse(JSON.stringify(input ?? {})) as unknown
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : { value }
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
    // One that comes too late is let go.
    Promise.resolve(opening).then(
      (late) => letGo(late, 'stop'),
      () => undefined,
    )
    throw error
  }
}

/** Never throws and never hangs: a provider that cannot let go is left to recovery. */
async function letGo(agent: AgentSession | undefined, how: 'suspend' | 'stop'): Promise<string | null> {
  if (agent === undefined) return null
  try {
    if (how === 'stop') await withinGrace(agent.stop())
    else {
      const state = await withinGrace(agent.suspend())
      return state === null || state === undefined ? null : storedState(state)
    }
  } catch {
    // What matters of the turn is recorded already.
  }
  return null
}

/** As it is recorded. */
function storedState(state: unknown): string {
  if (!(state instanceof Uint8Array)) throw offContract('a state that is no bytes')
  if (state.length > limits.providerStateBytesMax)
    throw offContract(`a state of ${state.length} bytes; ${limits.providerStateBytesMax} are the most`)
  return Buffer.from(state).toString('base64')
}
