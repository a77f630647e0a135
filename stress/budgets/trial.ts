/** A parent with a cap and many children that work side by side, while their processes are killed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordsFrom } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import { openHome } from '../../src/storage/open.js'
import type { Store } from '../../src/storage/store.js'
import { processesWith } from '../../test/support/processes.js'
import type { Random } from '../../test/support/random.js'
import type { Databases } from '../support/databases.js'
import type { Lab, Started } from '../support/lab.js'
import { type CapChange, holdsIn, judge, refusalsIn, unheldIn } from './judge.js'
import { CountingServer } from './server.js'

export interface TrialOptions {
  children: number
  kills: number
  random: Random
  /** Some replies are longer than their requests allow. */
  longer: boolean
  /** The tokens that each round adds to the cap. */
  capStep: number
  /** Homes in PostgreSQL, which two hosts share. */
  databases?: Databases | undefined
}

export interface TrialResult {
  kills: number
  rounds: number
  requests: number
  charged: number
  cap: number
  excess: number
  refusals: number
  violations: string[]
}

const HOW = ['substrat', 'tool', 'all'] as const
const ROUNDS_MAX = 60
const KEY = { OPENAI_API_KEY: 'lab' }
const SLACK_MS = 1500
/** In PostgreSQL a dead process holds its agent until its lease ends. */
const LEASE_MS = 60_000
/** Exits while such a lease lasts. */
const FINE_BY_LEASES = [4, 12]
/** Completed, waiting, interrupted, rate limited, failed. */
const FINE = [0, 5, 6, 7, 9]

export async function runTrial(lab: Lab, options: TrialOptions): Promise<TrialResult> {
  const { random, children, longer, capStep } = options
  const server = await CountingServer.start({
    random,
    longer: longer ? 0.2 : 0,
    longerTokens: 300,
    delayMs: 300,
  })
  const { databases } = options
  const home = databases === undefined ? lab.newHome() : await databases.newHome()
  const hosts = databases === undefined ? [[]] : [[], otherHost(lab)]
  const env = {
    ...KEY,
    SUBSTRAT_SLOTS_MAX: '200',
    SUBSTRAT_CHILDREN_MAX: '200',
    SUBSTRAT_RETRY_DELAYS: '10ms,10ms',
    SUBSTRAT_TIMEOUT: '20s',
    SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue',
    SUBSTRAT_ALLOW: 'shell',
  }
  const fine = databases === undefined ? FINE : [...FINE, ...FINE_BY_LEASES]
  const caps: CapChange[] = []
  const killsAt: number[] = []
  const violations: string[] = []
  const runOn = (under: string[], ...argv: string[]): ReturnType<Lab['run']> =>
    lab.run(home, argv, { env, under })
  const run = (...argv: string[]): ReturnType<Lab['run']> => runOn([], ...argv)
  const hostOf = (index: number): string[] => hosts[index % hosts.length] ?? []
  try {
    const provider = [
      '--provider',
      'openai',
      '--model',
      'm',
      '-o',
      `base_url=${server.url}`,
      '-o',
      'api=chat',
    ]
    const names = Array.from({ length: children }, (_, n) => `c${n}`)
    await must(run('spawn', '--name', 'lead', ...provider, '--budget', `tokens=${capStep}`))
    caps.push({ at: '', max: capStep })
    for (let at = 0; at < names.length; at += 8)
      await Promise.all(
        names
          .slice(at, at + 8)
          .map((name, index) =>
            must(
              runOn(
                hostOf(at + index),
                ...['spawn', '--name', name, '--parent', 'lead', ...provider, '-o', 'max_tokens=400'],
              ),
            ),
          ),
      )
    let round = 0
    let roundMs = 2000
    for (; killsAt.length < options.kills && round < ROUNDS_MAX; round++) {
      const sends = names.map((name, index) =>
        lab.start(home, ['send', `lead/${name}`, `task ${round}`, '--key', `k${round}`], {
          env,
          ownGroup: true,
          under: hostOf(index),
        }),
      )
      const beganAt = performance.now()
      const left = options.kills - killsAt.length
      await killSome(sends, home, { random, most: left, roundMs }, killsAt)
      for (const { ended } of sends) {
        const { code, signal, stderr } = await ended
        if (signal === null && code !== null && !fine.includes(code))
          violations.push(`send exited ${code}: ${stderr}`)
      }
      roundMs = performance.now() - beganAt
      for (const host of hosts) {
        const recovered = await runOn(host, 'recover', '--all', '--continue', 'all')
        if (recovered.code !== null && !fine.includes(recovered.code))
          violations.push(`recover exited ${recovered.code}: ${recovered.stderr}`)
      }
      const last = caps.at(-1)?.max ?? 0
      const over = server.charged - last - (longer ? server.excess : 0)
      if (over > 0) violations.push(`${server.charged} tokens were charged, and the cap is ${last}`)
      const max = last + capStep
      caps.push({ at: new Date().toISOString(), max })
      await must(run('set', 'lead', '--budget', `tokens=${max}`))
    }
    caps.push(await reachCap(run))
    const slackMs = databases === undefined ? SLACK_MS : LEASE_MS
    const judged = judgeHome(home, { caps, killsAt, excess: longer ? server.excess : 0, slackMs })
    violations.push(...judged.violations)
    if (judged.counted < server.charged - (longer ? server.excess : 0))
      violations.push(`the logs count ${judged.counted} tokens, and ${server.charged} were charged`)
    if (judged.refusals === 0) violations.push('the cap was never reached')
    const { charged, excess, requests } = server
    return {
      ...{ kills: killsAt.length, rounds: round, requests, charged, excess },
      ...{ cap: caps.at(-3)?.max ?? 0, refusals: judged.refusals, violations },
    }
  } finally {
    server.stop()
    for (const pid of processesWith(`SUBSTRAT_HOME=${home}`)) kill(pid)
    if (databases === undefined) lab.removeHome(home)
    else await databases.remove(home)
  }
}

