/**
 * Brings a home to an idle state: by recovery after an interruption, and at the end by deciding and delivering
 * everything.
 */
import { audit } from '../support/home-view.js'
import type { Host, Told } from './host.js'
import type { Harm } from './steps.js'
import { type AgentInWorld, World } from './world.js'

const RECOVER = ['recover', '--all', '--continue', 'all', '--json']
const DELIVER = ['deliver', '--all', '--json']
const ROUNDS_MAX = 15

export type Heard = (told: Told) => void

/**
 * Runs the commands that recover an interruption. The recoveries may themselves be interrupted, next to one that is
 * not.
 */
export async function recoverHome(host: Host, harms: Harm[], heard: Heard): Promise<string[]> {
  const broken: string[] = []
  for (const harm of harms) {
    const together = [
      { argv: RECOVER, harm, startMs: 0 },
      { argv: DELIVER, harm: null, startMs: 0 },
    ]
    const told = await host.run(together)
    for (const each of told) heard(each)
    broken.push(...audit(host.home, false), ...told.flatMap((each) => [...wrongExit(each)]))
  }
  broken.push(...wrongExit(await one(host, RECOVER, heard)), ...audit(host.home, true))
  broken.push(...wrongExit(await one(host, DELIVER, heard)))
  // After its bound of attempts recovery leaves a turn to the operator.
  for (const { state } of World.read(host.home).agents)
    if (state.recovery.interruption !== null && !state.hold && state.state !== 'terminated')
      broken.push(...wrongExit(await one(host, ['resume', state.id, '--json'], heard)))
  return broken
}

/** Ends every wait: for a time, for the operator, or for a turn. */
export async function settleHome(host: Host, backMs: number, heard: Heard): Promise<string[]> {
  const broken: string[] = []
  host.jump(backMs + 2 * host.pace.laterMs)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    for (const argv of [RECOVER, DELIVER]) broken.push(...wrongExit(await one(host, argv, heard)))
    const left = leftToPerson(World.read(host.home))
    for (const argv of left) broken.push(...wrongExit(await one(host, argv, heard)))
    if (broken.length > 0) return broken
    if (World.read(host.home).agents.some(waitsForTime)) host.jump(2 * host.pace.laterMs)
    else if (left.length === 0)
      return [
        ...(await recoverAgain(host, heard)),
        ...audit(host.home, true),
        ...stillOwed(host),
        ...leftBehind(host),
      ]
  }
  return [`a home becomes idle: not after ${ROUNDS_MAX} rounds`]
}

function waitsForTime({ state }: AgentInWorld): boolean {
  if (state.state === 'terminated') return false
  if (state.schedules?.some(({ next_at }) => next_at !== null) === true) return true
  return state.reminders.length > 0 || (state.run?.status === 'open' && state.run.wait?.kind === 'not_before')
}

/** A second recovery must find nothing to do. */
async function recoverAgain(host: Host, heard: Heard): Promise<string[]> {
  const before = World.read(host.home)
  const told = await one(host, RECOVER, heard)
  const after = World.read(host.home)
  const changed = before.agents.filter(({ state, log }) => after.agent(state.id)?.log.equals(log) !== true)
  return [
    ...wrongExit(told),
    ...changed.map(({ state }) => `a second recovery changes nothing: it did in ${state.path}`),
  ]
}

function leftToPerson({ agents }: World): string[][] {
  return agents
    .filter(({ state }) => state.state !== 'terminated')
    .flatMap(({ state }) => {
      const { id, hold, gate, run, recovery } = state
      const wait = run?.status === 'open' ? run.wait : null
      return [
        ...(gate.isGated ? [['ungate', id]] : []),
        ...(wait?.kind === 'approval' || wait?.kind === 'input' ? [['deny', id]] : []),
        // Only a token gives a result, and its secret may be lost.
        ...(wait?.kind === 'tool_result' ? [['cancel', id]] : []),
        ...(hold || recovery.interruption !== null ? [['resume', id]] : []),
      ].map((argv) => [...argv, '--json'])
    })
}

function stillOwed(host: Host): string[] {
  return World.read(host.home)
    .owed()
    .map(
      ({ state, waiting }) =>
        `nothing is owed at the end: ${state.path} has ${waiting.length} pending messages, owes ${state.owes.length}, run ${state.run?.status}`,
    )
}

function leftBehind(host: Host): string[] {
  return host.leftBehind().map((pid) => `no program outlives its turn: process ${pid}`)
}

/** Exit statuses that report the result of a turn, not a failure of these commands. */
const FINE = [0, 5, 6, 7, 9, 12, 13, 14]

function* wrongExit({ argv, status, stderr, isHarmed }: Told): Iterable<string> {
  if (isHarmed || (typeof status === 'number' && FINE.includes(status))) return
  yield `substrat ${argv.join(' ')} makes the home idle, and ended with ${status}: ${stderr.trim().slice(0, 500)}`
}

async function one(host: Host, argv: string[], heard: Heard): Promise<Told> {
  const [told] = (await host.run([{ argv, harm: null, startMs: 0 }])) as [Told]
  heard(told)
  return told
}
