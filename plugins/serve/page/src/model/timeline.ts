/**
 * The turns of an agent as bars on a time axis, from the entries of its log. A bar ends with the entry that ended it. One without
 * an end runs until now, or until its process died.
 */
import { type Entry, type EntryOf, entryOf } from 'substrat/entries'
import { WHY_STOPPED } from 'substrat/reasons'
import type { SessionRecord } from '../api/types.js'
import { textOf } from './content.js'
import { durationText } from './time.js'
import { DECISION_WORDS, KILLS, type Tone, WAIT_WORDS } from './words.js'

export type Lane = 'turn' | 'request' | 'tool' | 'wait' | 'gap'

export interface Bar {
  lane: Lane
  /** The line within the lane: tools can run at the same time. */
  line: number
  from: number
  to: number
  tone: Tone
  word: string
  isOpen: boolean
}

/** A moment: a kill, another interruption, or a continuation. */
export interface Mark {
  at: number
  kind: 'kill' | 'interruption' | 'continuation'
  word: string
}

export interface Timeline {
  bars: Bar[]
  marks: Mark[]
  from: number
  to: number
}

export const LANES: { lane: Lane; word: string }[] = [
  { lane: 'turn', word: 'Turns' },
  { lane: 'request', word: 'Requests' },
  { lane: 'tool', word: 'Tools' },
  { lane: 'wait', word: 'Waits' },
  { lane: 'gap', word: 'Interrupted' },
]

/** `now`: the end of what still runs. */
export function timelineOf(records: readonly SessionRecord[], now: number): Timeline {
  const drawing = new Drawing()
  for (const record of records) drawing.add(entryOf(record))
  return drawing.finish(now)
}

/** A longer label would cover the others. */
const SAID_CHARACTERS = 200

class Drawing {
  private readonly bars: Bar[] = []
  private readonly marks: Mark[] = []
  /** The open bars of the turn that runs, by call id for tools. */
  private readonly open = new Map<string, Bar>()
  private turns = 0
  /** Its answer can come after its end. */
  private latestWait: Bar | undefined
  /** The ids of the calls whose result is the answer of a person. */
  private readonly questions = new Set<string>()
  /** The latest sign of life before an interruption was found. */
  private lastAt = 0

  add(entry: Entry): void {
    const at = Date.parse(entry.ts)
    switch (entry.type) {
      case 'turn':
      case 'resumption':
        this.findDeath(at)
        if (entry.type === 'resumption') this.close('wait', at)
        if (entry.how !== undefined) this.mark(at, 'continuation', 'continued')
        else if (entry.type === 'turn') this.turns += 1
        this.begin('turn', 'turn', at, 'run', `turn ${this.turns}`)
        break
      case 'wait':
        this.endSteps(at)
        this.close('turn', at, { tone: 'wait' })
        this.wait(at, entry)
        break
      case 'decision':
        this.say(`, ${DECISION_WORDS[entry.decision]}`)
        break
      case 'answer':
        this.say(`: ${textOf(entry.content)}`)
        break
      case 'completion':
        this.endTurn(at, 'good', 'completed')
        break
      case 'failure':
        this.endTurn(at, 'bad', `failed: ${entry.why}`)
        break
      case 'stop':
        if (entry.how === 'interrupted') this.interrupt(at, entry.reason)
        else this.endTurn(at, 'calm', `${entry.how}: ${entry.why}`)
        break
      case 'request':
        this.begin('request', 'request', at, 'run', entry.process_group === undefined ? 'request' : 'program')
        break
      case 'response':
        this.close('request', at, { tone: 'good', word: 'answered' })
        break
      case 'failed_request':
        this.close('request', at, { tone: 'bad', word: `failed: ${entry.why}` })
        break
      case 'call_start':
      case 'call':
        this.begin(`tool ${entry.call_id}`, 'tool', at, 'run', entry.tool)
        break
      case 'result':
        if (this.questions.delete(entry.call_id) && !entry.is_error) this.say(`: ${textOf(entry.content)}`)
        this.close(`tool ${entry.call_id}`, at, { tone: entry.is_error ? 'bad' : 'good' })
        break
    }
    this.lastAt = at
  }

  /** A turn that goes on was cut short. If no record says so, its process died after its last record. */
  private findDeath(at: number): void {
    if (this.open.has('turn')) this.interrupt(at, 'process_exit')
    this.close('gap', at)
  }

