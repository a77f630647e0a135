/** Separate file systems for a home: small ones, and ones that stop accepting writes. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'

const PAGE_BYTES = 4096

/** Runs `work` on a new file system. Returns the reason if mounting is not permitted. */
export async function onMount(
  lab: Lab,
  make: (place: string) => string[][],
  work: (place: string) => Promise<void>,
): Promise<string | undefined> {
  const place = join(lab.root, 'mount')
  mkdirSync(place, { recursive: true })
  const why = make(place)
    .map(([program, ...words]) => failure(program as string, words))
    .find((each) => each !== undefined)
  try {
    if (why === undefined) await work(place)
    return why
  } finally {
    spawnSync('umount', ['-l', place])
  }
}

export function failure(program: string, words: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n')[0] ?? `${program} failed`)
}

export const remount = (place: string, options: string): string | undefined =>
  failure('mount', ['-o', `remount,${options}`, place])

export const tmpfs = (place: string): string[][] => [
  ['mount', '-t', 'tmpfs', '-o', 'size=64m', 'substrat', place],
]

/** Fills the file system except for that many pages. The returned function frees them. */
export function fill(place: string, pages: number): () => void {
  const { bfree, bsize } = statfsSync(place)
  const filler = join(place, 'filler')
  writeFileSync(filler, Buffer.alloc(Math.max(0, bfree * bsize - pages * PAGE_BYTES)))
  return () => rmSync(filler)
}
