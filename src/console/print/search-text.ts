/** The output of `search`: a heading for each agent, and a line for each record. */
import { readableTime } from '../../clock.js'
import type { SearchMatch } from '../../schema/output-overview.js'
import { oneLine, printableText } from '../output.js'
import { displayWidth, ellipsis, fitted } from './width.js'

export interface SearchTextOptions {
  /** Undefined: not at a terminal. */
  columns: number | undefined
  isColoured: boolean
}

export class SearchText {
  private agentId = ''

  constructor(private readonly options: SearchTextOptions) {}

  lines(match: SearchMatch): string {
    const isNew = match.agent_id !== this.agentId
    const gap = isNew && this.agentId !== '' ? '\n' : ''
    this.agentId = match.agent_id
    const name = oneLine(match.path ?? match.agent_id)
    return `${isNew ? `${gap}${this.styled(BOLD, name)}\n` : ''}${this.line(match)}\n`
  }

  private line({ ts, role, tool, snippet, match: [start, end] }: SearchMatch): string {
    const { columns } = this.options
    const head = `  ${columns === undefined ? readableTime(ts) : toMinute(readableTime(ts))}  ${role === 'operator' ? 'you' : (tool ?? role)}: `
    if (columns === undefined) return head + snippet
    const room = Math.max(20, columns - displayWidth(head))
    // The match comes into view if the line is too long.
    const from =
      displayWidth(snippet.slice(0, end)) > room - 4 ? Math.max(0, start - Math.floor(room / 3)) : 0
    const clean = (part: string): string => printableText(part.replaceAll('\t', ' '), { isTTY: true })
    const before = (from > 0 ? ellipsis() : '') + clean(snippet.slice(from, start))
    const found = clean(snippet.slice(start, end))
    const shown = fitted(before + found + clean(snippet.slice(end)), room)
    const foundEnd = before.length + found.length
    if (!shown.startsWith(before + found)) return head + shown
    return `${head}${before}${this.styled(FOUND, found)}${shown.slice(foundEnd)}`
  }

  private styled(style: [string, string], text: string): string {
    return this.options.isColoured ? style.join(text) : text
  }
}

/** A line of a terminal has more room for the text. */
function toMinute(time: string): string {
  return time.replace(/:\d\d(?=Z|[+-]\d\d:\d\d$)/, '')
}

const BOLD: [string, string] = ['\u001b[1m', '\u001b[22m']
const FOUND: [string, string] = ['\u001b[31;1m', '\u001b[39;22m']
