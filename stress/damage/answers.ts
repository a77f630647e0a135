/** The commands that are run on a damaged home, and their answers without what differs from run to run. */
import { viewOf } from '../faults/view.js'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import type { Damage } from './damages.js'

/** It looks at everything, and so must see everything. */
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

/** Each as the only one on its home. */
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

/** All of them where the damage is not about bytes; else the one that has its turn. */
export function commandsFor({ range }: Damage, turn: number): string[][] {
  return range === undefined ? WRITING : [WRITING[turn % WRITING.length] as string[]]
}

export interface Answer {
  status: LabEnded['status']
  text: string
  /** The home after it, of commands that write. */
  view: string[] | undefined
}

export function answerOf({ status, stdout }: LabEnded, lab: MachineLab, changes = true): Answer {
  const text = stdout.replaceAll(/st_[\w-]{36}_[\w-]{32}/g, '<token>')
  return { status, text, view: changes ? viewOrNone(lab.home) : undefined }
}

/** Of a home that cannot even be opened nothing is seen. */
function viewOrNone(home: string): string[] {
  try {
    return viewOf(home)
  } catch {
    return []
  }
}
