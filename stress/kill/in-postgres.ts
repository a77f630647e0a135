/**
 * Homes in PostgreSQL. A proxy kills a command at a call of the database: before the server gets it (`unsent`), or after the
 * server has it and before the command reads the answer (`unanswered`).
 */
import { type Fault, type Loss, PostgresProxy } from '../../test/support/postgres-proxy.js'
import type { Scenario } from '../scenarios/scenario.js'
import type { Step } from '../scenarios/stage.js'
import type { Databases } from '../support/databases.js'
import { databaseOf, type Ended, type Lab, pathBeside } from '../support/lab.js'
import type { Ground } from './ground.js'
import { digestOfTexts, idsInTexts } from './left.js'
import type { Command, KillPoint } from './strace.js'

const LOSSES: Loss[] = ['unsent', 'unanswered']

/** The calls that make each step. */
const CALLS: Partial<Record<Step, RegExp>> = {
  'log.append': /^(append|end_turn)$/,
  'mail.remove': /^move_mail$/,
  'remove.tree': /^remove_agent$/,
  'spawn.rename': /^create_agent$/,
}

/** Every table, with bytes as text. */
const TABLES = `select table_name as name, string_agg(case when data_type = 'bytea'
    then format('encode(%I, ''escape'')', column_name) else format('%I::text', column_name) end, ', ') as columns
  from information_schema.columns where table_schema = 'substrat' group by table_name`

export class InPostgres implements Ground {
  constructor(
    readonly lab: Lab,
    private readonly databases: Databases,
  ) {}

  newHome(): Promise<string> {
    return this.databases.newHome()
  }

  copy(home: string): Promise<string> {
    return this.databases.copy(home)
  }

  remove(home: string): Promise<void> {
    return this.databases.remove(home)
  }

  async becomeAnother(home: string): Promise<void> {
    const change = 'update substrat.home set home_id = gen_random_uuid()'
    await this.databases.server.query(databaseOf(home), change)
  }

  async record(home: string, command: Command): Promise<{ ended: Ended; points: KillPoint[] }> {
    const { ended, calls } = await this.through(home, command)
    const points = calls.flatMap((what, index) =>
      LOSSES.map((loss) => ({ syscall: loss, n: index + 1, what })),
    )
    return { ended, points }
  }

  async kill(
    home: string,
    command: Command,
    { syscall, n }: Pick<KillPoint, 'syscall' | 'n'>,
  ): Promise<Ended> {
    const { ended } = await this.through(home, command, { at: n, loss: syscall as Loss })
    return ended
  }

  begins(step: Step, { syscall, what }: KillPoint): boolean {
    return syscall === 'unsent' && CALLS[step]?.test(what) === true
  }

  pointsOf(_scenario: Scenario, points: KillPoint[]): KillPoint[] {
    return points
  }

  async digest(home: string, told: Ended, known: Set<string>): Promise<string> {
    return digestOfTexts(home, await this.textsOf(home), told, known)
  }

  async idsIn(home: string): Promise<Set<string>> {
    return idsInTexts(await this.textsOf(home))
  }

  private async textsOf(home: string): Promise<string[]> {
    const client = await this.databases.server.connect(databaseOf(home))
    try {
      const texts: string[] = []
      for (const { name, columns } of (await client.query(TABLES)).rows) {
        const { rows } = await client.query(`select ${columns} from substrat.${name}`)
        texts.push(...rows.map((row) => `${name} ${Object.values(row).join(' ')}`))
      }
      return texts
    } finally {
      await client.end()
    }
  }

  /** Runs the command through a proxy, which kills it at the fault. */
  private async through(
    home: string,
    { argv, env }: Command,
    fault?: Fault,
  ): Promise<{ ended: Ended; calls: string[] }> {
    const { directory } = this.databases.server
    let kill = (): unknown => undefined
    const proxy = await PostgresProxy.before(directory, fault && { ...fault, onLoss: () => kill() })
    try {
      const beside = { SUBSTRAT_LAB_BESIDE: pathBeside(home, '') }
      const address = home.replace(directory, proxy.directory)
      const { child, ended } = this.lab.start(address, argv, { env: { ...env, ...beside } })
      kill = () => child.kill('SIGKILL')
      return { ended: await ended, calls: proxy.calls }
    } finally {
      await proxy.close()
    }
  }
}
