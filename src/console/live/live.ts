/**
 * The display of a command on a terminal: the reply as it comes, a line per ended tool, and status lines. Loaded only then.
 *
 * It is progress and acknowledges nothing: its text may be of a request that fails. Then it says that the text is discarded.
 */
import process from 'node:process'
import { clock } from '../../clock.js'
import type { SessionRecord } from '../../session/records.js'
import type { TurnProgress } from '../../turn/ports.js'
import { printableText } from '../output.js'
import { countText } from '../print/usage-line.js'
import { stderr } from '../stdio.js'
import { fitted } from './fit.js'
import { Screen } from './screen.js'
import { signsOf } from './signs.js'
import { TurnLine } from './turn-line.js'

/** No status lines before this time: they would only flicker in a quick command. */
const QUIET_MS = 300
/** A wait shorter than this is not shown. */
const WAIT_MS = 1000

interface Wait {
  sinceMs: number
  text: () => string
}

interface Count {
  what: string
  done: number
  total: number
  beganMs: number
}

export class Live {
  private readonly signs = signsOf()
  private readonly screen: Screen
  /** Running turns by agent id. */
  private readonly turns = new Map<string, TurnLine>()
  private readonly waits = new Set<Wait>()
  private counted: Count | undefined
  /** The agent whose reply is printed, once it has a turn. Null once that reply is printed. */
  private speaker: string | null | undefined
  /** The shown text of the turn, and how many of its pieces are in the log. */
  private pieces: string[] = []
  private recorded = 0
  /** A high surrogate, whose other half is in the next piece. */
  private half = ''

  /** `printsReply`: the command prints the reply of the first agent that has a turn; `showsText`: to this terminal. */
  constructor(
    printsReply: boolean,
    private readonly showsText: boolean,
  ) {
    const streams = process.stdout.isTTY ? [process.stdout] : []
    this.screen = new Screen(process.stderr, streams, (columns, rows) => this.linesFor(columns, rows))
    if (!printsReply) this.speaker = null
    this.screen.start()
  }

  close(): void {
    this.screen.close()
  }

  /** `isMuted`: the turn is not the command's own, so its reply is not printed. */
  record(record: SessionRecord, agentId: string, name: string, isMuted = false): void {
    if (record.kind === 'run.started' || record.kind === 'run.resumed') {
      if (!isMuted) this.speaker ??= this.speaker === null ? null : agentId
      if (this.speaker === agentId) this.forget()
      this.turns.set(agentId, new TurnLine(name))
      return
    }
    const turn = this.turns.get(agentId)
    if (turn === undefined) return
    const toolLine = turn.take(record, this.signs)
    if (toolLine !== undefined) this.printTool(toolLine, agentId, name)
    if (this.speaker === agentId) this.confirm(record)
    if (!record.kind.startsWith('run.')) return
    this.printStderr(turn.printed('\n'), agentId)
    this.turns.delete(agentId)
  }

  text(content: string, agentId: string, isMuted = false): void {
    this.turns.get(agentId)?.writing()
    if (!this.showsText || this.speaker !== agentId || isMuted) return
    const whole = this.half + content
    const isCut = /[\ud800-\udbff]$/.test(whole)
    this.half = isCut ? whole.slice(-1) : ''
    const piece = isCut ? whole.slice(0, -1) : whole
    this.pieces.push(piece)
    this.screen.text(process.stdout, printableText(piece, process.stdout))
  }

  progress(progress: TurnProgress, agentId: string): void {
    const turn = this.turns.get(agentId)
    if (progress.type === 'stderr') this.printStderr(turn?.printed(progress.text) ?? [], agentId)
    else if (progress.type === 'usage') turn?.used(progress.usage)
    else turn?.call(progress.call_id, progress.tool, progress.input)
  }

  /** Shows the text after a second, until the returned function is called. */
  wait(text: () => string): () => void {
    const wait = { sinceMs: clock.monotonic(), text }
    this.waits.add(wait)
    return () => void this.waits.delete(wait)
  }