  /** A process that died wrote nothing: its bars end with its last record, and the rest is a gap. */
  private interrupt(at: number, reason: EntryOf<'stop'>['reason']): void {
    const isKill = KILLS.has(reason)
    const diedAt = isKill ? this.lastAt : at
    this.endSteps(diedAt, 'bad')
    this.close('wait', at)
    this.close('turn', diedAt, { tone: 'bad', suffix: `interrupted: ${WHY_STOPPED[reason]}` })
    this.mark(diedAt, isKill ? 'kill' : 'interruption', WHY_STOPPED[reason])
    this.begin('gap', 'gap', diedAt, 'bad', WHY_STOPPED[reason])
  }

  private endTurn(at: number, tone: Tone, suffix: string): void {
    this.endSteps(at)
    this.close('wait', at)
    this.close('gap', at)
    this.close('turn', at, { tone, suffix })
  }

  /** A wait that is begun again, for example with a new token, is one bar. */
  private wait(at: number, { wait, asks = [] }: EntryOf<'wait'>): void {
    const word = WAIT_WORDS[wait].toLowerCase()
    if (this.open.get('wait')?.word === word) return
    this.begin('wait', 'wait', at, 'wait', word)
    this.latestWait = this.open.get('wait')
    for (const { call_id: id } of wait === 'input' ? asks : []) if (id !== null) this.questions.add(id)
  }

  /** Adds the decision about the latest wait, or its answer. */
  private say(text: string): void {
    if (this.latestWait !== undefined && text !== ': ') this.latestWait.word += text.slice(0, SAID_CHARACTERS)
  }

  private endSteps(at: number, tone?: Tone): void {
    for (const [key, bar] of [...this.open])
      if (bar.lane === 'request' || bar.lane === 'tool')
        this.close(key, at, tone === undefined ? {} : { tone })
  }

  private begin(key: string, lane: Lane, from: number, tone: Tone, word: string): void {
    this.close(key, from)
    const used = new Set([...this.open.values()].filter((bar) => bar.lane === lane).map(({ line }) => line))
    let line = 0
    while (used.has(line)) line += 1
    this.open.set(key, { lane, line, from, to: from, tone, word, isOpen: true })
  }

  private close(key: string, to: number, end: { tone?: Tone; word?: string; suffix?: string } = {}): void {
    const bar = this.open.get(key)
    if (bar === undefined) return
    this.open.delete(key)
    const { tone = bar.tone, word = bar.word, suffix } = end
    const ended = { to, tone, word: suffix === undefined ? word : `${word}, ${suffix}`, isOpen: false }
    this.bars.push(Object.assign(bar, ended))
  }

  private mark(at: number, kind: Mark['kind'], word: string): void {
    this.marks.push({ at, kind, word })
  }

  finish(now: number): Timeline {
    const open = [...this.open.values()].map((bar) => ({ ...bar, to: Math.max(now, bar.from) }))
    const bars = [...this.bars, ...open].sort((a, b) => a.from - b.from)
    const from = bars.reduce((least, bar) => Math.min(least, bar.from), Number.POSITIVE_INFINITY)
    const to = bars.reduce((most, bar) => Math.max(most, bar.to), 0)
    return { bars, marks: this.marks, from: bars.length === 0 ? now : from, to: Math.max(to, from + 1) }
  }
}

export function barText({ word, from, to, isOpen }: Bar): string {
  return `${word}, ${durationText(to - from)}${isOpen ? ' so far' : ''}`
}

/** The number of lines of each lane. */
export function linesOf(bars: readonly Bar[], lane: Lane): number {
  return bars.reduce((most, bar) => (bar.lane === lane ? Math.max(most, bar.line + 1) : most), 1)
}

const STEPS_MS = [
  10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
  3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000, 172_800_000, 604_800_000, 1_209_600_000,
  2_592_000_000,
]

/** Round times within the window, at most `count` of them. */
export function ticksIn(from: number, to: number, count: number): number[] {
  const step = STEPS_MS.find((ms) => (to - from) / ms <= count) ?? (to - from) / count
  const first = Math.ceil(from / step) * step
  return Array.from(
    { length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, index) => first + index * step,
  )
}
