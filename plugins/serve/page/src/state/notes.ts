/** Short messages about what an action did. A screen reader reads them out. */
import { toldOf } from '../model/problem-words.js'
import { Store } from './store.js'

export interface Note {
  id: number
  text: string
  /** Words and commands in turn. */
  next: string[]
  isError: boolean
}

export const notes = new Store<Note[]>([])

let count = 0
const SHOWN_MS = 6000

export function tell(text: string): void {
  const id = add({ text, next: [], isError: false })
  setTimeout(() => dismiss(id), SHOWN_MS)
}

/** Stays until the reader dismisses it. */
export function tellError(error: unknown): void {
  add({ ...toldOf(error), isError: true })
}

function add(note: Omit<Note, 'id'>): number {
  count += 1
  notes.set([...notes.value.slice(-3), { ...note, id: count }])
  return count
}

export function dismiss(id: number): void {
  notes.set(notes.value.filter((note) => note.id !== id))
}