  count(what: string, done: number, total: number): void {
    if (this.counted?.what !== what) this.counted = { what, done, total, beganMs: clock.monotonic() }
    this.counted.done = done
    this.counted.total = total
    this.screen.drawIfLate()
  }

  /** Whether the end of the shown text is this one. It is then complete on the terminal, and no more text is shown. */
  hasShown(reply: string): boolean {
    const shown = this.pieces.join('')
    const isShown = reply.trim() !== '' && shown.trimEnd().endsWith(reply.trim())
    this.speaker = null
    this.pieces = []
    if (isShown && !shown.endsWith('\n')) this.screen.endText(process.stdout)
    return isShown
  }

  private forget(): void {
    this.pieces = []
    this.recorded = 0
    this.half = ''
  }

  /** Marks shown text that no record has when its request or its turn has failed. */
  private confirm(record: SessionRecord): void {
    if (record.kind === 'message.agent') this.recorded = this.pieces.length
    const isLost = this.pieces.length > this.recorded
    if (!isLost || !FAILURES.includes(record.kind)) return
    // A refusal has its text in the record.
    if (record.kind === 'run.failed' && record.said !== undefined) return
    this.forget()
    stderr.line('substrat: the text above is discarded: its request did not complete')
  }

  /** The program's own words, in whole lines. */
  private printStderr(lines: string[], agentId: string): void {
    const name = this.speaker === agentId ? '' : `${this.turns.get(agentId)?.name ?? ''} `
    for (const line of lines) process.stderr.write(`${printableText(`${name}${line}`, process.stderr)}\n`)
  }

  private printTool(line: (columns: number) => string, agentId: string, name: string): void {
    // The text, if any, is the speaker's.
    const prefix = this.speaker === agentId ? '' : `${fitted(name, 24, this.signs.ellipsis)} `
    process.stderr.write(`${prefix}${line(this.screen.columns - prefix.length)}\n`)
  }

  private linesFor(columns: number, rows: number): string[] {
    const now = clock.monotonic()
    const isLate = ({ sinceMs }: { sinceMs: number }, ms: number): boolean => now - sinceMs >= ms
    const turns = [...this.turns.values()].filter(({ beganMs }) => isLate({ sinceMs: beganMs }, QUIET_MS))
    const notes = [
      ...[...this.waits].filter((wait) => isLate(wait, WAIT_MS)).map(({ text }) => quietly(text)),
      ...this.countText(now),
    ].map((text) => this.dimmed(fitted(text, columns, this.signs.ellipsis)))
    const room = Math.max(1, rows - notes.length)
    const shown = turns.length > room ? turns.slice(0, room - 1) : turns
    const left = turns.length - shown.length
    return [
      ...shown.map((turn) => turn.line(columns, this.signs)),
      ...(left === 0 ? [] : [this.dimmed(fitted(`and ${left} more turns`, columns, this.signs.ellipsis))]),
      ...notes,
    ]
  }

  private countText(now: number): string[] {
    if (this.counted === undefined) return []
    const { what, done, total, beganMs } = this.counted
    if (done >= total || now - beganMs < QUIET_MS) return []
    const perSecond = done / ((now - beganMs) / 1000)
    const rate = perSecond >= 1 ? countText(Math.round(perSecond)) : perSecond.toFixed(1)
    return [`${done} of ${total} ${what} ${this.signs.dot} ${rate}/s`]
  }

  private dimmed(text: string): string {
    const [begin, end] = this.signs.dim
    return `${begin}${text}${end}`
  }
}

/** An error in a timer would fail the turn. */
function quietly(text: () => string): string {
  try {
    return text()
  } catch {
    return 'waiting'
  }
}

const FAILURES: SessionRecord['kind'][] = ['model.failed', 'run.failed', 'run.interrupted', 'run.cancelled']
