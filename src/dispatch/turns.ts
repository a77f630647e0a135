/** Runs one turn of an agent that this process holds: takes a slot, and drives the provider and the tools. */
import { clock } from '../clock.js'
import { RUN_AGAIN, SubstratError } from '../errors.js'
import { bootId } from '../host/identity.js'
import type { Provider, ProviderSettings } from '../provider/contract.js'
import type { McpStdioServer } from '../provider/host-contract.js'
import { isServerAlive, stopKeptServerOrThrow } from '../provider/kept-server.js'
import { takeSlot } from '../provider/slots.js'
import { TOOL_SERVER } from '../recovery/heard.js'
import { settingsOf } from '../recovery/settle.js'
import { reasonInState } from '../recovery/visit-reason.js'
import { type MessageOptions, messageOptions } from '../schema/message.js'
import type { Ask, PromptSource } from '../schema/types.js'
import { openForRead } from '../session/load.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { planRetry } from '../turn/ask/retry.js'
import { hasUnit, scopesOver } from '../turn/budget/scopes.js'
import { TurnBudget } from '../turn/budget/turn-budget.js'
import { drive } from '../turn/drive.js'
import type { TurnPorts } from '../turn/ports.js'
import { contextOfTurn } from '../turn/prompt/context.js'
import { recoveryNotice } from '../turn/prompt/history.js'
import { recoveryPrompt } from '../turn/prompt/program-prompt.js'
import { assemblePrompt } from '../turn/prompt/prompt.js'
import type { Continuation, ProviderKind, RunRequest, TurnEvent } from '../turn/step/turn-event.js'
import { type StopSignal, type TurnStop, watchForStop } from '../turn/stop.js'
import type { Decided } from '../turn/tokens.js'
import { serveTools } from '../turn/tools/serve.js'
import { variablesOf } from '../turn/tools/tool.js'
import { turnIdentity } from '../turn/turn-identity.js'
import { uncountedError } from './budget-errors.js'
import type { Context } from './context.js'
import { findLaunchedRun } from './keyed-message.js'
import { flushOutbox } from './outbox.js'
import { type RefusedMessage, recordRefusal } from './refusal.js'
import { conversationText, HISTORY_HEAD, seedAgain } from './seed.js'
import { toolboxOf } from './toolbox.js'
import { refuseElsewhere } from './turn-obstacle.js'
import { withCapsNow } from './view-budget.js'

export interface TurnOptions {
  /** Whether no other turn follows in this visit; called when the turn ends. */
  isLast(): boolean
}

/** The message of a turn, and its options. `allow` adds to the tools of the agent and of the settings. */
export type TurnMessage = Pick<RunRequest, 'prompt'> & MessageOptions

/** Starts a new run. If no slot becomes free, nothing is stored. */
export function startTurn(
  ctx: Context,
  session: Session,
  message: TurnMessage,
  options: TurnOptions,
): Promise<Run> {
  const run = newRun(ctx, session, message)
  return runTurn(
    ctx,
    session,
    message,
    (provider, sources) => ({ type: 'begin', provider, run: { ...run, sources } }),
    options,
  )
}

/** The run of a message. Without a session, that of a new agent. */
export function newRun(ctx: Context, session: Session | undefined, message: TurnMessage): RunRequest {
  const { prompt, key } = message
  const isNew = session === undefined || prompt.origin === 'continuation'
  return {
    ...message,
    ...(isNew || message.fresh === true ? {} : contextOfTurn(session)),
    run_id: randomUuid(),
    boot_id: bootId(),
    digest: key === null ? null : message.digest,
    allow: allowedTools(ctx, session, message.allow),
    repeats: isNew ? undefined : findLaunchedRun(ctx.store, session.state, key),
    sources: [],
  }
}

/** Runs the turn of the prompt that the agent was spawned with. */
export function firstTurn(ctx: Context, session: Session, options: TurnOptions): Promise<Run> {
  return runTurn(
    ctx,
    session,
    session.state.run,
    (provider, sources) => ({ type: 'ask', provider, sources }),
    options,
  )
}

/** Resumes an open run whose process died, or one that waited for a time that has come. */
export function resumeTurn(
  ctx: Context,
  session: Session,
  auto: boolean,
  options: TurnOptions,
): Promise<Run> {
  const notice = session.state.run?.wait === null ? recoveryNotice(session.state) : null
  const boot_id = bootId()
  return runTurn(
    ctx,
    session,
    session.state.run,
    (provider, sources) => ({ type: 'go_on', provider, boot_id, auto, notice, sources }),
    options,
  )
}

