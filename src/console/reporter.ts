/**
 * Progress of a command: notes on stderr; with `--stream`, records on stdout; on a terminal, a live display (live/live.ts),
 * which other commands do not load.
 */
import type { Reporter } from '../dispatch/context.js'
import type { SessionRecord } from '../session/records.js'
import type { TurnProgress } from '../turn/ports.js'
import type { Live } from './live/live.js'
import { stderr, stdout } from './stdio.js'

export interface ReporterOptions {
  /** One JSON line per record on stdout. */
  isStream?: boolean
  /** The command prints the reply of the first agent that has a turn. */
  printsReply?: boolean
}

export class ConsoleReporter implements Reporter {
  /** By agent id: the secret of its latest token, until it is printed. A secret is printed once. */
  private readonly secrets = new Map<string, string>()
  /** By run: the message about its failure in the operator's inbox. */
  private readonly reports = new Map<string, string>()
  /** Agents whose turns are not the command's own. */
  private readonly muted = new Set<string>()
  private live: Live | undefined
  /** The calls until the display is loaded. Undefined without a display. */
  private early: ((live: Live) => void)[] | undefined
  /** Whether a person watches the terminal and wants more than the result. */
  readonly isLive: boolean
  /** Resolves once the display is loaded, or at once without one. For a command that gives timers no time. */
  readonly ready: Promise<void> = Promise.resolve()

  constructor(
    argv: string[],
    private readonly isJson: boolean,
    private readonly options: ReporterOptions,
  ) {
    this.isLive = canBeLive(process.env) && !isRefused(argv)
    if (!this.isLive) return
    this.early = []
    this.ready = import('./live/live.js').then(({ Live }) =>
      this.show(new Live(this.options.printsReply === true, this.showsText)),
    )
  }

  private get showsText(): boolean {
    const { isStream = false, printsReply = false } = this.options
    return printsReply && !isStream && !this.isJson && stdout.isTTY
  }

  private show(live: Live): void {
    // The command has ended meanwhile.
    if (this.early === undefined) live.close()
    this.live = live
    for (const act of this.early ?? []) act(live)
    this.early = undefined
  }

  private display(act: (live: Live) => void): void {
    if (this.live !== undefined) act(this.live)
    else this.early?.push(act)
  }

  record(record: SessionRecord, agentId: string, name?: string): void {
    const isMuted = this.muted.has(agentId)
    if (this.streams(agentId)) stdout.write(`${JSON.stringify({ agent: agentId, ...record })}\n`)
    if (name !== undefined) this.display((live) => live.record(record, agentId, name, isMuted))
  }

  mute(agentId: string): () => void {
    this.muted.add(agentId)
    return () => void this.muted.delete(agentId)
  }

  private streams(agentId: string): boolean {
    return this.options.isStream === true && !this.muted.has(agentId)
  }

  text(content: string, agentId: string, runId: string): void {
    const isMuted = this.muted.has(agentId)
    this.display((live) => live.text(content, agentId, isMuted))
    if (!this.streams(agentId)) return
    const partial = { agent: agentId, kind: 'message.agent', partial: true, run_id: runId, content }
    stdout.write(`${JSON.stringify(partial)}\n`)
  }

  progress(progress: TurnProgress, agentId: string): void {
    this.display((live) => live.progress(progress, agentId))
  }

  wait(text: () => string): () => void {
    let end: (() => void) | undefined
    let isOver = false
    this.display((live) => {
      if (!isOver) end = live.wait(text)
    })
    return () => {
      isOver = true
      end?.()
    }
  }

  count(what: string, done: number, total: number): void {
    this.display((live) => live.count(what, done, total))
  }

  /** Whether the terminal already shows the text as the last one of the turn. No text is shown after that. */
  hasShown(text: string): boolean {
    return this.live?.hasShown(text) ?? false
  }

  reported(runId: string, messageId: string): void {
    this.reports.set(runId, messageId)
  }

  /** The message about the failure of that run in the operator's inbox. */
  reportOf(runId: unknown): string | undefined {
    return this.reports.get(String(runId))
  }

  token(secret: string, agentId: string): void {
    this.secrets.set(agentId, secret)
  }

  /** Returns the secret of the agent's latest token once. The caller prints it. */
  takeSecret(agentId: string): string | null {
    const secret = this.secrets.get(agentId) ?? null
    this.secrets.delete(agentId)
    return secret
  }

  /** Prints the secrets that no result printed: those of other agents' turns that this command also ran. */
  noteSecrets(): void {
    for (const [agentId, secret] of this.secrets)
      this.note(`agent ${agentId} waits for a decision; token ${secret}`)
    this.secrets.clear()
  }

  note(text: string): void {
    stderr.line(`substrat: ${text}`)
  }

  noteRefusal(said: string): void {
    const isShown = this.hasShown(said)
    this.note(isShown ? 'the model said this before refusing' : `before refusing, the model said: ${said}`)
  }

  close(): void {
    this.early = undefined
    this.live?.close()
  }
}

/** A log of CI, or a terminal without cursor movement, would show every state of the display. */
function canBeLive({ TERM, CI }: NodeJS.ProcessEnv): boolean {
  return stderr.isTTY && TERM !== 'dumb' && !CI
}

function isRefused(argv: string[]): boolean {
  return isGiven(argv, '--no-live')
}

/** Whether the arguments have that flag of every command. */
export function isGiven(argv: string[], flag: string): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).includes(flag)
}
