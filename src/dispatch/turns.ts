/** One turn of an agent whose lock we hold: a slot, its provider, and the loop. */
import { randomUUID } from 'node:crypto'
import { SubstratError } from '../errors.js'
import { takeSlot } from '../provider/slots.js'
import { settingsOf } from '../recovery/settle.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { bootId } from '../storage/identity.js'
import { drive, type TurnPorts } from '../turn/drive.js'
import { recoveryPrompt } from '../turn/history.js'
import type { Continuation, ProviderKind, RunRequest, TurnEvent } from '../turn/step.js'
import { type StopSignal, watchForStop } from '../turn/stop.js'
import type { Context } from './context.js'

export interface TurnOptions {
  /** Whether the session comes to rest with this turn; asked when it ends. */
  isLast(): boolean
}

/** A new run. Nothing of it is stored where no slot becomes free. */
export function startTurn(
  ctx: Context,
  session: Session,
  request: Pick<RunRequest, 'prompt' | 'key' | 'digest' | 'turn_timeout_ms'>,
  options: TurnOptions,
): Promise<Run> {
  const run: RunRequest = { run_id: randomUUID(), boot_id: bootId(), ...request }
  return runTurn(ctx, session, (provider) => ({ type: 'begin', provider, run }), options)
}

/** The turn that an agent was born with. */
export function firstTurn(ctx: Context, session: Session, options: TurnOptions): Promise<Run> {
  return runTurn(ctx, session, (provider) => ({ type: 'ask', provider }), options)
}

/** The open run of a process that is gone, taken up again. */
export function resumeTurn(
  ctx: Context,
  session: Session,
  auto: boolean,
  options: TurnOptions,
): Promise<Run> {
  return runTurn(ctx, session, (provider) => ({ type: 'go_on', provider, boot_id: bootId(), auto }), options)
}

/** A new run that continues the interrupted one. Its key is the same, so that who sent with that key gets this reply. */
export async function continueTurn(
  ctx: Context,
  session: Session,
  auto: boolean,
  options: TurnOptions,
): Promise<Run> {
  const { run_id, key, digest, turn_timeout_ms } = session.state.run as Run
  const { kind } = await ctx.providers.load(session.state.provider_name)
  // A model has the conversation, with the question at its end; a program must be told.
  const content = kind === 'model' ? null : recoveryPrompt(session)
  const prompt: Continuation = { origin: 'continuation', continues: run_id, auto, content }
  return startTurn(ctx, session, { prompt, key, digest, turn_timeout_ms }, options)
}

async function runTurn(
  ctx: Context,
  session: Session,
  first: (provider: ProviderKind) => TurnEvent,
  { isLast }: TurnOptions,
): Promise<Run> {
  const { store, bounds, shutdown, reporter } = ctx
  const settings = settingsOf(session)
  const provider = await ctx.providers.check(session.state.provider_name, settings)
  const slot = await takeSlot(store, {
    slotsMax: bounds.slotsMax,
    waitMs: bounds.waitMs,
    command: ctx.command,
    signal: shutdown.whenRequested,
    onWait: () => reporter.note(`waiting for one of ${bounds.slotsMax} slots for provider calls`),
  }).catch((error) => {
    throw shutdown.requested === undefined ? error : stoppedWaiting(shutdown.requested)
  })
  const ports = (run: Run): TurnPorts => ({
    provider,
    settings,
    stop: watchForStop(
      store,
      { agentId: session.id, runId: run.run_id, turnTimeoutMs: run.turn_timeout_ms ?? bounds.turnTimeoutMs },
      shutdown,
    ),
    environment: environmentOf(store.root, session, run),
    onText: (text) => reporter.text(text, session.id, run.run_id),
    isLast: () => isLast() || shutdown.requested !== undefined,
  })
  // From the first record on, so that no signal finds a turn that nobody ends.
  shutdown.listen()
  try {
    return await drive(session, first(provider.kind), ports)
  } finally {
    await slot.release()
  }
}

function stoppedWaiting(signal: StopSignal): SubstratError {
  return new SubstratError(
    `STOPPED_${signal}`,
    `stopped by ${signal} while waiting for a slot: no turn was begun`,
    {
      hint: 'run the same command again later',
    },
  )
}

function environmentOf(root: string, session: Session, run: Run): Record<string, string> {
  return {
    SUBSTRAT_HOME: root,
    SUBSTRAT_AGENT: session.id,
    SUBSTRAT_RUN: run.run_id,
    SUBSTRAT_LOG: session.store.logPath(session.id),
  }
}