/** Lowers the cap to just above its use, so that the next request must be refused, however fast the rounds were. */
async function reachCap(run: (...argv: string[]) => ReturnType<Lab['run']>): Promise<CapChange> {
  await run('recover', '--all', '--continue', 'all')
  const shown = await run('show', 'lead', '--json')
  const max = Math.ceil(JSON.parse(shown.stdout).budgets[0].spent) + 1
  const change = { at: new Date().toISOString(), max }
  await must(run('set', 'lead', '--budget', `tokens=${max}`))
  await run('send', 'lead/c0', 'over the cap', '--key', 'over')
  return change
}

async function must(running: ReturnType<Lab['run']>): Promise<void> {
  const { code, stderr } = await running
  if (code !== 0) throw new Error(`a preparation exited ${code}: ${stderr}`)
}

/** Each command is killed with a chance, at a random time, alone, with all its processes, or only its tools. */
async function killSome(
  sends: Started[],
  home: string,
  { random, most, roundMs }: { random: Random; most: number; roundMs: number },
  killsAt: number[],
): Promise<void> {
  const planned = sends
    .filter(() => random.chance(0.5))
    .slice(0, most)
    .map((send) => ({ send, afterMs: random.between(0.05, 0.9) * roundMs, how: random.pick([...HOW]) }))
  await Promise.all(
    planned.map(async ({ send, afterMs, how }) => {
      const hasEnded = await Promise.race([send.ended.then(() => true), sleep(afterMs, false)])
      const { pid } = send.child
      if (hasEnded || pid === undefined) return
      if (how === 'substrat') send.child.kill('SIGKILL')
      else if (how === 'all') kill(-pid)
      else if (!killTool(home, pid)) send.child.kill('SIGKILL')
      killsAt.push(Date.now())
    }),
  )
}

/** A tool that runs for this command: its shell is in a process group of its own. */
function killTool(home: string, pid: number): boolean {
  const tool = processesWith(`SUBSTRAT_HOME=${home}`).find((each) => parentOf(each) === pid)
  if (tool !== undefined) kill(tool)
  return tool !== undefined
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

interface Facts {
  caps: CapChange[]
  killsAt: number[]
  excess: number
  slackMs: number
}

function judgeHome(
  home: string,
  { caps, killsAt, excess, slackMs }: Facts,
): { violations: string[]; counted: number; refusals: number } {
  const store = openHome(home) as Store
  const logs = store.agentIds().map((id) => ({ id, records: recordsOf(store, id) }))
  const holds = logs.flatMap(({ id, records }) => holdsIn(id, records))
  const refusals = logs.flatMap(({ id, records }) => refusalsIn(id, records))
  return {
    violations: [
      ...logs.flatMap(({ id, records }) => unheldIn(id, records)),
      ...judge(holds, refusals, caps, killsAt, excess, slackMs),
    ],
    counted: holds.reduce((sum, { counted }) => sum + counted, 0),
    refusals: refusals.length,
  }
}

function recordsOf(store: Store, id: string): SessionRecord[] {
  const log = store.openLog(id)
  if (log === undefined) return []
  try {
    return [...recordsFrom(log, { seq: 1, offset: 0 })].map(({ record }) => record)
  } finally {
    log.close()
  }
}

/** A program that runs a command as on another machine: with a machine-id and a name of its own. */
function otherHost(lab: Lab): string[] {
  const file = join(lab.root, 'machine-id')
  writeFileSync(file, `${'b'.repeat(32)}\n`)
  const prepare = `mount --bind ${file} /etc/machine-id && hostname other && exec "$0" "$@"`
  return ['unshare', '-m', '-u', 'sh', '-c', prepare]
}
