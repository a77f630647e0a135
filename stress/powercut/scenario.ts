/** What a scenario is, and the words that several of them need. */
import { OPERATOR } from '../../src/format.js'
import { FileStore } from '../../src/storage/store.js'
import type { Ended, OnStep } from '../machine/process.js'
import type { HomeView } from '../support/home-view.js'
import type { Broken } from '../support/promises.js'
import type { Desk } from './desk.js'
import type { Told } from './trace.js'

export interface Scenario {
  name: string
  /** Commands that come before, whose unsynced steps the power cut may take, too. */
  begin(desk: Desk): Promise<Case>
}

/** A command that the power is cut under, and what has to hold afterwards. */
export interface Case {
  argv: string[]
  /** What goes on meanwhile: started before the command; the result is awaited when it has ended. */
  meanwhile?(): Promise<() => Promise<unknown>>
  /** Once all that is recorded. */
  settle?(): void
  /** What is done outside the home matters: it is put back as it was when the power was cut. */
  worksOutside?: boolean
  /** What was told is true. */
  acknowledged(told: Told, home: HomeView): Broken
  /** The next command, which goes on without being told. `cuts`: how often the power was cut so far. */
  next: { argv: string[]; check(ended: Ended, told: Told, cuts: number): Broken }
  /** The home is damaged, and the command, which is also the next one, mends it: only then anything else has to hold. */
  isDamaged?: boolean
  /** When all of it has been tried. */
  end?(): void
  /** What a person does when these have run: each exits 0. */
  afterwards?: string[][]
  /** How `recover --all` may end besides 0 and 6. */
  recoverExits?: number[]
  /** When the next command and `recover --all` have run, in either order. */
  finally(home: HomeView, told: Told): Broken
}

export function* exits(ended: Ended, status: number, stdout?: string): Broken {
  if (ended.status !== status)
    yield `the next command exits ${status}, not ${ended.status}: ${ended.stderr.trim()}`
  else if (stdout !== undefined && ended.stdout !== stdout)
    yield `the next command prints ${JSON.stringify(stdout.slice(0, 80))}, not ${JSON.stringify(ended.stdout.slice(0, 200))}`
}

/** Messages in the inbox of the operator, as they are stored. */
export function operatorMail({ home }: Desk): string[] {
  const store = FileStore.openForRead(home)
  const ids = store?.mail.ids(OPERATOR) ?? []
  return ids.map((id) => JSON.stringify(store?.mail.read(OPERATOR, id) ?? null))
}

/** The settings, as they are stored. */
export function configOf({ home }: Desk): string | undefined {
  return FileStore.openForRead(home)?.readConfig()?.toString('utf8')
}

/** An agent that has had a turn, on a home that recovery has looked at: from then on it goes by the markers alone. */
export async function withAgent(desk: Desk, name: string, ...flags: string[]): Promise<string> {
  const { stdout } = await desk.do('spawn', '--name', name, '--workspace', desk.workspace, ...flags)
  await desk.do('recover', '--all')
  return stdout.trim()
}

/** Leaves a turn as the death of its process leaves it: with the message taken, and the model asked. */
export async function leaveAsked(desk: Desk, name: string, content: string): Promise<void> {
  await desk.run(['send', name, content], killedAfterRecord('model.requested'))
}

/** Killed before the step that comes after the sync of that record. */
function killedAfterRecord(kind: string): OnStep {
  let seen = 0
  return ({ name, bytes }) => {
    if (seen === 2) return { kill: true }
    if (seen === 1 && name === 'fdatasync') seen = 2
    if (name === 'write' && bytes !== undefined && Buffer.from(bytes).includes(`"kind":"${kind}"`)) seen = 1
    return undefined
  }
}

/** Killed before its n-th step of that point. */
export function killedBefore(point: string, n: number): OnStep {
  let left = n
  return (operation) => (operation.point === point && --left === 0 ? { kill: true } : undefined)
}
