/** The output of `log` at a terminal: local times, a heading for each day, colours by role, hanging indent, long texts folded. */
import { zoneAt } from '../../clock.js'
import { type Entry, entryOf } from '../../session/entries.js'
import type { SessionRecord } from '../../session/records.js'
import { signsOf } from '../live/signs.js'
import { printableText } from '../output.js'
import { wrapped } from './wrap.js'

export interface LogPageOptions {
  columns: number
  /** Whether long texts are cut off. */
  folds: boolean
  isColoured: boolean
}

type Role = 'person' | 'agent' | 'tool' | 'trouble' | 'other'

const INDENT = ' '.repeat(10)
/** The lines of an entry. A reader looks for replies, and rarely for the output of tools. */
const LINES_MAX = { tool: 10, others: 40 }
const COLOURS: Record<Role, [begin: string, end: string]> = {
  person: ['\u001b[36;1m', '\u001b[39;22m'],
  agent: ['\u001b[32;1m', '\u001b[39;22m'],
  tool: ['\u001b[33m', '\u001b[39m'],
  trouble: ['\u001b[31m', '\u001b[39m'],
  other: ['\u001b[2m', '\u001b[22m'],
}
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

export class LogPage {
  private day = ''

  constructor(private readonly options: LogPageOptions) {}

  /** The lines of an entry, with the heading of a new day before it. */
  entry(record: SessionRecord, what: string): string {
    const at = new Date(record.ts)
    const day = `${DAYS[at.getDay()]}, ${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}, UTC${zoneAt(at).replace('Z', '')}`
    const heading = day === this.day ? [] : [this.coloured('other', day)]
    this.day = day
    const role = roleOf(entryOf(record))
    const [first = '', ...rest] = this.lines(what, role)
    const time = this.coloured('other', [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':'))
    return [
      ...heading,
      `${time}  ${this.firstLine(first, role)}`,
      ...rest.map((line) => this.nextLine(line, role)),
    ]
      .map((line) => `${line}\n`)
      .join('')
  }

  private lines(what: string, role: Role): string[] {
    const { columns, folds } = this.options
    const width = Math.max(20, columns - INDENT.length)
    const most = folds ? LINES_MAX[role === 'tool' ? 'tool' : 'others'] : Number.POSITIVE_INFINITY
    const source = what.trimEnd().split('\n')
    const lines: string[] = []
    for (const [index, line] of source.entries()) {
      // No more of a line than can be shown, because it may be very long.
      const part = folds ? line.slice(0, 4 * most * width) : line
      for (const piece of wrapped(printableText(part.replaceAll('\t', '    '), { isTTY: true }), width)) {
        if (lines.length < most) lines.push(piece)
        else return [...lines, foldText(source.length - index)]
      }
    }
    return lines
  }

  private firstLine(line: string, role: Role): string {
    if (role === 'other' || role === 'trouble') return this.coloured(role, line)
    const [label = ''] = /^[^:]*:?/.exec(line) ?? []
    return this.coloured(role, label) + line.slice(label.length)
  }

  private nextLine(line: string, role: Role): string {
    if (line === '') return ''
    return INDENT + (role === 'other' ? this.coloured(role, line) : line)
  }

  private coloured(role: Role, text: string): string {
    return this.options.isColoured && text !== '' ? COLOURS[role].join(text) : text
  }
}

function foldText(lines: number): string {
  const { ellipsis } = signsOf()
  return `${ellipsis} ${lines === 1 ? 'more of this line' : `${lines} more lines`}; --all shows everything`
}

function roleOf(entry: Entry): Role {
  if (entry.type === 'result' && entry.is_error) return 'trouble'
  return ROLES[entry.type] ?? 'other'
}

const ROLES: { [Type in Entry['type']]?: Role } = {
  prompt: 'person',
  mail: 'person',
  edit: 'person',
  reply: 'agent',
  response: 'tool',
  call: 'tool',
  deferral: 'tool',
  result: 'tool',
  failed_request: 'trouble',
  failure: 'trouble',
  stop: 'trouble',
  trouble: 'trouble',
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}
