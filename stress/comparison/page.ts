/** The table of docs/comparison.md, made from stress/results/comparison.json. */
import type { Key, Killed, Permission, Syncs } from './measures.js'
import { COMMAND_SECONDS_MAX, type Outcome } from './setup.js'

/** A measure, or the reason that there is none. */
type Measured<Value> = Value | { failed: string }

export interface Row {
  name: string
  /** The program or the model that it drives; null for a CLI with an agent of its own. */
  with: string | null
  packages: Record<string, string>
  version: Measured<string>
  next: Measured<Killed[]>
  again: Measured<Killed[]>
  syncs: Measured<Syncs>
  key: Measured<Key>
  permission: Measured<Permission>
  limited: Measured<Outcome>
  wrongKey: Measured<Outcome>
}

export interface Comparison {
  date: string
  rows: Row[]
}

const BEGIN = '<!-- Made by npm run stress:comparison: do not edit. -->'
const END = '<!-- End of the table. -->'
const HEADINGS = ['CLI', 'Continues', 'Repeats work', 'Syncs', 'Key', 'Permission', 'Rate limit', 'Wrong key']

/** The page with its table replaced. */
export function withTable(page: string, comparison: Comparison): string {
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined)
    throw new Error(`the page has no place for the table: ${BEGIN}`)
  return `${before}${BEGIN}\n${tableOf(comparison)}\n${END}${after}`
}

function tableOf({ rows }: Comparison): string {
  const lineOf = (cells: string[]): string => `| ${cells.join(' | ')} |`
  return [lineOf(HEADINGS), `|${'---|'.repeat(HEADINGS.length)}`, ...rows.map(cellsOf).map(lineOf)].join('\n')
}

function cellsOf(row: Row): string[] {
  const { name, with: driven, version } = row
  return [
    `${name} ${cell(version, (number) => number)}${driven === null ? '' : ` with ${driven}`}`,
    cell(row.next, (kills) => countOf(kills, ({ replied }) => replied)),
    cell(row.again, (kills) => countOf(kills, ({ timesDone }) => timesDone > 1)),
    cell(row.syncs, ({ session }) => String(Object.values(session).reduce((sum, count) => sum + count, 0))),
    cell(row.key, keyCell),
    cell(row.permission, permissionCell),
    cell(row.limited, exitCell),
    cell(row.wrongKey, exitCell),
  ]
}

function cell<Value>(measured: Measured<Value>, text: (value: Value) => string): string {
  const isFailed = typeof measured === 'object' && measured !== null && 'failed' in measured
  return isFailed ? 'not measured' : text(measured as Value)
}

function countOf(kills: Killed[], holds: (kill: Killed) => boolean): string {
  return `${kills.filter(holds).length}/${kills.length}`
}

function keyCell({ help, keyed }: Key): string {
  const isFirstReply = keyed !== null && keyed.asked === 1 && keyed.second.exit === 0
  return isFirstReply && help.length > 0 ? 'yes' : 'none'
}

function permissionCell({ exit, tool, approved }: Permission): string {
  const became =
    approved?.ran === true ? 'pending' : { ran: 'allowed', refused: 'refused', dropped: 'turn ends' }[tool]
  return `${exit}, ${became}`
}

function exitCell({ exit }: Outcome): string {
  return exit === 'running' ? `none in ${COMMAND_SECONDS_MAX / 60} min` : String(exit)
}
