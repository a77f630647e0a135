/** The kills of a campaign, counted by program, mode and phase. */
import { groupBy } from '../../tree/seen.js'
import type { Kill } from './one-kill.js'

const HEAD = ['program', 'mode', 'phase', 'kills', 'continued', 'done once', 'told', 'kept', 'violations']

export function tableOf(kills: Kill[]): string {
  const cells = [...groupBy(kills, ({ program, mode, phase }) => [program, mode, phase].join('\t'))]
  const programs = [...groupBy(kills, ({ program }) => `${program}\tall\tall`)]
  const rows = [
    HEAD,
    ...[...cells, ...programs].map(([name, those]) => [...name.split('\t'), ...counts(those)]),
  ]
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}

function counts(kills: Kill[]): string[] {
  const many = (holds: (kill: Kill) => boolean): string => String(kills.filter(holds).length)
  return [
    String(kills.length),
    many(({ isContinued }) => isContinued),
    many(({ timesDone }) => timesDone === 1),
    many(({ warningSeen: told }) => told === 'told'),
    many(({ warningSeen: told }) => told === 'kept' || told === 'undisturbed'),
    many(({ violations }) => violations.length > 0),
  ]
}
