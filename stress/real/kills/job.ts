/**
 * The work of one turn: a line appended to a file, so that repeated work can be counted. If the model reads that its
 * turn was interrupted, it checks for the line before it appends; otherwise it appends at once.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { ScriptedAnswer } from '../../../test/support/model-server/scenario.js'
import { waitFor } from '../../../test/support/wait.js'
import type { Asked } from '../model.js'
import type { RealProgram } from '../program.js'

export const PHASES = ['thinking', 'tool', 'after tool', 'permission'] as const
export type Phase = (typeof PHASES)[number]

const TOLD = /interrupted/i
const DONE = 'made-ok'
/** A program that takes longer is recorded as never getting there. Every machine is faster. */
const REACHED_MS_MAX = 600_000

/** One model request: how often the native session had the prompt by then. */
interface Delivery {
  at: number
  bare: number
  told: number
  /** For a prompt, not for a tool result. */
  isNew: boolean
}

export class Job {
  readonly prompt: string
  readonly reply: string
  readonly deliveries: Delivery[] = []
  private isReached = false
  private isReleased = false
  private readonly waiting: (() => void)[] = []

  constructor(
    private readonly id: string,
    readonly phase: Phase,
    private readonly program: RealProgram,
    private readonly file: string,
  ) {
    this.prompt = `This is ${id}: use the tool.`
    this.reply = `done with ${id}`
  }

  /** The model's answer. Programs also ask for titles and the like, without tools. */
  async answer({ texts, isAfterTool, tools }: Asked): Promise<ScriptedAnswer> {
    // The id alone is not enough: a command's path contains it, and the prompt after a decision quotes that command.
    const given = texts.filter((text) => text.includes(this.prompt))
    const { name } = this.program.runCall('')
    if (given.length === 0 || !tools.includes(name)) return { text: 'ok' }
    const told = given.filter((text) => TOLD.test(text)).length
    this.deliveries.push({ at: performance.now(), bare: given.length - told, told, isNew: !isAfterTool })
    if (isAfterTool) return this.reportOn(texts.at(-1) ?? '')
    if (this.phase === 'thinking') await this.hold()
    if (this.phase === 'permission') this.isReached = true
    return { tool_calls: [this.program.runCall(this.command(told > 0))] }
  }

  /** Resolves when the turn is in the middle of its phase; rejects if it never gets there. */
  async waitForPhase(): Promise<void> {
    const isThere = (): boolean =>
      this.isReleased || (this.phase === 'tool' ? this.timesDone() > 0 : this.isReached)
    await waitFor(isThere, `the phase ${this.phase}`, REACHED_MS_MAX)
  }

  /** From here on neither the model nor the tool waits. */
  release(): void {
    this.isReleased = true
    writeFileSync(this.goFile, '')
    for (const go of this.waiting) go()
  }

  timesDone(): number {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8').split('\n').length - 1 : 0
  }

  private get goFile(): string {
    return `${this.file}.go`
  }

  private async reportOn(result: string): Promise<ScriptedAnswer> {
    if (this.phase === 'after tool') await this.hold()
    return {
      text: result.includes(DONE) ? this.reply : `no success with ${this.id}: ${result.slice(0, 200)}`,
    }
  }

  private command(isTold: boolean): string {
    const append = `echo made >> '${this.file}'`
    // A permission is for one request, word for word, even if it is repeated.
    const careful = `grep -q made '${this.file}' 2>/dev/null || ${append}; echo ${DONE}`
    if (isTold || this.phase === 'permission') return careful
    if (this.phase !== 'tool') return `${append}; echo ${DONE}`
    return `${append}; while [ ! -e '${this.goFile}' ]; do sleep 0.05; done; echo ${DONE}`
  }

  private async hold(): Promise<void> {
    this.isReached = true
    if (this.isReleased) return
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve)
    })
  }
}
