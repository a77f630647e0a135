/**
 * Agent programs with hostile output: each of the four published plugins against a stand-in.
 *
 * The turn must end with a documented exit status. It writes nothing elsewhere, leaves no process running, and sends no
 * control sequence to a terminal. The next turn, with a well-behaved program, must be answered.
 */
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Ended, type Lab, type RunOptions, repository, type Started } from '../support/lab.js'
import type { Findings } from './finding.js'
import { type Case, cases, type Hostile, PLUGINS, type Plugin, VALUES } from './hostile-cases.js'
import { onTerminal, STEERING } from './terminal.js'

const KIND = 'hostile agent'

const MEMORY_MB_MAX = 250
const MS_MAX = 20_000
const ENDLESS_TIMEOUT = '2s'
/** Long enough for a permission request that is never withdrawn: its program is killed by the timeout. */
const TURN_TIMEOUT = '8s'

export async function runHostileAgents(
  lab: Lab,
  findings: Findings,
  every = 1,
  wide = 2,
  plugins: readonly Plugin[] = PLUGINS,
): Promise<void> {
  const ground = new Ground(lab)
  const waiting: (() => Promise<void>)[] = []
  let turn = 0
  const add = (plugin: Plugin, each: Case): void => {
    turn += 1
    if (turn % every === 0 && findings.begin(KIND, `${plugin}: ${each.name}`))
      waiting.push(() => ground.run(plugin, each, findings))
  }
  for (const plugin of plugins) {
    for (const each of cases()) if (each.plugins?.includes(plugin) ?? true) add(plugin, each)
    const fields = await ground.count(plugin)
    for (let at = 1; at <= fields; at += 1)
      for (const by of VALUES) {
        const name = `field ${at} is ${JSON.stringify(by)}`
        add(plugin, { name, hostile: { at, by, values: at % 3 === 0 ? { more: { x: 1 } } : {} } })
      }
  }
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next()
  }
  await Promise.all(Array.from({ length: wide }, worker))
  ground.close(findings)
}

/** An installation with the four plugins. The stand-in takes the place of their programs. */
class Ground {
  private readonly before: string[]
  private readonly cases: string
  private readonly temp: string

  constructor(private readonly lab: Lab) {
    const data = join(lab.root, 'user/data/substrat')
    mkdirSync(data, { recursive: true })
    const plugins = PLUGINS.map((plugin) => ({
      type: 'link',
      name: `substrat-provider-${plugin}`,
      root: join(repository, `plugins/provider-${plugin}`),
    }))
    writeFileSync(
      join(data, 'package.json'),
      JSON.stringify({ name: 'substrat', private: true, dependencies: {}, oclif: { schema: 1, plugins } }),
    )
    for (const plugin of PLUGINS) {
      writeFileSync(
        this.program(plugin),
        `#!/bin/sh\nexec '${process.execPath}' '${repository}/stress/security/hostile-agent.mjs' ${plugin} "$@"\n`,
      )
      chmodSync(this.program(plugin), 0o755)
    }
    this.cases = mkdtempSync(join(lab.root, 'agents-'))
    this.temp = join(lab.root, 'temp')
    mkdirSync(this.temp, { recursive: true })
    this.before = this.places()
  }

  /** The number of fields that its program sends in a turn. */
  async count(plugin: Plugin): Promise<number> {
    const counted = join(this.cases, `${plugin}.count`)
    const place = this.place()
    await this.spawn(plugin, place)
    await this.send(place, {}, ['hello'], { env: { COUNTED: counted } })
    const count = existsSync(counted) ? Number(readFileSync(counted, 'utf8')) : 0
    rmSync(place.root, { recursive: true })
    if (count === 0) throw new Error(`the stand-in of ${plugin} sent no field`)
    return count
  }

  async run(plugin: Plugin, { name, hostile, isEndless = false }: Case, findings: Findings): Promise<void> {
    const place = this.place()
    const say = (what: string): void => findings.add(KIND, `${plugin}: ${name}`, ['send'], what)
    try {
      await this.spawn(plugin, place)
      const { ended, ms, mb } = await this.measure(place, hostile, isEndless)
      const limit = ms > MS_MAX ? 'hangs' : mb > MEMORY_MB_MAX ? 'grows' : undefined
      if (limit !== undefined)
        say(`it ${limit}: ${Math.round(ms)} ms, ${Math.round(mb)} MB, exit ${ended.code}`)
      this.judge(ended, say)
      if (hostile.trick === 'a question' && plugin !== 'codex' && ![5, 9].includes(ended.code as number))
        say(`exit ${ended.code} of a question`)
      if (isEndless && ended.code === 0) say('it has a reply although the program gave none')
      const left = processesWithMark(place.mark)
      if (left.length > 0) say(`it leaves running: ${left.join(' ')}`)
      await this.look(place, hostile, say)
      await this.goOn(place, say)
      const doctor = await this.lab.run(place.home, ['doctor', '--all'])
      if (doctor.code !== 0) say(`doctor: ${doctor.stdout.slice(0, 1000)}`)
    } finally {
      rmSync(place.root, { recursive: true, force: true })
    }
  }