/** Continues a parked run with a decision. */
export function decideTurn(
  ctx: Context,
  session: Session,
  decided: Decided,
  asks: Ask[],
  options: TurnOptions,
): Promise<Run> {
  return runTurn(
    ctx,
    session,
    session.state.run,
    (provider, sources) => ({ type: 'decided', provider, boot_id: bootId(), decided, asks, sources }),
    options,
  )
}

/**
 * Starts a run that continues the interrupted one, with the same key, so that the sender of the key gets this reply.
 */
export async function continueTurn(
  ctx: Context,
  session: Session,
  auto: boolean,
  options: TurnOptions,
): Promise<Run> {
  const run = session.state.run as Run
  const { run_id, hasLaunched } = run
  // A model receives the conversation, which ends with the prompt. A program that was launched for it needs a notice.
  const content = hasLaunched ? recoveryPrompt(session) : null
  const prompt: Continuation = { origin: 'continuation', continues: run_id, auto, content }
  return startTurn(ctx, session, { prompt, ...messageOptions(run) }, options)
}

/** The tools that need no approval in a run. They are fixed when the run starts. */
function allowedTools(ctx: Context, session: Session | undefined, more: string[]): string[] {
  return [...new Set([...(session?.state.allow ?? []), ...ctx.tools.allow, ...more])]
}

/** The provider, if it can run the turn of this message now. Otherwise the refusal is recorded. */
export async function readyProvider(
  ctx: Context,
  session: Session,
  message: RefusedMessage | null,
): Promise<Provider> {
  const { provider_name } = session.state
  try {
    const provider = await ctx.providers.checkTurn(provider_name, settingsOf(session))
    refuseUncounted(ctx, session, provider)
    return provider
  } catch (error) {
    throw recordRefusal(ctx, session, error, message)
  }
}

/** Undefined in a store without accounts, which no home with a cap can use. */
export function budgetOf({ bounds, command }: Context, session: Session): TurnPorts['budget'] {
  const { store } = session
  if (store.accounts === undefined) {
    TurnBudget.of(session, bounds.budget, command)
    return undefined
  }
  const rules = withCapsNow(store, bounds.budget)
  return { of: new TurnBudget(session, rules, command), turn: rules.turn, waitMs: bounds.waitMs }
}

/** A provider that reports no cost would make a cap in dollars useless. */
function refuseUncounted({ store, bounds }: Context, { state }: Session, { reports }: Provider): void {
  if (reports?.usd === true) return
  const scopes = scopesOver(store, state, bounds.budget)
  const scope = hasUnit(scopes, 'usd')
    ? scopes.find(({ caps }) => caps.some(({ unit }) => unit === 'usd'))
    : undefined
  if (scope !== undefined) throw uncountedError(state, scope.path)
}

async function runTurn(
  ctx: Context,
  session: Session,
  message: RefusedMessage | null,
  first: (provider: ProviderKind, sources: PromptSource[]) => TurnEvent,
  options: TurnOptions,
): Promise<Run> {
  refuseElsewhere(ctx.store, session.state)
  const provider = await readyProvider(ctx, session, message)
  // Handle signals from the first record on, so that a signal never leaves the run open.
  ctx.shutdown.listen()
  const run = await driveRun(ctx, session, provider, settingsOf(session), first, options)
  // Send the reply before this agent does anything else.
  await flushOutbox(ctx, session, false)
  // No further turn carries the record of that. A command prints it before the outcome.
  if (options.isLast()) session.appendLast([])
  return run
}

async function driveRun(
  ctx: Context,
  session: Session,
  provider: Provider,
  settings: ProviderSettings,
  first: (provider: ProviderKind, sources: PromptSource[]) => TurnEvent,
  options: TurnOptions,
): Promise<Run> {
  if (provider.kind === 'agent') {
    await refuseBesideServer(ctx, session)
    const event = first('agent', [])
    seedAgain(session, {
      continuesTurn: event.type !== 'begin' || event.run.prompt.origin === 'continuation',
    })
    return drive(session, event, portsOf(ctx, session, { provider, settings }, options), stopOf(ctx, session))
  }
  const places = { workspace: settings.workspace, home: ctx.store.address }
  const { instructions, sources } = assemblePrompt(places, settings.instructions)
  const ports = portsOf(ctx, session, { provider, settings: { ...settings, instructions } }, options)
  return drive(session, first('model', sources), ports, stopOf(ctx, session))
}

