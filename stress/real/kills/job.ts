/**
 * The work of one turn, and the model that has the program do it: a line appended to a file, so that doubled work can be
 * counted. A model that reads that its turn was interrupted looks first whether the line is there; one that does not
 * read it appends.
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
/** For the record that a program never got there; no machine is so slow. */
const REACHED_MS_MAX = 600_000

/** What one request to the model shows of how often the job was given to this native session. */
interface Delivery {
  at: number
  bare: number
  told: number
  /** Of a prompt, not of the result of a tool. */
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

  /** The model's. Titles and the like are asked for without tools. */
  async answer({ texts, isAfterTool, tools }: Asked): Promise<ScriptedAnswer> {
    // Not by the id alone: the path in a command has it too, and the prompt after a decision quotes that command.
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

  /** The turn is in the middle of its phase, or will not be. */
  async reached(): Promise<void> {
    const isThere = (): boolean =>
      this.isReleased || (this.phase === 'tool' ? this.timesDone() > 0 : this.isReached)
    await waitFor(isThere, `the phase ${this.phase}`, REACHED_MS_MAX)
  }

  /** From here on nothing is held any more: neither the model nor the tool. */
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
    // A permission is for one request, word for word, however often it has to be made.
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
