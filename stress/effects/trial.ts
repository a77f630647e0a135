/**
 * One errand: a model makes two charges, and substrat is killed meanwhile. Then the same command is repeated until the turn has ended,
 * and the charges are compared with the calls in the log.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { deriveId } from '../../src/session/ids.js'
import type { SessionRecord } from '../../src/session/records.js'
import { processesWith } from '../../test/support/processes.js'
import { type KillPoint, runKilled } from '../kill/strace.js'
import { type Ended, type Lab, pathBeside } from '../support/lab.js'
import type { PaymentService } from './payment.js'

export const MODES = ['rerun', 'check', 'stop', 'continue'] as const
export type Mode = (typeof MODES)[number]

/** A call of the file system, or a time after the start, when substrat or all of its processes die. */
export type Kill = Pick<KillPoint, 'syscall' | 'n'> | { afterMs: number; all: boolean }

export interface Trial {
  kills: number
  violations: string[]
}

const SEND = ['send', 'a', 'pay', '--key', 'k']
const COMMANDS_MAX = 12

export interface Prepared {
  home: string
  agent: string
  mode: Mode
}

/** The home of an agent that will make the charges. */
export async function prepare(lab: Lab, service: PaymentService, mode: Mode): Promise<Prepared> {
  const home = lab.newHome()
  const scenario = pathBeside(home, 'scenario.json')
  const call = { name: 'shell', input: { command: service.charge(DELAY_MS) } }
  writeFileSync(scenario, JSON.stringify({ responses: [{ tools: [call, call] }, { say: 'paid' }] }))
  const rule = mode === 'check' ? `check ${service.check}` : mode
  const agent = await lab.do(
    home,
    ...['spawn', '--name', 'a', '--option', `scenario=${scenario}`, '--allow', 'shell'],
    ...['--on-unknown', `shell=${rule}`],
  )
  return { home, agent, mode }
}

/** The service takes this long for a charge, so that a kill may come before and after it. */
const DELAY_MS = 20

export async function payThroughKills(
  lab: Lab,
  service: PaymentService,
  { home: prepared, agent, mode }: Prepared,
  kills: Kill[],
): Promise<Trial> {
  const home = lab.copyHome(prepared)
  const before = await service.all()
  const violations: string[] = []
  let killed = 0
  let ended: Ended | undefined
  for (let commands = 0; ended?.code !== 0; commands++) {
    if (commands === COMMANDS_MAX) {
      violations.push(`the turn has not ended after ${commands} commands: ${ended?.stderr}`)
      break
    }
    // Only a person may go on after exit 6.
    const argv = ended?.code === 6 ? ['resume', 'a'] : SEND
    if (ended?.code === 6 && (mode === 'rerun' || mode === 'continue'))
      violations.push(`exit 6 with the rule ${mode}: ${ended.stderr}`)
    const kill = kills[commands]
    ended = kill === undefined ? await lab.run(home, argv) : await killedRun(lab, home, argv, kill)
    if (ended.signal === 'SIGKILL' || ended.code === 137) killed += 1
    else if (ended.code !== 0 && ended.code !== 6)
      violations.push(`${argv.join(' ')} exited ${ended.code}: ${ended.stderr}`)
  }
  violations.push(...(await judged(service, before, join(home, 'agents', agent), mode)))
  lab.removeHome(home)
  return { kills: killed, violations }
}

async function killedRun(lab: Lab, home: string, argv: string[], kill: Kill): Promise<Ended> {
  if ('syscall' in kill) return runKilled(lab, home, { argv }, kill)
  const { child, ended } = lab.start(home, argv)
  await Promise.race([sleep(kill.afterMs), ended])
  if (kill.all) for (const pid of processesWith(`SUBSTRAT_HOME=${home}`)) end(pid)
  child.kill('SIGKILL')
  return ended
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function judged(
  service: PaymentService,
  before: { charges: string[]; requests: string[] },
  directory: string,
  mode: Mode,
): Promise<string[]> {
  const { charges, requests } = await service.all()
  const [charged, asked] = [charges.slice(before.charges.length), requests.slice(before.requests.length)]
  const violations: string[] = []
  const { calls, done } = callsOf(directory)
  for (const key of charged) if (!calls.has(key)) violations.push(`a charge of no call in the log: ${key}`)
  for (const key of done)
    if (!charged.includes(key)) violations.push(`the log says done, and there is no charge: ${key}`)
  const isRepeated = mode === 'rerun' || mode === 'check'
  if (isRepeated && charged.length !== 2) violations.push(`${charged.length} charges for two calls`)
  for (const key of new Set(asked)) {
    const times = asked.filter((each) => each === key).length
    if (!isRepeated && times > 1) violations.push(`a call ran ${times} times with the rule ${mode}`)
  }
  return violations
}

/** The identities of the calls in the log, and of those that have a good result. */
function callsOf(directory: string): { calls: Set<string>; done: string[] } {
  const agent = basename(directory)
  const records = readFileSync(join(directory, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as SessionRecord)
  const ids = new Map<string, string>()
  for (const record of records)
    if (record.kind === 'model.responded')
      for (const [index, { call_id }] of (record.calls ?? []).entries())
        ids.set(call_id, deriveId(agent, 'call', record.run_id, String(record.seq), record.ts, String(index)))
  const done = records.flatMap((record) =>
    record.kind === 'tool.finished' && !record.is_error ? [ids.get(record.call_id) as string] : [],
  )
  return { calls: new Set(ids.values()), done }
}
