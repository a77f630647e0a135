/** Drives the agents of a provider turn by turn, as commands of substrat would. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type {
  AgentEvent,
  AgentProvider,
  ProviderFailure,
  ProviderSettings,
  WaitAnswer,
} from '../../src/provider/contract.js'
import type { AgentHost } from '../../src/provider/host-contract.js'
import { killOrphanedGroup } from '../../src/provider/process-group.js'
import type { PluginFacts } from '../../src/provider/registry.js'
import { isAlive, type RecordedHost, recordedHost } from '../support/programs.js'
import { buildPlugin, folder } from './built.js'

/** A built plugin. */
export async function builtPlugin(name: string): Promise<PluginFacts> {
  await buildPlugin(name)
  const providers = { [name.replace(/^provider-/, '')]: `./${name}.cjs` }
  return { name, version: '1.0.0', root: folder, pjson: { substrat: { providers } } }
}

export interface Turn {
  events: AgentEvent[]
  text: string
  /** Undefined if the turn has none. */
  reply: string | undefined
  failure: ProviderFailure | undefined
}

export interface TurnOptions extends Partial<ProviderSettings> {
  allow?: string[]
  signal?: AbortSignal
  /** Continues with a decision instead of a prompt. */
  answer?: WaitAnswer
  onEvent?(event: AgentEvent): void
}

/** An agent and its sessions. Each turn opens the session anew, as another command of substrat would. */
export class DrivenAgent {
  readonly store = mkdtempSync(join(folder, 'store-'))
  state: Uint8Array | null = null
  tools: AgentHost['tools'] = null
  private recorded: RecordedHost | undefined

  constructor(
    readonly provider: AgentProvider,
    private readonly program: string,
    private readonly habits: string[],
  ) {}

  /** Command of the stand-in. */
  get command(): string {
    const words = [process.execPath, this.program, this.store, ...this.habits]
    return words.map((word) => `'${word}'`).join(' ')
  }

  settings({ options, ...over }: Partial<ProviderSettings> = {}): ProviderSettings {
    const standard = { workspace: folder, model: null, instructions: null }
    return { ...standard, ...over, options: { command: this.command, ...options } }
  }

  /** Runs a turn, and checks that no process of it is left, however it ended. */
  async turn(prompt: string | object[], options: TurnOptions = {}): Promise<Turn> {
    const { allow = [], signal = new AbortController().signal, answer, onEvent, ...over } = options
    const settings = this.settings(over)
    this.recorded ??= recordedHost()
    const { host: plain, groups, runId } = this.recorded
    const host: AgentHost = { ...plain, tools: this.tools }
    const events: AgentEvent[] = []
    let failure: ProviderFailure | undefined
    const session =
      this.state === null
        ? await this.provider.create(settings, host)
        : await this.provider.restore(this.state, settings, host)
    try {
      const text = typeof prompt === 'string' ? prompt : JSON.stringify(prompt)
      const stream = answer
        ? (session.answer?.(answer, { signal, allow }) ?? [])
        : session.send(text, { signal, allow })
      for await (const event of stream) {
        if (event.type === 'state') this.state = event.state
        events.push(event)
        onEvent?.(event)
      }
    } catch (error) {
      failure = error as ProviderFailure
    }
    for (const group of groups.splice(0)) expect(await killOrphanedGroup(group, runId)).toBe('gone')
    this.state = (await session.suspend()) ?? this.state
    const done = events.at(-1)
    return {
      events,
      text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
      reply: done?.type === 'done' ? done.reply : undefined,
      failure,
    }
  }

  /** Whether any process of a turn is still running. */
  isRunning(): boolean {
    return (this.recorded?.groups ?? []).some(({ process_group }) => isAlive(process_group))
  }

  /** The id of the current session. */
  protected sessionId(): string {
    return JSON.parse(Buffer.from(this.state ?? []).toString()).session_id
  }
}

export function eventsOf<T extends AgentEvent['type']>(
  { events }: Turn,
  type: T,
): Extract<AgentEvent, { type: T }>[] {
  return events.filter((event): event is Extract<AgentEvent, { type: T }> => event.type === type)
}

/** Aborts after this time. */
export function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new Error('stopped by the test')), ms)
  onTestFinished(() => clearTimeout(timer))
  return controller.signal
}

/** Aborts in the middle of the turn, after the agent's first text. */
export function abortAtText(): TurnOptions {
  const controller = new AbortController()
  return {
    signal: controller.signal,
    onEvent: ({ type }) => {
      if (type === 'text') controller.abort(new Error('stopped by the test'))
    },
  }
}