  close(findings: Findings): void {
    const strange = this.places().filter((name) => !this.before.includes(name))
    if (strange.length > 0) findings.add(KIND, 'outside', [], `it leaves ${strange.join(' ')}`)
  }

  private judge({ code, stdout, stderr }: Ended, say: (what: string) => void): void {
    if (code === null || code === 1 || code === 2 || code > 15) say(`exit ${code}: ${stderr.slice(0, 600)}`)
    if (/\n {4}at /.test(stderr)) say(`a stack: ${stderr.slice(0, 600)}`)
    if (stderr.length > 20_000_000) say(`it repeats ${stderr.length} characters`)
    try {
      JSON.parse(stdout)
    } catch {
      say(`its JSON is invalid: ${stdout.slice(0, 300)}`)
    }
  }

  /**
   * Continues with a well-behaved program. If that program lacks the earlier session, begins a new one, as the hint
   * says.
   */
  private async goOn(place: Place, say: (what: string) => void): Promise<void> {
    const words = ['hello again', '--if-waiting', 'supersede']
    let again = await this.send(place, {}, words)
    if (again.code === 9 && again.stderr.includes('--reseed')) {
      await this.lab.run(place.home, ['resume', 'a', '--reseed'], { env: this.environment(place, {}) })
      again = await this.send(place, {}, words)
    }
    if (again.code !== 0 || (JSON.parse(again.stdout) as { reply: string }).reply !== 'well')
      say(`the next turn: exit ${again.code}: ${again.stderr.slice(0, 600)}`)
  }

  /** Checks what a user sees afterwards. */
  private async look(place: Place, hostile: Hostile, say: (what: string) => void): Promise<void> {
    const streams =
      hostile.values === undefined
        ? []
        : [['send', 'a', 'hello', '--turn-timeout', ENDLESS_TIMEOUT, '--if-waiting', 'supersede']]
    for (const argv of [...streams, ['show', 'a'], ['log', 'a', '--no-pager']]) {
      // Without the colours of substrat, each control sequence is one of the program.
      const env = { ...this.environment(place, hostile), NO_COLOR: '1' }
      const seen = await onTerminal(this.lab, place.home, argv, env)
      const steering = STEERING.exec(seen.replaceAll('\r\u001b[K', '').replaceAll(/\r\n/g, '\n'))
      if (steering !== null)
        say(
          `${argv[0]} steers: ${JSON.stringify(seen.slice(Math.max(0, steering.index - 80), steering.index + 20))}`,
        )
    }
  }

  private async measure(
    place: Place,
    hostile: Hostile,
    isEndless: boolean,
  ): Promise<{ ended: Ended; ms: number; mb: number }> {
    const began = performance.now()
    const timeout = isEndless ? ENDLESS_TIMEOUT : TURN_TIMEOUT
    const { child, ended } = this.start(place, hostile, ['hello', '--turn-timeout', timeout])
    let mb = 0
    const timer = setInterval(() => {
      mb = Math.max(mb, highWater(child.pid as number))
    }, 25)
    const result = await ended
    clearInterval(timer)
    return { ended: result, ms: performance.now() - began, mb }
  }

  private async spawn(plugin: Plugin, { home }: Place): Promise<void> {
    const option = `command=${this.program(plugin)}`
    await this.lab.do(home, 'spawn', '--name', 'a', '--provider', plugin, '--option', option)
  }

  private send(place: Place, hostile: Hostile, words: string[], options: RunOptions = {}): Promise<Ended> {
    return this.start(place, hostile, words, options).ended
  }

  private start(place: Place, hostile: Hostile, words: string[], { env = {} }: RunOptions = {}): Started {
    const environment = { ...this.environment(place, hostile), ...env }
    return this.lab.start(place.home, ['send', 'a', ...words, '--json'], {
      env: environment,
      timeoutMs: 60_000,
    })
  }

  private environment({ root, mark }: Place, hostile: Hostile): Record<string, string> {
    return {
      HOSTILE: JSON.stringify(hostile),
      HOSTILE_STORE: join(root, 'store'),
      HOSTILE_MARK: mark,
      CLAUDE_CONFIG_DIR: join(root, 'claude'),
      CODEX_HOME: join(root, 'codex'),
      TMPDIR: this.temp,
      SUBSTRAT_RETRY_DELAYS: '1ms',
      // A kept server would keep running on purpose.
      SUBSTRAT_WARM_MAX: '0',
    }
  }

  private place(): Place {
    const root = mkdtempSync(join(this.cases, 'c'))
    return { root, home: join(root, 'home'), mark: randomUUID() }
  }

  private program(plugin: Plugin): string {
    return join(this.lab.root, `program-${plugin}`)
  }

  private places(): string[] {
    const { root, workspace } = this.lab
    return [root, workspace, join(root, 'user'), this.temp, this.cases]
      .flatMap((directory) =>
        directory === undefined ? [] : readdirSync(directory).map((name) => join(directory, name)),
      )
      .filter((path) => !/\.count$|\/user\/cache$/.test(path))
  }
}

interface Place {
  root: string
  home: string
  /** A mark in the environment of each of its processes. */
  mark: string
}

function highWater(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

function processesWithMark(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark)
    } catch {
      return false
    }
  })
}
