/** Turns of a session with a provider of the test's own, without the command line. */
import { randomUUID } from 'node:crypto'
import type {
  AgentProvider,
  ModelEvent,
  ModelProvider,
  ModelRequest,
  Provider,
} from '../../src/provider/contract.js'
import { settingsOf } from '../../src/recovery/settle.js'
import type { Session } from '../../src/session/session.js'
import type { Run } from '../../src/session/state.js'
import { bootId } from '../../src/storage/identity.js'
import { drive } from '../../src/turn/drive.js'
import type { StopReason, TurnEvent } from '../../src/turn/turn-event.js'

export class FakeStop {
  private readonly controller = new AbortController()
  private why: StopReason = 'shutdown'
  isClosed = false

  get signal(): AbortSignal {
    return this.controller.signal
  }
  reason(): StopReason {
    return this.why
  }
  stop(why: StopReason): void {
    this.why = why
    this.controller.abort()
  }
  close(): void {
    this.isClosed = true
  }
}

export interface TurnFacts {
  prompt?: string
  stop?: FakeStop
  onText?: (text: string) => void
  first?: TurnEvent
}

export function runTurn(session: Session, provider: Provider, facts: TurnFacts = {}): Promise<Run> {
  const begin: TurnEvent = {
    type: 'begin',
    provider: provider.kind,
    run: {
      run_id: randomUUID(),
      boot_id: bootId(),
      prompt: { origin: 'operator', content: facts.prompt ?? 'hi' },
      key: null,
      digest: null,
      turn_timeout_ms: null,
    },
  }
  return drive(session, facts.first ?? begin, (run) => ({
    provider,
    settings: settingsOf(session),
    stop: facts.stop ?? new FakeStop(),
    environment: {
      SUBSTRAT_HOME: session.store.root,
      SUBSTRAT_AGENT: session.id,
      SUBSTRAT_RUN: run.run_id,
      SUBSTRAT_LOG: session.store.logPath(session.id),
    },
    onText: facts.onText ?? (() => undefined),
    isLast: () => true,
  }))
}

export function model(
  complete: (request: ModelRequest, options: { signal: AbortSignal }) => unknown,
): ModelProvider {
  return {
    kind: 'model',
    description: 'a model of the test',
    options: {},
    complete: complete as ModelProvider['complete'],
  }
}

export function agent(parts: Partial<Record<'create' | 'restore' | 'inspect', unknown>>): AgentProvider {
  const { create } = parts
  return {
    kind: 'agent',
    description: 'an agent of the test',
    options: {},
    inspect: async () => ({ outcome: 'unknown' }),
    restore: create,
    ...parts,
  } as AgentProvider
}

export async function* says(...events: ModelEvent[]): AsyncIterable<ModelEvent> {
  yield* events
}

/** For ever, whatever happens. */
export function hang(): Promise<never> {
  return new Promise(() => undefined)
}

export function kindsOf(session: Session): string[] {
  return [...session.records({ seq: 1, offset: 0 })].map(({ kind }) => kind)
}
