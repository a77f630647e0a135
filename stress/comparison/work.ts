/**
 * The work of a turn that is killed, and the model that asks for it. The work is a line appended to a file, so that repeated
 * work can be counted. The model behaves like a good one. If any text of the conversation mentions an interruption, it
 * checks for the line before it appends. If the result is there and no later prompt asks again, it finishes.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { ScriptedAnswer } from '../../test/support/model-server/scenario.js'
import { waitFor } from '../../test/support/wait.js'
import type { Asked } from '../real/model.js'
import type { Cli } from './cli.js'

/** Where the turn is when it is killed: the model or the tool has not answered, or the model has not seen the result. */
export const PHASES = ['thinking', 'tool', 'after tool'] as const
export type Phase = (typeof PHASES)[number]

const PROMPT = 'This is job-7: use the tool.'
const DONE = 'job-7-is-done'
const INTERRUPTION = /interrupted|outcome unknown|aborted|left off/i
/** A CLI that takes longer to reach its phase is taken to hang. */
const REACHED_MS_MAX = 120_000

export class Work {
  readonly prompt = PROMPT
  readonly reply = 'The job is finished.'
  /** How often the prompt stands in the conversation that the model saw last. */
  prompts = 0
  /** Whether that conversation mentions an interruption. */
  isWarned = false
  private isReached = false
  private isReleased = false
  private readonly held: (() => void)[] = []

  constructor(
    private readonly cli: Cli,
    readonly phase: Phase,
    private readonly file: string,
  ) {}

  async answer({ texts, tools }: Asked): Promise<ScriptedAnswer> {
    const given = texts.filter((text) => text.includes(PROMPT)).length
    // The CLI also asks for titles and summaries, without tools.
    if (given === 0 || !tools.includes(this.cli.runCall('').name)) return { text: 'ok' }
    this.prompts = given
    this.isWarned = texts.some((text) => INTERRUPTION.test(text))
    const lastOf = (words: string): number => texts.findLastIndex((text) => text.includes(words))
    if (lastOf(DONE) > lastOf(PROMPT) || (lastOf(DONE) >= 0 && this.isWarned)) return this.finish()
    if (this.phase === 'thinking') await this.hold()
    return { tool_calls: [this.cli.runCall(this.command())] }
  }

  async waitForPhase(): Promise<void> {
    const isThere = (): boolean => (this.phase === 'tool' ? this.timesDone() > 0 : this.isReached)
    await waitFor(isThere, `the phase ${this.phase}`, REACHED_MS_MAX)
  }

  /** From now on neither the model nor the tool is held. */
  release(): void {
    this.isReleased = true
    writeFileSync(`${this.file}.go`, '')
    for (const go of this.held) go()
  }

  timesDone(): number {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8').split('\n').length - 1 : 0
  }

  private async finish(): Promise<ScriptedAnswer> {
    if (this.phase === 'after tool') await this.hold()
    return { text: this.reply }
  }

  private command(): string {
    const append = `echo line >> '${this.file}'`
    if (this.isWarned) return `grep -q line '${this.file}' 2>/dev/null || ${append}; echo ${DONE}`
    if (this.phase !== 'tool') return `${append}; echo ${DONE}`
    return `${append}; while [ ! -e '${this.file}.go' ]; do sleep 0.05; done; echo ${DONE}`
  }

  private async hold(): Promise<void> {
    this.isReached = true
    if (this.isReleased) return
    await new Promise<void>((resolve) => {
      this.held.push(resolve)
    })
  }
}
