/**
 * The results that the first statement of a command has read for the calls that follow it. Each is used once, and only before
 * another statement: all of them are of one moment. Any other call asks the database.
 */
import type { Row } from './protocol.js'

/** The things that a command reads first. */
export interface PrefetchPlan {
  /** A word that may be the name of a root. */
  word: string | null
  opens: boolean
  lists: boolean
}

/** `argv`: the command and its words. A word that names no agent costs nothing. */
export function prefetchPlan([command = '', ...words]: string[]): PrefetchPlan {
  const word = words.find((each) => !each.startsWith('-') && each.length <= NAME_LENGTH_MAX)
  // A repeated key has its outcome in the log.
  const hasKey = words.some((each) => each === '--key' || each.startsWith('--key='))
  return {
    word: ['send', 'show'].includes(command) ? (word ?? null) : null,
    opens: command === 'show' || (command === 'send' && hasKey),
    lists: ['list', 'tree'].includes(command),
  }
}

const NAME_LENGTH_MAX = 128

export class Prefetched {
  private readonly parts = new Map<string, unknown>()
  private statement = 0

  /** `statement`: the number of the last one. */
  take<T>(part: string, statement: number): T | undefined {
    if (statement !== this.statement) return undefined
    const value = this.parts.get(part)
    this.parts.delete(part)
    return value as T | undefined
  }

  /** The rows of `begin_command`. Returns the facts of the home. */
  put(rows: Row[], key: string | null, statement: number): Row | undefined {
    const first = rows.find(({ home }) => home != null)
    if (first === undefined) return undefined
    this.statement = statement
    const { home, config, named, opened, agents, marked, is_complete } = first
    if (key !== null) this.parts.set(`name/${key}`, named == null ? [] : [named])
    if (opened != null) {
      const row = { ...(opened as Row), snapshot: first.opened_snapshot, tail: first.opened_tail }
      this.parts.set(`open/${(named as Row).agent_id}`, [row])
    }
    if (agents != null) {
      this.parts.set('agents', agents)
      this.parts.set('marked', marked)
      this.parts.set('is complete', is_complete)
      this.parts.set(
        'peeks',
        rows.filter(({ id }) => id != null),
      )
    }
    return { ...(home as Row), config }
  }
}
