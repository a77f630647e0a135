// npm run stress:serve -- [--only cost,memory] [--agents 10000] [--rounds 15] [--minutes 60] [--pause 0]
// The cost of the server: each request beside its command, in turn in one run; the start-up of other commands with and without the
// plugin; and the memory of the server under clients that come and go, with a pause of so many milliseconds between their rounds.
// Exits 1 if a limit of docs/performance.md is exceeded.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { homeOf } from './bench/homes.js'
import { median } from './bench/measure.js'
import { DemoHome } from './page/demo-home.js'
import { Lab, repository } from './support/lab.js'
import { recordResult } from './support/result.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'cost,memory' },
    agents: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '15' },
    minutes: { type: 'string', default: '60' },
    pause: { type: 'string', default: '0' },
  },
})
const [agents, rounds, minutes, pauseMs] = [values.agents, values.rounds, values.minutes, values.pause].map(
  Number,
) as [number, number, number, number]
const RUN_JS = path.join(repository, 'bin', 'run.js')
const NAME = 'a-0000000'

interface Compared {
  /** Medians in milliseconds. */
  ms: Record<string, number>
  ratio: number
  limit: number
}

/** Takes the samples of both in turn, so that load on the machine affects both. The first round is not counted. */
async function compare(
  limit: number,
  [of, measured]: [string, () => unknown],
  [to, baseline]: [string, () => unknown],
): Promise<Compared> {
  const taken: [number[], number[]] = [[], []]
  for (let round = -1; round < rounds; round += 1)
    for (const [index, act] of [measured, baseline].entries()) {
      const began = performance.now()
      await act()
      if (round >= 0) taken[index as 0 | 1].push(performance.now() - began)
    }
  const [a, b] = taken.map(median) as [number, number]
  return { ms: { [of]: rounded(a), [to]: rounded(b) }, ratio: rounded(a / b), limit }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

class Client {
  private readonly headers: Record<string, string>

  constructor(
    private readonly url: string,
    token: string,
  ) {
    this.headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  }

  async get(at: string): Promise<string> {
    const response = await this.fetch(at)
    if (!response.ok) throw new Error(`${at}: ${response.status}`)
    return response.text()
  }

  async post(at: string, body: object): Promise<string> {
    const init = { method: 'POST', headers: { ...this.headers, prefer: 'wait' }, body: JSON.stringify(body) }
    const response = await this.fetch(at, init)
    const text = await response.text()
    if (!response.ok) throw new Error(`${at}: ${response.status} ${text}`)
    return text
  }

  /** On a busy machine, the server may close a connection, with 408 or without, at the moment at which a request takes it. */
  private async fetch(at: string, init: RequestInit = {}): Promise<Response> {
    for (let attempt = 1; ; attempt += 1)
      try {
        const response = await fetch(`${this.url}${at}`, { headers: this.headers, ...init })
        if (response.status !== 408 || attempt === 3) return response
      } catch (error) {
        const { cause } = error as { cause?: { code?: string } }
        if (cause?.code !== 'ECONNRESET' || attempt === 3) throw error
      }
  }

  /** Opens a stream, reads its first piece, and goes away. */
  async glance(at: string): Promise<void> {
    const abort = new AbortController()
    const response = await this.fetch(at, { signal: abort.signal })
    await response.body?.getReader().read()
    abort.abort()
  }
}

/** Not spawnSync: while it blocks this process, the server may close the idle connection that the next request would use. */
async function substrat(env: NodeJS.ProcessEnv, ...args: string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [RUN_JS, ...args], { env, maxBuffer: 1e9 })
}

/** Resident megabytes of the process. */
function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

interface Memory {
  minutes: number
  requests: number
  /** The medians of the tenths of the time. The first one has the growth to the working size. */
  mb: number[]
  growth: number
  limit: number
}

async function followMemory(client: Client, pid: number): Promise<Memory> {
  const tenths: number[][] = Array.from({ length: 10 }, () => [])
  const [began, lengthMs] = [performance.now(), minutes * 60_000]
  let requests = 0
  let message = 0
  for (let at = 0; at < lengthMs; at = performance.now() - began) {
    const path = `/v1/agents/${NAME}`
    await Promise.all([
      client.get('/v1/agents?limit=1000'),
      client.get(path),
      client.get(`${path}/records?limit=1000`),
      client.get('/metrics'),
      client.glance(`${path}/events`),
      client.glance('/v1/events'),
    ])
    message += 1
    await client.post('/v1/chat/completions', {
      model: NAME,
      messages: [{ role: 'user', content: `message ${message}` }],
      stream: message % 2 === 0,
    })
    requests += 7
    tenths[Math.min(9, Math.floor((at / lengthMs) * 10))]?.push(memoryOf(pid))
    await sleep(pauseMs)
  }
  const mb = tenths.filter(({ length }) => length > 0).map((each) => Math.round(median(each)))
  // The heap grows to its working size at first, and a garbage collection comes when it likes.
  const growth = rounded((mb.at(-1) ?? 0) / Math.max(...mb.slice(1, 5)))
  return { minutes, requests, mb, growth, limit: 1.15 }
}

async function compareAll(client: Client, env: NodeJS.ProcessEnv): Promise<Record<string, Compared>> {
  const { XDG_DATA_HOME: _, ...without } = env
  const body = { content: 'hello' }
  return {
    list: await compare(
      2,
      ['GET /v1/agents', () => client.get(`/v1/agents?limit=${agents}`)],
      ['list --json', () => substrat(env, 'list', '--json')],
    ),
    send: await compare(
      1.5,
      ['POST messages', () => client.post(`/v1/agents/${NAME}/messages`, body)],
      ['send', () => substrat(env, 'send', NAME, 'hello')],
    ),
    show: await compare(
      1.1,
      ['show, plugin installed', () => substrat(env, 'show', NAME)],
      ['show, no plugin', () => substrat(without, 'show', NAME)],
    ),
    version: await compare(
      1.1,
      ['--version, plugin installed', () => substrat(env, '--version')],
      ['--version, no plugin', () => substrat(without, '--version')],
    ),
  }
}

const lab = Lab.open()
let home: DemoHome | undefined
try {
  await lab.warm()
  home = new DemoHome(await homeOf(lab, agents))
  const link = new URL(await home.serve())
  const client = new Client(link.origin, link.hash.replace('#token=', ''))
  const parts = values.only.split(',')
  const cost = parts.includes('cost') ? await compareAll(client, home.environment) : {}
  const memory = parts.includes('memory') ? await followMemory(client, home.serverPid) : undefined
  const details = { agents, ...cost, ...(memory && { memory }) }
  console.log(JSON.stringify(details, null, 2))
  const exceeded = Object.values(cost).filter(({ ratio, limit }) => ratio > limit).length
  const violations = exceeded + (memory !== undefined && memory.growth > memory.limit ? 1 : 0)
  recordResult({
    lab: 'serve',
    sample: `${values.only}: ${agents} agents, ${rounds} rounds, ${minutes} minutes of clients`,
    cases: Object.keys(cost).length * rounds + (memory?.requests ?? 0),
    violations,
    details,
  })
  if (violations > 0) process.exitCode = 1
} finally {
  home?.close()
  lab.close()
}
