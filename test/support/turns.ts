/** Turns of a session with the test's own provider, without the command line. */
import { randomUUID } from 'node:crypto'
import { bootId } from '../../src/host/identity.js'
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
import { planRetry } from '../../src/turn/ask/retry.js'
import { drive } from '../../src/turn/drive.js'
import type { TurnPorts } from '../../src/turn/ports.js'
import type { StopReason, ToolPolicy, TurnEvent } from '../../src/turn/step/turn-event.js'
import { Toolbox, type ToolboxOptions } from '../../src/turn/tools/toolbox.js'
import { treePorts } from './tree.js'

export class FakeStop {
  private readonly controller = new AbortController()
  private why: StopReason = 'shutdown'
  isClosed = false
  /**
   * Whether substrat has received a signal that the turn may not know of yet; `late`: the signal comes only once the
   * turn waits for it.
   */
  signalled: boolean | 'late' = false

  get signal(): AbortSignal {
    return this.controller.signal
  }
  reason(): StopReason {
    return this.why
  }
  askedBy(): undefined {
    return undefined
  }
  async isShuttingDown(waits: boolean): Promise<boolean> {
    return this.signalled === true || (waits && this.signalled === 'late')
  }
  mayHaveCaused(atMs: number): boolean {
    return this.signalled !== false && Number.isFinite(atMs)
  }
  endIfShuttingDown(): void {
    if (this.signalled === true) this.controller.abort()
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
  allow?: string[]
  stepsMax?: number
  toolbox?: Toolbox
  ports?: Partial<TurnPorts>
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
      allow: facts.allow ?? [],
      steps_max: facts.stepsMax ?? null,
      sources: [],
    },
  }
  const ports: TurnPorts = {
    provider,
    settings: settingsOf(session),
    toolbox: facts.toolbox ?? toolboxAt(session),
    environment: (run) => ({
      SUBSTRAT_HOME: session.store.address,
      SUBSTRAT_AGENT: session.id,
      SUBSTRAT_RUN: run.run_id,
      SUBSTRAT_LOG: session.store.local.logPath(session.id),
    }),
    takeSlot: async () => ({ release: async () => undefined }),
    planRetry: (error, failures, retryAfterMs, waits) =>
      planRetry(error, failures, retryAfterMs, { delaysMs: [0, 0, 0] }, waits),
    tokenExpiry: () => TOKEN_EXPIRY,
    onToken: () => undefined,
    onText: facts.onText ?? (() => undefined),
    onProgress: () => undefined,
    note: () => undefined,
    programTools: () => null,
    history: () => undefined,
    serveTools: () => ({
      respond: async () => undefined,
      listen: async () => undefined,
      close: () => undefined,
    }),
    keepsServers: false,
    isLast: () => true,
    isOver: () => false,
    ...facts.ports,
  }
  return drive(session, facts.first ?? begin, ports, () => facts.stop ?? new FakeStop())
}

/** When a token of these turns expires. */
export const TOKEN_EXPIRY = '2999-01-01T00:00:00.000Z'

export function toolboxAt(session: Session, over: Partial<ToolboxOptions> = {}): Toolbox {
  const { workspace } = session.state
  const tree = treePorts(session)
  return new Toolbox({
    workspace,
    home: session.store.address,
    timeoutMs: 3_600_000,
    servers: {},
    tree,
    ...over,
  })
}

/** The tools that tests mention; none of them can run. */
export const POLICY: ToolPolicy = {
  kindOf: (tool) => {
    switch (tool) {
      case 'read_file':
      case 'read_skill':
      case 'await_external':
        return 'reads'
      case 'write_file':
      case 'edit_file':
        return 'changes'
      case 'shell':
        return 'program'
      case 'ask_operator':
        return 'ask'
      default:
        return 'unknown'
    }
  },
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

/** Never resolves. */
export function hang(): Promise<never> {
  return new Promise(() => undefined)
}

export function kindsOf(session: Session): string[] {
  return [...session.records({ seq: 1, offset: 0 })].map(({ kind }) => kind)
}
