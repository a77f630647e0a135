/** The commands to run on a damaged home, and their answers without the parts that differ between runs. */
import { viewOf } from '../faults/view.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import type { Damage } from './damages.js'

/** doctor checks everything, so it must notice every damage. */
export const DOCTOR = ['doctor', '--all', '--json']

export const READING = [
  ['show', 'a', '--json'],
  ['show', 'b'],
  ['list', '--all', '--json'],
  ['tree', '--json'],
  ['log', 'a'],
  ['log', 'b', '--json'],
  ['inbox'],
  ['inbox', 'a/kid', '--json'],
  ['show', 't1', '--json'],
  DOCTOR,
]

/** Each runs alone on its own copy of the home. */
export const WRITING = [
  ['send', 'a', '--if-waiting', 'supersede', 'something else'],
  ['send', 'b', '--key', 'new', 'something new'],
  ['recover', '--all'],
  ['approve', 'a'],
  ['send', 'b', '--key', 'k', 'hello'],
  ['resume', 'a/kid'],
  ['spawn', '--name', 'b'],
  ['terminate', 'a', '--recursive'],
  ['send', 't1', 'something more'],
]

/** All of them if the damage is not about bytes; otherwise one, in rotation. */
export function commandsFor({ range }: Damage, turn: number): string[][] {
  return range === undefined ? WRITING : [WRITING[turn % WRITING.length] as string[]]
}

export interface Answer {
  status: LabEnded['status']
  text: string
  /** The home after a writing command. */
  view: string[] | undefined
}

export function answerOf({ status, stdout }: LabEnded, lab: MachineLab, changes = true): Answer {
  const text = stdout.replaceAll(/st_[\w-]{36}_[\w-]{32}/g, '<token>')
  return { status, text, view: changes ? viewOrNone(lab.home) : undefined }
}

/** Empty for a home that cannot be opened. */
function viewOrNone(home: string): string[] {
  try {
    return viewOf(home)
  } catch {
    return []
  }
}
