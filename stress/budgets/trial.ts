/** A parent with a cap and many children that work side by side, while their processes are killed. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordsFrom } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import { FileStore } from '../../src/storage/file-store.js'
import { processesWith } from '../../test/support/processes.js'
import type { Random } from '../../test/support/random.js'
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
  const home = lab.newHome()
  const env = {
    ...KEY,
    SUBSTRAT_SLOTS_MAX: '200',
    SUBSTRAT_CHILDREN_MAX: '200',
    SUBSTRAT_RETRY_DELAYS: '10ms,10ms',
    SUBSTRAT_TIMEOUT: '20s',
    SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue',
    SUBSTRAT_ALLOW: 'shell',
  }
  const caps: CapChange[] = []
  const killsAt: number[] = []
  const violations: string[] = []
  const run = (...argv: string[]): ReturnType<Lab['run']> => lab.run(home, argv, { env })
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
          .map((name) =>
            must(run('spawn', '--name', name, '--parent', 'lead', ...provider, '-o', 'max_tokens=400')),
          ),
      )
    let round = 0
    let roundMs = 2000
    for (; killsAt.length < options.kills && round < ROUNDS_MAX; round++) {
      const sends = names.map((name) =>
        lab.start(home, ['send', `lead/${name}`, `task ${round}`, '--key', `k${round}`], {
          env,
          ownGroup: true,
        }),
      )
      const beganAt = performance.now()
      const left = options.kills - killsAt.length
      await killSome(sends, home, { random, most: left, roundMs }, killsAt)
      for (const { ended } of sends) {
        const { code, signal, stderr } = await ended
        if (signal === null && code !== null && !FINE.includes(code))
          violations.push(`send exited ${code}: ${stderr}`)
      }
      roundMs = performance.now() - beganAt
      const recovered = await run('recover', '--all', '--continue', 'all')
      if (recovered.code !== null && !FINE.includes(recovered.code))
        violations.push(`recover exited ${recovered.code}: ${recovered.stderr}`)
      const last = caps.at(-1)?.max ?? 0
      const over = server.charged - last - (longer ? server.excess : 0)
      if (over > 0) violations.push(`${server.charged} tokens were charged, and the cap is ${last}`)
      const max = last + capStep
      caps.push({ at: new Date().toISOString(), max })
      await must(run('set', 'lead', '--budget', `tokens=${max}`))
    }
    const judged = judgeHome(home, caps, killsAt, longer ? server.excess : 0)
    violations.push(...judged.violations)
    if (judged.counted < server.charged - (longer ? server.excess : 0))
      violations.push(`the logs count ${judged.counted} tokens, and ${server.charged} were charged`)
    if (judged.refusals === 0) violations.push('the cap was never reached')
    const { charged, excess, requests } = server
    return {
      ...{ kills: killsAt.length, rounds: round, requests, charged, excess },
      ...{ cap: caps.at(-2)?.max ?? 0, refusals: judged.refusals, violations },
    }
  } finally {
    server.stop()
    for (const pid of processesWith(`SUBSTRAT_HOME=${home}`)) kill(pid)
    lab.removeHome(home)
  }
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

function judgeHome(
  home: string,
  caps: CapChange[],
  killsAt: number[],
  excess: number,
): { violations: string[]; counted: number; refusals: number } {
  const store = FileStore.openForRead(home) as FileStore
  const logs = store.agentIds().map((id) => ({ id, records: recordsOf(store, id) }))
  const holds = logs.flatMap(({ id, records }) => holdsIn(id, records))
  const refusals = logs.flatMap(({ id, records }) => refusalsIn(id, records))
  return {
    violations: [
      ...logs.flatMap(({ id, records }) => unheldIn(id, records)),
      ...judge(holds, refusals, caps, killsAt, excess, SLACK_MS),
    ],
    counted: holds.reduce((sum, { counted }) => sum + counted, 0),
    refusals: refusals.length,
  }
}

function recordsOf(store: FileStore, id: string): SessionRecord[] {
  const log = store.openLog(id)
  if (log === undefined) return []
  try {
    return [...recordsFrom(log, { seq: 1, offset: 0 })].map(({ record }) => record)
  } finally {
    log.close()
  }
}
