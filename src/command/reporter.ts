/** Progress of a command: notes and a spinner on stderr; with `--stream`, records on stdout. */
import { clock } from '../clock.js'
import type { Reporter } from '../dispatch/context.js'
import type { SessionRecord } from '../session/records.js'
import { printableText } from './output.js'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 100
/** No spinner before this time: it would only flicker in a quick turn. */
const QUIET_MS = 300

export class ConsoleReporter implements Reporter {
  private spinner: NodeJS.Timeout | undefined
  /** By agent id: the secret of its latest token, until it is printed. A secret is printed once. */
  private readonly secrets = new Map<string, string>()

  constructor(private readonly options: { isStream: boolean; isJson: boolean }) {}

  record(record: SessionRecord, agentId: string): void {
    if (this.options.isStream) process.stdout.write(`${JSON.stringify({ agent: agentId, ...record })}\n`)
    if (record.kind === 'run.started' || record.kind === 'run.resumed') this.spin()
    if (record.kind.startsWith('run.') && record.kind !== 'run.started' && record.kind !== 'run.resumed')
      this.clearSpinner()
  }

  text(content: string, agentId: string, runId: string): void {
    if (!this.options.isStream) return
    const partial = { agent: agentId, kind: 'message.agent', partial: true, run_id: runId, content }
    process.stdout.write(`${JSON.stringify(partial)}\n`)
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
    const wasSpinning = this.spinner !== undefined
    this.clearSpinner()
    process.stderr.write(`substrat: ${printableText(text, process.stderr)}\n`)
    if (wasSpinning) this.spin()
  }

  clearSpinner(): void {
    if (this.spinner === undefined) return
    clearInterval(this.spinner)
    this.spinner = undefined
    process.stderr.write('\r\u001b[K')
  }

  private spin(): void {
    if (process.stderr.isTTY !== true || this.spinner !== undefined) return
    const start = clock.monotonic()
    this.spinner = setInterval(() => {
      const elapsed = clock.monotonic() - start
      if (elapsed < QUIET_MS) return
      const frame = FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length]
      process.stderr.write(`\r\u001b[K${frame} thinking, ${Math.floor(elapsed / 1000)} s`)
    }, FRAME_MS)
    this.spinner.unref()
  }
}
