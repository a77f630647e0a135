/** The part of a log that a fork copies: up to a turn or a message, in whole batches. */
import { SubstratError, shellWord } from '../errors.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import type { LoggedRecord, LogReader } from '../storage/store.js'

/** A number of a turn has at most so many digits. A longer word is an id. */
const TURN_DIGITS_MAX = 3
const ID = /^[0-9a-f][0-9a-f-]{3,35}$/

interface Turn {
  runId: string
  /** Its first batch begins there. */
  from: number
  /** The first batch of the next turn begins there. Undefined for the latest turn. */
  to: number | undefined
}

interface Place {
  id: string
  end: number
}

/**
 * The byte at which the copied part ends. `word`: the number of a turn (1 is the first, -1 the latest), the id of one of its runs or of a
 * message, or a unique beginning of it. The part includes the turn or the reply, but not a prompt: the new agent may get it in other
 * words. Throws MESSAGE_NOT_FOUND.
 */
export function forkPoint({ path, id }: Pick<State, 'path' | 'id'>, log: LogReader, word: string): number {
  const found = new Places(word.toLowerCase())
  for (const batch of log.batches({ offset: 0, seq: 1 })) found.add(batch)
  const places = found.places(log.size())
  const [first] = places
  if (first !== undefined && places.every((place) => place.id === first.id)) return first.end
  const said = JSON.stringify(word.slice(0, 80))
  throw new SubstratError(
    'MESSAGE_NOT_FOUND',
    first === undefined
      ? `${path} has no turn or message ${said}; it has ${found.turns.length} turns`
      : `${said} is the beginning of the ids of ${new Set(places.map((place) => place.id)).size} turns and messages of ${path}`,
    {
      hint: `count its turns: substrat log ${shellWord(path)}; or see the ids: substrat log ${shellWord(path)} --json`,
      facts: { agent_id: id },
    },
  )
}

class Places {
  readonly turns: Turn[] = []
  /** The turn of each run. */
  private readonly turnOf = new Map<string, Turn>()
  private readonly messages: Place[] = []

  constructor(private readonly word: string) {}

  add(batch: LoggedRecord[]): void {
    const [from, to] = [batch[0]?.offset ?? 0, batch.at(-1)?.end ?? 0]
    for (const { record } of batch) this.look(record as unknown as SessionRecord, from, to)
  }

  private look(record: SessionRecord, from: number, to: number): void {
    switch (record.kind) {
      case 'run.started':
        this.begin(record, from)
        break
      case 'message.user':
        this.note(record.message_id, from)
        break
      case 'mail.delivered':
        // Otherwise it is the result of a call.
        if (record.call_id === undefined) this.note(record.message_id, from)
        break
      case 'message.agent':
        this.note(record.message_id, to)
        break
    }
  }

  private begin({ run_id: runId, continues }: SessionRecord<'run.started'>, from: number): void {
    const continued = continues === undefined ? undefined : this.turnOf.get(continues)
    const latest = this.turns.at(-1)
    const turn = continued ?? { runId, from, to: undefined }
    this.turnOf.set(runId, turn)
    if (continued !== undefined) return
    if (latest !== undefined) latest.to = from
    this.turns.push(turn)
  }

  private note(id: string, end: number): void {
    if (ID.test(this.word) && id.startsWith(this.word)) this.messages.push({ id, end })
  }

  places(size: number): Place[] {
    const { word, turns } = this
    const place = ({ runId, to }: Turn): Place => ({ id: runId, end: to ?? size })
    if (new RegExp(`^-?\\d{1,${TURN_DIGITS_MAX}}$`).test(word)) {
      const at = Number(word)
      const turn = at > 0 ? turns[at - 1] : turns.at(at === 0 ? turns.length : at)
      return turn === undefined ? [] : [place(turn)]
    }
    const named = [...this.turnOf].filter(([runId]) => ID.test(word) && runId.startsWith(word))
    return [...named.map(([, turn]) => place(turn)), ...this.messages]
  }
}
