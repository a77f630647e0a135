/**
 * Ticks across a span of time, by libfaketime: one or two commands at once, some killed, with gaps, jumps of the clock, gates, holds,
 * pauses and replaced schedules. Then the log alone must have each slot once.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Random } from '../../test/support/random.js'
import type { Lab } from '../support/lab.js'
import { type Account, accountsOf } from './account.js'

/** Undefined if the library is not installed. */
export const FAKETIME = ['', ...readdirSync('/usr/lib')]
  .map((directory) => join('/usr/lib', directory, 'faketime', 'libfaketime.so.1'))
  .find((file) => existsSync(file))

export interface Span {
  from: string
  days: number
  steps: number
  /** The part of the commands that are killed. */
  kills: number
  seed: number
}

export interface Counts {
  ticks: number
  kills: number
  ran: number
  skipped: number
  missed: number
  schedules: number
  violations: string[]
}

const HOUR_MS = 3600 * 1000
const DAY_MS = 24 * HOUR_MS

interface Wanted {
  name: string
  when: string
  tz: string
  more: string[]
}

const SCHEDULES: Wanted[] = [
  { name: 'minute', when: 'every 1m', tz: 'UTC', more: [] },
  { name: 'quarter', when: 'every 15m', tz: 'Europe/Berlin', more: ['--missed', 'skip'] },
  { name: 'hour', when: 'every 1h', tz: 'America/New_York', more: ['--overlap', 'queue', '--jitter', '10m'] },
  { name: 'gap', when: '30 2 * * *', tz: 'Europe/Berlin', more: ['--missed', 'all'] },
  { name: 'twice', when: '15,45 1,2 * * *', tz: 'America/New_York', more: [] },
  { name: 'half', when: '0 2 * * *', tz: 'Australia/Lord_Howe', more: ['--missed', 'all'] },
  { name: 'month', when: '0 12 31 * *', tz: 'Asia/Kathmandu', more: [] },
  {
    name: 'until',
    when: '*/20 * * * *',
    tz: 'America/New_York',
    more: ['--until', '2028-03-25T12:34:00Z'],
  },
  { name: 'leap', when: '0 0 29 2 *', tz: 'UTC', more: ['--missed', 'all'] },
]

export async function runSpan(lab: Lab, { from, days, steps, kills, seed }: Span): Promise<Counts> {
  const random = new Random(seed)
  const home = lab.newHome()
  let at = Date.parse(from)
  const counts: Counts = { ticks: 0, kills: 0, ran: 0, skipped: 0, missed: 0, schedules: 0, violations: [] }
  const run = (argv: string[], killed = false) =>
    command(lab, home, at, argv, killed ? random.between(0, 250) : undefined)
  for (const agent of ['a', 'b']) {
    await run([
      'spawn',
      '--name',
      agent,
      ...(agent === 'b' ? ['--provider', 'exec', '-o', 'command=sleep 0.02; cat'] : []),
    ])
    for (const { name, when, tz, more } of SCHEDULES)
      if (agent === 'a' || name !== 'minute')
        await run(['schedule', 'add', agent, when, 'go', '--name', name, '--tz', tz, ...more])
  }
  const end = at + days * DAY_MS
  const stepMs = (end - at) / steps
  while (at < end) {
    at += random.between(0.2, 1.8) * stepMs
    const killed = random.chance(kills)
    const twice = random.chance(0.3)
    const tick = random.chance(0.8) ? ['deliver', '--all'] : ['recover', '--all']
    const all = [run(tick, killed), ...(twice ? [run(['deliver', '--all'], random.chance(kills))] : [])]
    for (const { killed: died } of await Promise.all(all)) counts[died ? 'kills' : 'ticks'] += 1
    const agent = random.pick(['a', 'b'])
    const { name, when, tz, more } = random.pick(SCHEDULES)
    const others: Record<string, () => Promise<unknown>> = {
      nothing: async () => undefined,
      // Back by up to two days: no slot may run again.
      back: async () => {
        const now = at
        at -= random.between(0, 2) * DAY_MS
        await run(['deliver', '--all'])
        at = now
      },
      // Ahead by up to two days, and right again.
      ahead: async () => {
        const now = at
        at += random.between(0, 2) * DAY_MS
        await run(['deliver', '--all'])
        at = now
      },
      sleep: async () => {
        at += random.between(1, 9) * DAY_MS
      },
      gate: () => run(['gate', agent], random.chance(kills)),
      ungate: () => run(['ungate', agent], random.chance(kills)),
      hold: () => run(['suspend', agent, '--hold'], random.chance(kills)),
      resume: () => run(['resume', agent], random.chance(kills)),
      pause: () => run(['schedule', 'pause', agent, name], random.chance(kills)),
      unpause: () => run(['schedule', 'resume', agent, name], random.chance(kills)),
      runNow: () => run(['schedule', 'run-now', agent, name], random.chance(kills)),
      replace: () =>
        run(
          ['schedule', 'add', agent, when, `go ${random.below(1000)}`, '--name', name, '--tz', tz, ...more],
          random.chance(kills),
        ),
    }
    await others[random.pickWeighted(WEIGHTS)]?.()
  }
  for (const agent of ['a', 'b']) {
    await run(['ungate', agent])
    await run(['resume', agent])
  }
  await run(['deliver', '--all'])
  await run(['deliver', '--all'])
  for (const agent of ['a', 'b']) {
    const records = recordsOf(home, agent)
    for (const account of accountsOf(records)) add(counts, account, `${agent} ${account.name}`)
    const starts = records.filter(({ kind }) => kind === 'run.started').length
    const ends = records.filter(({ kind }) =>
      /^run\.(completed|failed|cancelled|interrupted)$/.test(kind),
    ).length
    if (starts !== ends) counts.violations.push(`${agent}: ${starts} runs began, ${ends} ended`)
  }
  const audit = await command(lab, home, at, ['doctor', '--all'], undefined)
  if (audit.code !== 0) counts.violations.push(`doctor: ${audit.stdout}`)
  lab.removeHome(home)
  return counts
}

const WEIGHTS = {
  ...{ nothing: 30, back: 3, ahead: 1, sleep: 1, gate: 2, ungate: 6, hold: 2, resume: 6 },
  ...{ pause: 2, unpause: 6, runNow: 2, replace: 2 },
}

function add(counts: Counts, { ran, skipped, missed, faults }: Account, name: string): void {
  counts.schedules += 1
  counts.ran += ran
  counts.skipped += skipped
  counts.missed += missed
  counts.violations.push(...faults.map((fault) => `${name}: ${fault}`))
}

async function command(
  lab: Lab,
  home: string,
  at: number,
  argv: string[],
  killAfterMs: number | undefined,
): Promise<{ killed: boolean; code: number | null; stdout: string }> {
  const env = {
    LD_PRELOAD: FAKETIME as string,
    // The clock begins here and goes on. Timers of the program keep the real time.
    FAKETIME: `@${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    TZ: 'UTC',
  }
  const { child, ended } = lab.start(home, argv, { env, ownGroup: true })
  if (killAfterMs !== undefined) {
    await Promise.race([ended, sleep(killAfterMs)])
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  }
  const { signal, code, stdout } = await ended
  return { killed: signal === 'SIGKILL', code, stdout }
}

/** From the bytes of the file alone. */
function recordsOf(home: string, name: string): { kind: string }[] {
  const logs = readdirSync(join(home, 'agents')).map((id) =>
    readFileSync(join(home, 'agents', id, 'events.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; name?: string }),
  )
  return logs.find(([created]) => created?.name === name) ?? []
}
