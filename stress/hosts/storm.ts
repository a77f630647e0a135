/** Commands of several hosts on the same agents, while hosts, networks, holders and the server fail. */
import type { Random } from '../../test/support/random.js'
import type { Databases } from '../support/databases.js'
import type { Ended } from '../support/lab.js'
import type { Host } from './host.js'
import type { Network } from './network.js'

/** A message with a key. It is sent again, from any host, until it is acknowledged. */
export interface Message {
  agent: string
  content: string
  key: string
  /** Each attempt, in order. */
  told: Ended[]
}

/** Its turn had used up its attempts when another message came, and the sender got that error. */
export function isReplaced({ told }: Message): boolean {
  const last = told.at(-1)
  return last?.code === 6 && last.stderr.includes('cannot be continued')
}

export interface Weather {
  seconds: number
  leaseMs: number
  agents: string[]
  /** Shells on each host. */
  shells: number
  /** With their weights. */
  faults: Record<string, number>
  /** Ends the faults before their time. */
  isOver: () => boolean
}

export const FAULTS = {
  'the network of a host is cut': 5,
  'a host gets no answers': 4,
  'a holder stops': 6,
  'a holder is killed': 6,
  'a host dies': 2,
  'the server crashes': 2,
} as const
export type Fault = keyof typeof FAULTS

/** Interrupted, busy, or without the server: never damage, and no error without a name. */
const EXPECTED = [0, 4, 6, 11, 15]

const LEFT_ALONE = /may still be running on (another|the) host/

export class Storm {
  readonly messages: Message[] = []
  readonly unexpected: string[] = []
  readonly faults: Partial<Record<Fault, number>> = {}
  /** How often each exit status ended a command. */
  readonly exits: Record<string, number> = {}
  private isOver = false

  constructor(
    private readonly random: Random,
    private readonly hosts: Host[],
    private readonly network: Network,
    private readonly databases: Databases,
    private readonly weather: Weather,
    private readonly note: (text: string) => void,
  ) {}

  async rage(): Promise<void> {
    const { seconds, shells, isOver } = this.weather
    const loops = this.hosts.flatMap((host) => [
      ...Array.from({ length: shells }, () => this.shell(host)),
      this.recover(host),
    ])
    const until = performance.now() + seconds * 1000
    const mending: Promise<void>[] = []
    while (performance.now() < until && !isOver()) {
      await sleep(this.random.between(200, 1500))
      mending.push(this.fail())
    }
    await Promise.all(mending)
    this.isOver = true
    await Promise.all(loops)
  }

  /**
   * Without faults: each host recovers, and each message that was not acknowledged is sent once more. A turn that used up its
   * attempts is resumed first, as the error says.
   */
  async calm(): Promise<void> {
    // One host continues the turns of all.
    const [first] = this.hosts as [Host]
    await this.recoverOn(first)
    for (const message of this.messages.filter(({ told }) => told.at(-1)?.code !== 0)) {
      await this.attempt(first, message)
      if (message.told.at(-1)?.stderr.includes(`substrat resume ${message.agent})`) === true) {
        await first.run(['resume', message.agent])
        await this.attempt(first, message)
      }
      const last = message.told.at(-1)
      if (last?.code !== 0 && !isReplaced(message))
        this.unexpected.push(`without faults, ${message.key} ends with ${last?.code}: ${last?.stderr.trim()}`)
    }
  }

  private async shell(host: Host): Promise<void> {
    const { agents } = this.weather
    while (!this.isOver) {
      if (!host.isUp) await sleep(100)
      else {
        const open = this.messages.filter(({ told }) => told.length > 0 && told.at(-1)?.code !== 0)
        const again = open.length > 0 && this.random.chance(0.5) ? this.random.pick(open) : undefined
        await this.attempt(host, again ?? this.write(this.random.pick(agents)))
      }
    }
  }

  private write(agent: string): Message {
    const number = this.messages.length
    const message: Message = { agent, content: `message ${number}`, key: `key-${number}`, told: [] }
    this.messages.push(message)
    return message
  }

  private async attempt(host: Host, { agent, content, key, told }: Message): Promise<void> {
    const running = host.start(['send', agent, content, '--key', key, '--timeout', '30s'])
    const ended = await running.ended
    told.push(ended)
    this.judgeExit(host, running.argv, ended)
  }

  private async recover(host: Host): Promise<void> {
    while (!this.isOver) {
      await sleep(1000)
      if (host.isUp && !this.isOver) await this.recoverOn(host)
    }
  }

  private async recoverOn(host: Host): Promise<void> {
    const running = host.start(['recover', '--all', '--continue', 'all', '--timeout', '1s'])
    this.judgeExit(host, running.argv, await running.ended)
  }

  /** A turn with a program is taken over: no command leaves it to the host of that program. */
  private judgeExit(host: Host, argv: string[], { code, stderr }: Ended): void {
    this.exits[String(code)] = (this.exits[String(code)] ?? 0) + 1
    const isExpected = code === null || EXPECTED.includes(code)
    if (isExpected && !LEFT_ALONE.test(stderr)) return
    this.unexpected.push(`substrat ${argv.join(' ')} on ${host.name} ended with ${code}: ${stderr.trim()}`)
  }

  private async fail(): Promise<void> {
    const fault = this.random.pickWeighted(this.weather.faults) as Fault
    const host = this.random.pick(this.hosts)
    const forMs = this.random.between(0.2, 2.5) * this.weather.leaseMs
    if (!host.isUp && fault !== 'the server crashes') return
    const running = [...host.running].filter((each) => each.pid() !== undefined)
    if (/holder/.test(fault) && running.length === 0) return
    this.faults[fault] = (this.faults[fault] ?? 0) + 1
    this.note(`${host.name}: ${fault}, ${(forMs / 1000).toFixed(1)} s`)
    switch (fault) {
      case 'the network of a host is cut':
        this.network.cut(host.number)
        await sleep(forMs)
        return this.network.mend(host.number)
      case 'a host gets no answers':
        this.network.loseAnswers(host.number)
        await sleep(forMs)
        return this.network.mend(host.number)
      case 'a holder stops': {
        const proceed = host.stop(this.random.pick(running))
        await sleep(forMs)
        return proceed()
      }
      case 'a holder is killed':
        return host.kill(this.random.pick(running))
      case 'a host dies':
        await host.crash()
        await sleep(forMs / 2)
        return host.boot()
      case 'the server crashes':
        return this.databases.server.crash()
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
