/** One run: the plan, the storm, the calm after it, and the verdict. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../../test/support/random.js'
import { type Lab, pathBeside } from '../support/lab.js'
import type { PlannedAgent, Shape } from './family.js'
import { judge, leftToPerson, type Verdict } from './oracle.js'
import { makePlan, morePosts, type Operation, type PlanOptions, spawnOf } from './plan.js'
import { Seen } from './seen.js'
import { allSent } from './sent.js'
import { Storm } from './storm.js'

export interface TrialOptions {
  seed: number
  shape: Shape
  messages: number
  kills: number
  shells: number
  note(text: string): void
  /** The home, if it is not in files. */
  home?: string
}

export interface TrialReport extends Verdict {
  agents: number
  kills: number
  killsOf: Record<string, number>
  seconds: number
}

const ROUNDS_MAX = 40

export async function runTrial(lab: Lab, options: TrialOptions): Promise<TrialReport> {
  const start = performance.now()
  const { seed, shape, messages, kills, shells, note } = options
  const { home = lab.newHome() } = options
  const planOptions: PlanOptions = { shape, messages, scenarioOf: scenariosBeside(home), cli: cliOf(lab) }
  const random = new Random(seed)
  const { family, first, afterwards } = makePlan(random, planOptions)
  writeScenarios(home, family)
  const storm = new Storm(lab, home, new Random(seed + 1), { kills, shells })
  const tops = shape.roots
  try {
    await storm.runCalmly(first.slice(0, tops))
    note(`${first.length + afterwards.length} commands in ${shells} shells`)
    await storm.rage([...first.slice(tops), ...afterwards], family)
    await settleAll(storm, home)
    await topUp()
    const seen = Seen.read(home)
    const verdict = judge({ home, seen, sent: allSent(seen, storm.ledger), ledger: storm.ledger, family })
    const seconds = (performance.now() - start) / 1000
    return { ...verdict, agents: seen.agents.length, kills: storm.kills, killsOf: storm.killsOf, seconds }
  } finally {
    storm.stop()
  }

  /** Adds the agents that their parents did not create, and the missing messages and kills. */
  async function topUp(): Promise<void> {
    for (let round = 1; round <= ROUNDS_MAX; round++) {
      const seen = Seen.read(home)
      const unborn = family.filter(({ path }) => seen.at(path).length === 0)
      const missing = Math.min(messages - seen.messages.length, 500)
      if (unborn.length === 0 && missing <= 0 && storm.kills >= kills) return
      note(`after ${storm.kills} kills: ${unborn.length} agents and ${Math.max(missing, 0)} messages to go`)
      await storm.runCalmly(unborn.map((agent) => spawnOf(random, agent, planOptions)))
      await storm.rage(morePosts(random, family, messages * round, Math.max(missing, 20)), family)
      await settleAll(storm, home)
    }
  }
}

/** Kills deliveries while kills are wanted. Then recovers and delivers until nothing is owed. */
async function settleAll(storm: Storm, home: string): Promise<void> {
  await storm.killDeliveries(() => Seen.read(home).owed().length > 0)
  const recover = commandOf('recover', ['recover', '--all', '--continue', 'all'])
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await storm.runCalmly([recover])
    await storm.runCalmly([commandOf('deliver', ['deliver', '--all'])])
    const seen = Seen.read(home)
    await storm.runCalmly(leftToPerson(seen).map((id) => commandOf('resume', ['resume', id])))
    // A sender in a tool marks its recipient again after the mail is stored, which may have been delivered by then.
    if (seen.owed().length === 0) return storm.runCalmly([recover])
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

function commandOf(verb: Operation['verb'], argv: string[]): Operation {
  return { verb, argv, isRepeated: false, killAt: null }
}

function scenariosBeside(home: string): (path: string) => string {
  return (path) => join(pathBeside(home, 'scenarios'), `${path.replaceAll('/', '-')}.json`)
}

function writeScenarios(home: string, family: PlannedAgent[]): void {
  const scenarioOf = scenariosBeside(home)
  mkdirSync(pathBeside(home, 'scenarios'))
  for (const { path, entries } of family)
    writeFileSync(scenarioOf(path), JSON.stringify({ responses: entries }))
}

function cliOf(lab: Lab): string {
  return `${process.execPath} ${lab.cli}`
}