/** Call before anything of the turn is stored. The turn itself uses or ends a kept server that is alive. */
async function refuseBesideServer(ctx: Context, session: Session): Promise<void> {
  const { warm } = session.state
  if (warm !== undefined && !isServerAlive(ctx.store.address, warm))
    await stopKeptServerOrThrow(session, (text) => ctx.reporter.note(text))
}

function portsOf(
  ctx: Context,
  session: Session,
  { provider, settings }: Pick<TurnPorts, 'provider' | 'settings'>,
  { isLast }: TurnOptions,
): TurnPorts {
  const { store, bounds, reporter, shutdown } = ctx
  const toolbox = toolboxOf(ctx, session)
  return {
    provider,
    settings,
    toolbox,
    environment: (run) => ({
      ...environmentOf(store.address, session, run),
      ...(provider.kind === 'agent' && provider.isOneCall === true
        ? variablesOf(turnIdentity(session, run))
        : {}),
    }),
    takeSlot: (signal) =>
      takeSlot(store, {
        slotsMax: bounds.slotsMax,
        waitMs: bounds.waitMs,
        command: ctx.command,
        lender: lenderOf(ctx),
        signal: signal ?? shutdown.whenRequested,
        onWait: () => reporter.note(`waiting for one of ${bounds.slotsMax} slots for provider calls`),
      }).catch((error) => {
        throw shutdown.requested === undefined || signal !== undefined
          ? error
          : stoppedWaiting(shutdown.requested)
      }),
    planRetry: (error, failures, retryAfterMs, waits) =>
      planRetry(error, failures, retryAfterMs, { delaysMs: bounds.retryDelaysMs }, waits),
    budget: budgetOf(ctx, session),
    tokenExpiry: () => new Date(clock.now() + bounds.tokenLifetimeMs).toISOString(),
    onToken: (secret) => reporter.token(secret, session.id),
    onText: (text) => reporter.text(text, session.id, session.state.run?.run_id ?? ''),
    onProgress: (progress) => reporter.progress(progress, session.id),
    note: (text) => reporter.note(text),
    programTools: (run) => (toolbox.offers(run.allow) ? programTools(store.address, session, run) : null),
    // The latest turn is the one that this prompt begins or continues.
    history: () => conversationText(store, session.id, { continuesTurn: true, head: HISTORY_HEAD }),
    serveTools: (call) => serveTools(store, session, toolbox.treeDefinitions, call),
    keepsServers: ctx.keptServers.keeps && ctx.keptServers.max > 0,
    isLast: () => isLast() || shutdown.requested !== undefined,
    isOver: (state) => state.state === 'suspended' && !state.isDone && reasonInState(state) === undefined,
  }
}

/**
 * The agent whose program runs this command and holds a slot meanwhile, which it lends. A model's tool holds no slot.
 */
function lenderOf({ store, caller }: Context): string | undefined {
  if (caller === null) return undefined
  const run = openForRead(store, caller)?.state.run
  return run?.status === 'open' && run.process !== null ? caller : undefined
}

function stopOf(ctx: Context, session: Session): (run: Run) => TurnStop {
  return (run) => {
    const turnTimeoutMs = run.turn_timeout_ms ?? ctx.bounds.turnTimeoutMs
    return watchForStop(ctx.store, { agentId: session.id, runId: run.run_id, turnTimeoutMs }, ctx.shutdown)
  }
}

function stoppedWaiting(signal: StopSignal): SubstratError {
  return new SubstratError(
    `STOPPED_${signal}`,
    `stopped by ${signal} while waiting for a slot: no turn was started`,
    {
      hint: `later, ${RUN_AGAIN}`,
    },
  )
}

/** The command that starts `substrat mcp`. The environment is complete, because the program may not pass on its own. */
function programTools(root: string, session: Session, run: Run): McpStdioServer {
  const [command, script = ''] = [process.execPath, process.argv[1]]
  return { name: TOOL_SERVER, command, args: [script, 'mcp'], env: environmentOf(root, session, run) }
}

function environmentOf(root: string, session: Session, run: Run): Record<string, string> {
  return {
    SUBSTRAT_HOME: root,
    SUBSTRAT_AGENT: session.id,
    SUBSTRAT_RUN: run.run_id,
    ...(run.key === null ? {} : { SUBSTRAT_MESSAGE_KEY: run.key }),
    SUBSTRAT_LOG: session.store.label({ kind: 'log', agentId: session.id }),
    SUBSTRAT_SOCKET: session.store.local.socketPath(session.id, run.run_id),
  }
}
