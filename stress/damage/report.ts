/** The final report of the damage run. */
import type { Trials, Violation } from './trial.js'

export function summary({ counts, violations }: Trials, seconds: number): string {
  const kinds = [...counts.entries()]
  const sum = (of: 'damages' | 'as before' | 'detected'): number =>
    kinds.reduce((total, [, count]) => total + count[of], 0)
  const rows = kinds.map(([kind, count]) => row(kind, count.damages, count.detected, count['as before']))
  return [
    row('damage', 'cases', 'detected', 'as before'),
    ...rows,
    row('all', sum('damages'), sum('detected'), sum('as before')),
    `${violations.length} violations, ${Math.round(seconds)} s`,
  ].join('\n')
}

/** One violation of each kind, with the number of its kind. */
export function describeViolations({ violations, seed }: Trials): string[] {
  const kinds = new Map<string, Violation[]>()
  for (const violation of violations) {
    const { damage, command, report: broken } = violation
    const kind = `${damage.kind} ${damage.file} ${command} ${broken.replaceAll(/\d+/g, '#').slice(0, 60)}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), violation])
  }
  return [...kinds.values()].map((alike) => describe(alike[0] as Violation, alike.length, seed))
}

function describe({ damage, command, report: broken }: Violation, count: number, seed: number): string {
  const { kind, file, at } = damage
  return [
    `${file}, ${kind} (${at}): ${command}${count > 1 ? `; and ${count - 1} more like it` : ''}`,
    `  must hold: ${broken}`,
    `  again: npm run stress:damage -- --file '${file}' --kind '${kind}' --at ${at} --command '${command}' --seed ${seed}`,
  ].join('\n')
}

function row(first: string, ...rest: (string | number)[]): string {
  return `${first.padEnd(36)}${rest.map((cell) => String(cell).padStart(12)).join('')}`
}
