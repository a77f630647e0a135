/** One running turn, as the status line shows it. */
import { clock } from '../../clock.js'
import { callText } from '../../dispatch/call-text.js'
import type { Usage } from '../../schema/types.js'
import type { SessionRecord } from '../../session/records.js'
import { elapsedText } from '../print/elapsed.js'
import { usageTexts } from '../print/usage-line.js'
import { fitted, width } from './fit.js'
import type { Signs } from './signs.js'

interface Doing {
  text: string
  sinceMs: number
}

/** The tool part of the line is not shortened below this. */
const DOING_COLUMNS_MIN = 12

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
const COLOURS = /\u001b\[[0-9;]*m/g
const PARTIAL_CHARACTERS_MAX = 10_000

export class TurnLine {
  readonly beganMs = clock.monotonic()
  private doing: Doing
  /** Running tools by call id. */
  private readonly tools = new Map<string, Doing>()
  /** The program's stderr since its last line break. */
  private partial = ''
  /** The sum of the requests that have ended. */
  private counted: Usage = { input_tokens: 0, output_tokens: 0 }
  /** As the program has reported it so far. */
  private reported: Usage | undefined

  constructor(readonly name: string) {
    this.doing = { text: 'starting', sinceMs: this.beganMs }
  }

  /** Returns the line to print when a tool has ended. */
  take(record: SessionRecord, signs: Signs): ((columns: number) => string) | undefined {
    switch (record.kind) {
      case 'model.requested':
        this.now('waiting for the model')
        return undefined
      case 'model.failed':
        this.now(record.retry_in_ms === null ? 'request failed' : 'pausing before the next attempt')
        return undefined
      case 'model.responded':
        this.counted = sumOf(this.counted, record.usage)
        return undefined
      case 'provider.started':
        this.now('working')
        return undefined
      case 'tool.started':
      case 'program.tool_started':
        this.call(record.call_id, record.tool, record.input)
        return undefined
      case 'tool.finished':
      case 'program.tool_finished':
        return this.finished(record, signs)
      default:
        return undefined
    }
  }

  /** A call with its input. Its record may follow, or may have come without the input. */
  call(callId: string, tool: string, input: Record<string, unknown> | undefined): void {
    const known = this.tools.get(callId)
    if (known !== undefined && input === undefined) return
    const text = input === undefined ? tool : callText({ tool, input })
    this.tools.set(callId, { text, sinceMs: known?.sinceMs ?? clock.monotonic() })
  }

  writing(): void {
    if (this.doing.text !== 'writing') this.now('writing')
  }

  /** The lines that this piece of the program's stderr completes, without empty ones. */
  printed(piece: string): string[] {
    const lines = `${this.partial}${piece}`.replace(COLOURS, '').split(/\r?\n|\r/)
    this.partial = (lines.pop() ?? '').slice(-PARTIAL_CHARACTERS_MAX)
    return lines.filter((line) => line.trim() !== '')
  }

  used(usage: Usage): void {
    this.reported = usage
  }

  line(columns: number, { dot, ellipsis, dim }: Signs): string {
    const now = clock.monotonic()
    const { text, sinceMs } = [...this.tools.values()].at(-1) ?? this.doing
    const more = this.tools.size > 1 ? ` (+${this.tools.size - 1})` : ''
    const usage = usageTexts(this.reported ?? this.counted)
    const times = [elapsedText(now - sinceMs), `turn ${elapsedText(now - this.beganMs)}`]
    const gap = ` ${dot} `
    const within = (name: string, parts: string[]): string | undefined => {
      const rest = `${more}${gap}${parts.join(gap)}`
      const room = columns - width(name) - width(gap) - width(rest)
      const isRoom = room >= Math.min(DOING_COLUMNS_MIN, width(text))
      return isRoom ? `${name}${gap}${fitted(text, room, ellipsis)}${rest}` : undefined
    }
    const name = fitted(this.name, Math.max(8, Math.floor(columns / 3)), ellipsis)
    const line =
      within(name, [...times, ...usage]) ??
      within(name, times) ??
      within(name, times.slice(0, 1)) ??
      fitted(`${name}${gap}${text}`, columns, ellipsis)
    return `${dim[0]}${line}${dim[1]}`
  }

  private now(text: string): void {
    this.doing = { text, sinceMs: clock.monotonic() }
  }

  private finished(
    { call_id, is_error }: SessionRecord<'tool.finished'> | SessionRecord<'program.tool_finished'>,
    { arrow, ellipsis, done, failed, dim }: Signs,
  ): ((columns: number) => string) | undefined {
    const tool = this.tools.get(call_id)
    if (tool === undefined) return undefined
    this.tools.delete(call_id)
    // The next request, or the program's next step, begins here.
    if (this.tools.size === 0) this.now('working')
    const end = ` ${ellipsis} ${elapsedText(clock.monotonic() - tool.sinceMs)} ${is_error ? failed : done}`
    return (columns) => {
      const room = columns - width(arrow) - 1 - width(end)
      return `${dim[0]}${arrow} ${fitted(tool.text, room, ellipsis)}${end}${dim[1]}`
    }
  }
}

function sumOf(sum: Usage, usage: Usage | undefined): Usage {
  if (usage === undefined) return sum
  const cost = usage.cost_usd === undefined ? sum.cost_usd : (sum.cost_usd ?? 0) + usage.cost_usd
  return {
    input_tokens: sum.input_tokens + usage.input_tokens,
    output_tokens: sum.output_tokens + usage.output_tokens,
    ...(cost === undefined ? {} : { cost_usd: cost }),
  }
}
