/** What a scenario of the fault sweep is, and the homes that several of them start from. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineLab } from '../machine/lab.js'

/** Commands of a scenario, once its home is made. */
export interface Prepared {
  /** The command that meets the fault. */
  argv: string[]
  /** The next command, which goes on by itself: the same where that can be said twice, else whatever would come next. */
  next: string[]
  /** It is about several agents, one after the other: a fault may leave it done for some of them. */
  isForEach?: boolean
  /** Before it, and before every look at the home, something is wrong with it that only `next` puts right. */
  isDamaged?: boolean
  /** How doctor ends where that was not put right. */
  damagedStatus?: number
  /** The process is killed before each of its steps, too. */
  isKilled?: boolean
  /** What a copy of the home has not: modes and times. */
  restored?(): void
  /** What has to hold whatever was done, in words where it does not. */
  kept?(): Iterable<string>
  /** Lines of the view that a fault may add: an answer that could not be waited for comes as a message. */
  later?: RegExp
  /** What goes on meanwhile. The result is called when the command has ended, and waits for it. */
  meanwhile?(): Promise<() => Promise<void>>
}

export interface FaultScenario {
  /** As `--scenarios` names it. */
  name: string
  prepare(lab: MachineLab): Promise<Prepared>
}

export interface Response {
  say?: string
  delay_ms?: number
  tools?: { name: string; input: Record<string, unknown> }[]
  fail?: Record<string, unknown>
}

/** Where tools leave a line for each time that they ran. */
export const EFFECTS = 'effects'
export const SHELL = { name: 'shell', input: { command: `echo ran >> ${EFFECTS}` } }

/** An agent whose model answers so; entry 0 is the answer to the message that is sent here. */
export async function withModel(
  lab: MachineLab,
  name: string,
  responses: Response[],
  ...flags: string[]
): Promise<void> {
  writeFileSync(join(lab.workspace, `${name}.json`), JSON.stringify({ responses: [{}, ...responses] }))
  await lab.do('spawn', '--name', name, '--option', `scenario=${name}.json`, ...flags)
  await lab.do('send', name, 'before')
  await scanned(lab)
}

export async function withAgent(lab: MachineLab, name: string, ...flags: string[]): Promise<void> {
  await lab.do('spawn', '--name', name, ...flags)
  await lab.do('send', name, 'before')
  await scanned(lab)
}

/** From now on `recover --all` goes by the markers alone. */
async function scanned(lab: MachineLab): Promise<void> {
  await lab.do('recover', '--all')
}

/** Killed before its n-th step at that fault point. False where it ended by itself before. */
export async function killedAt(lab: MachineLab, argv: string[], point: string, n: number): Promise<boolean> {
  let count = 0
  const { status } = await lab.run(argv, (operation) => {
    if (operation.point === point) count += 1
    return count === n && operation.point === point ? { kill: true } : undefined
  })
  return status === 'killed'
}
