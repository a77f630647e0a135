/**
 * The highest number of a change of the home that this host knows to be durable (`substrat.change`). A home with a lower one has lost
 * changes (distrust.sql).
 *
 * Two files on this host have it. `seen.latest` is written at the end of each visit and not synced. `seen` is synced, so it is written
 * only after many changes or much time. The higher one counts, and a missing or damaged file counts as 0: a crash or a power cut can
 * leave a number that is too low, and then fewer losses are noticed, but never one that is too high.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StoreKit } from 'substrat/store'
import { homeDirectory } from './local.js'

const CHANGES_MIN = 256
const MS_MIN = 60 * 60_000

interface Mark {
  change: number
  at: number
}

const NONE: Mark = { change: 0, at: 0 }

export class Seen {
  private synced: Mark | undefined
  private highest = 0
  private isNew = false

  constructor(
    private readonly kit: StoreKit,
    private readonly homeId: string,
  ) {}

  /** For the next `take`. */
  get change(): number {
    this.read()
    return this.highest
  }

  /** The server has acknowledged this change. */
  note(change: number): void {
    if (change <= this.change) return
    this.highest = change
    this.isNew = true
  }

  /** A visit ends. Without the write, this host notices fewer losses. */
  keep(): void {
    if (!this.isNew) return
    this.isNew = false
    try {
      this.write()
    } catch {
      // The next visit tries again.
    }
  }

  private write(): void {
    const { kit, highest } = this
    const mark: Mark = { change: highest, at: kit.clock.now() }
    mkdirSync(homeDirectory(this.homeId), { recursive: true, mode: 0o700 })
    const latest = this.markIn('seen.latest')
    if (latest.change < highest) writeFileSync(this.path('seen.latest'), kit.frame(mark), { mode: 0o600 })
    const synced = this.read()
    const isDue = highest - synced.change >= CHANGES_MIN || Math.abs(mark.at - synced.at) >= MS_MIN
    if (!isDue) return
    kit.replace('seen', this.path('seen'), kit.frame(mark), { durableName: true })
    this.synced = mark
  }

  /** Reads both files once. */
  private read(): Mark {
    if (this.synced !== undefined) return this.synced
    this.synced = this.markIn('seen')
    this.highest = Math.max(this.highest, this.synced.change, this.markIn('seen.latest').change)
    return this.synced
  }

  private markIn(name: string): Mark {
    try {
      const line = this.kit.unframeFile(readFileSync(this.path(name)))
      const { change, at } = ('damage' in line ? NONE : line.object) as Partial<Mark>
      return Number.isSafeInteger(change) && Number.isSafeInteger(at) ? ({ change, at } as Mark) : NONE
    } catch {
      return NONE
    }
  }

  private path(name: string): string {
    return join(homeDirectory(this.homeId), name)
  }
}
