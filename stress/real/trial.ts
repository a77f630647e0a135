/** One program in its own lab, with a loopback model that chooses its answer by the words of the prompt. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { processesWith } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import { type Ended, Lab, pathBeside, repository, type Started } from '../support/lab.js'
import { type Asked, type LooseModel, startLooseModel } from './model.js'
import { placeIn } from './place.js'
import type { Place, RealProgram } from './program.js'

/** The model's delay for a prompt with `be late`. */
const LATE_MS = 3000
/** The limit for a command that hangs. Every machine is faster. */
const RUN_MS_MAX = 900_000

export class Trial {
  substratHome = ''
  /** Prompts with `be slow` take a minute. */
  isSlow = false
  /** The file that a prompt with `use the tool` creates. */
  file = ''

  private constructor(
    readonly program: RealProgram,
    private readonly lab: Lab,
    readonly place: Place,
    readonly model: LooseModel,
    readonly env: Record<string, string>,
  ) {
    this.beginHome()
  }

  /** From now on commands use a new home and a new temporary directory. */
  beginHome(): void {
    this.substratHome = this.lab.newHome()
    this.env.TMPDIR = pathBeside(this.substratHome, 'tmp')
    mkdirSync(this.env.TMPDIR)
  }

  static async open(program: RealProgram, executable: string): Promise<Trial> {
    const lab = Lab.open()
    const model = await startLooseModel((asked) => trial.answer(asked))
    const place = placeIn(lab, model.url, executable)
    // The cases check that a turn leaves no process, so the provider must not keep a server.
    const env = { ...program.configure(place), SUBSTRAT_WARM_MAX: '0' }
    const trial: Trial = new Trial(program, lab, place, model, env)
    await trial.link(program)
    return trial
  }

  /** Adds another program in the same place. */
  async add(program: RealProgram, executable: string): Promise<void> {
    Object.assign(this.env, program.configure({ ...this.place, program: executable }))
    await this.link(program)
  }

  private async link({ provider }: RealProgram): Promise<void> {
    if (provider !== 'exec')
      await this.ok('plugins', 'link', join(repository, `plugins/provider-${provider}`))
  }

  async close(): Promise<void> {
    await this.model.close()
    this.lab.close()
  }

  /** The environment of a program that runs without substrat. */
  get userEnvironment(): Record<string, string> {
    const { SUBSTRAT_HOME: _, ...user } = this.lab.environment(this.substratHome)
    return { ...user, ...this.env }
  }

  private answer(asked: Asked): ReturnType<LooseModel['answer']> {
    const { latest, texts, isAfterTool, tools } = asked
    if (this.isSlow && latest.includes('be slow')) return { text: 'word '.repeat(1500), event_delay_ms: 100 }
    if (latest.includes('be late')) return { text: 'this is late', delay_ms: LATE_MS }
    if (latest.includes('be unknown'))
      return { fault: { error: 'authentication', message: 'Incorrect API key provided.' } }
    if (latest.includes('be forbidden'))
      return {
        fault: {
          error: 'permission',
          message: 'Your API key does not have permission to use the specified resource.',
        },
      }
    if (latest.includes('be filtered')) return { text: 'First you', stop: 'filter' }
    const listChildren = tools.find((name) => name.includes('list_children'))
    if (latest.includes('list your children') && !isAfterTool && listChildren !== undefined) {
      return { tool_calls: [{ name: listChildren, input: {} }] }
    }
    const call = this.program.runCall(`echo made > ${this.file}`)
    const wantsTool = /use the tool|approved|granted/i.test(latest) && !isAfterTool
    // Programs also ask for titles and the like, without tools.
    if (wantsTool && this.file !== '' && tools.includes(call.name)) return { tool_calls: [call] }
    if (isAfterTool) return { text: `the tool said: ${texts.at(-1)}` }
    const marks = texts.flatMap((text) => text.match(/mark-\w+/g) ?? [])
    return { text: `heard ${[...new Set(marks)].join(', ')}`, usage: { input_tokens: 10, output_tokens: 5 } }
  }

  start(...argv: string[]): Started {
    return this.lab.start(this.substratHome, argv, { env: this.env, timeoutMs: RUN_MS_MAX })
  }

  run(...argv: string[]): Promise<Ended> {
    return this.start(...argv).ended
  }

  /** Runs a command that must succeed; returns its stdout. */
  async ok(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...argv)
    if (code !== 0) throw new Error(`substrat ${argv.join(' ')} exited ${code}: ${oneLine(stderr || stdout)}`)
    return stdout.trim()
  }

  spawn(name: string, ...more: string[]): Promise<Ended> {
    const { provider } = this.program
    return this.run(
      'spawn',
      '--name',
      name,
      '--provider',
      provider,
      ...this.program.flags(this.place),
      ...more,
    )
  }

  /** Sends, and expects these words in the reply. */
  async replies(argv: string[], ...words: string[]): Promise<void> {
    const reply = await this.ok(...argv)
    const missing = words.filter((word) => !reply.includes(word))
    if (missing.length > 0) throw new Error(`the reply has no ${missing.join(', ')}: ${oneLine(reply)}`)
  }

  /** Starts a slow turn, and resolves while its text is streaming. */
  startSlow(agent: string, message: string): Promise<Started> {
    this.isSlow = true
    return this.startAndMeet(agent, `${message}, be slow`)
  }

  /** Starts a turn, and resolves when the model has been asked. */
  startAndMeet(agent: string, message: string): Promise<Started> {
    return this.meet(['send', agent, message], message)
  }

  /** Starts a command, and resolves when it has asked the model for this. */
  async meet(argv: string[], message: string): Promise<Started> {
    const before = this.model.asked.length
    const sender = this.start(...argv)
    const isAsked = (): boolean =>
      this.model.asked.slice(before).some(({ latest }) => latest.includes(message))
    await Promise.race([
      waitFor(isAsked, 'the model to be asked', 60_000),
      sender.ended.then(({ stderr }) => {
        throw new Error(`the turn ended: ${oneLine(stderr)}`)
      }),
    ])
    // Programs write their sessions with a short delay.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    return sender
  }

  /** How often the latest message of a request had these words. */
  askedWith(words: string): number {
    return this.model.asked.filter(({ latest }) => latest.includes(words)).length
  }

  leftProcesses(): number[] {
    return processesWith(`SUBSTRAT_HOME=${this.substratHome}`)
  }

  async nothingRuns(timeoutMs = 5000): Promise<void> {
    await waitFor(() => this.leftProcesses().length === 0, 'the last process to go', timeoutMs)
  }
}

export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300)
}
