/** Kills N turns of each program: every mode in every phase, in an order and with pauses that follow from the seed. */
import { writeFileSync } from 'node:fs'
import { Random } from '../../../test/support/random.js'
import { install } from '../install.js'
import type { RealProgram } from '../program.js'
import { Trial } from '../trial.js'
import { PHASES } from './job.js'
import { MODES } from './modes.js'
import { type Kill, OneKill } from './one-kill.js'
import { type Choice, planOf } from './plan.js'
import { tableOf } from './table.js'

export interface KillOptions extends Choice {
  /** Parallel runs, each in its own place. */
  lanes: number
  json: string | undefined
}

export async function killAll(programs: RealProgram[], options: KillOptions): Promise<Kill[]> {
  const kills: Kill[] = []
  for (const program of programs) {
    const executable = await install(program).catch((error: Error) => {
      console.log(`${program.name}: skipped, it cannot be installed: ${error.message}`)
    })
    if (executable === undefined) continue
    kills.push(
      ...(await killOf(program, executable, options, (those) => keep(options, [...kills, ...those]))),
    )
  }
  console.log(tableOf(kills))
  return kills
}

/** Saved after each kill, because a campaign takes so long that it may be stopped. */
function keep({ json }: KillOptions, kills: Kill[]): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(kills, null, 1)}\n`)
}

async function killOf(
  program: RealProgram,
  executable: string,
  options: KillOptions,
  onKill: (kills: Kill[]) => void,
): Promise<Kill[]> {
  const queue = planOf(program, options)
  const kills: Kill[] = []
  const lane = async (): Promise<void> => {
    const trial = await Trial.open(program, executable)
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { number, mode, phase } = next
        const kill = await new OneKill(trial, number, mode, phase, randomOf(options.seed, number)).run()
        kills.push(kill)
        onKill(inOrder(kills))
        say(kill, options)
      }
    } finally {
      await trial.close()
    }
  }
  await Promise.all(Array.from({ length: options.lanes }, lane))
  return inOrder(kills)
}

function inOrder(kills: Kill[]): Kill[] {
  return kills.toSorted((one, other) => one.number - other.number)
}

function randomOf(seed: number, number: number): Random {
  return new Random(seed * 7919 + number)
}

function say(
  { program, number, mode, phase, story, warningSeen: told, violations }: Kill,
  choice: Choice,
): void {
  console.log(`${program} ${number}: ${mode}, ${phase}: ${story.join('; ')}; ${told}`)
  for (const violation of violations) console.log(`    must hold: ${violation}`)
  if (violations.length > 0) console.log(`    again: ${repeatCommand(program, number, choice)}`)
}

/** A number refers to the plan, which depends on the selected modes and phases. */
function repeatCommand(program: string, number: number, { seed, modes, phases }: Choice): string {
  const chosen = [
    ...(modes.length < MODES.length ? [`--modes '${modes.join()}'`] : []),
    ...(phases.length < PHASES.length ? [`--phases '${phases.join()}'`] : []),
  ]
  return [`npm run test:real -- --only ${program} --seed ${seed} --kill ${number}`, ...chosen].join(' ')
}
