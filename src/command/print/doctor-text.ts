/** The output of `doctor` without `--json`: the findings, worst first, each with the command to run next. */

import type { Verdict } from '../../audit/invariants.js'
import type { DoctorReport, ReportedFinding } from '../../operations/doctor.js'
import { oneLine } from '../output.js'

const WORDS: Record<Verdict, string> = {
  damaged: 'damaged',
  needs_you: 'needs you',
  repairs_itself: 'repairs itself',
  harmless: 'harmless',
}

/** Harmless findings of one invariant that are printed in full; the others are only counted. */
const SHOWN_MAX = 3

export function doctorText({ home, agents, whole, held, repairs, findings }: DoctorReport): string {
  const lines = [
    ...held.map(({ agent, path, holder }) => `${path ?? agent} is held by ${holderText(holder)}`),
    ...repairs.map(({ agent, path, done }) => `${path ?? agent ?? home}: ${done}`),
    ...findingLines(findings),
    `${home}: ${countOf(agents, 'agent')}; ${
      findings.length === 0 ? 'nothing is wrong' : countOf(findings.length, 'finding')
    } (${whole === agents ? 'read every log' : 'to read every log completely: substrat doctor --all'})`,
  ]
  // A file name in the home may contain newlines or control codes. It must not look like another line of this output.
  return lines.map(oneLine).join('\n')
}

function findingLines(findings: ReportedFinding[]): string[] {
  const counts = new Map<string, number>()
  const lines: string[] = []
  for (const finding of findings) {
    const count = (counts.get(finding.invariant) ?? 0) + 1
    counts.set(finding.invariant, count)
    if (finding.verdict !== 'harmless' || count <= SHOWN_MAX) lines.push(...linesOf(finding))
  }
  for (const { invariant } of new Map(findings.map((finding) => [finding.invariant, finding])).values()) {
    const isHarmless = findings.find((finding) => finding.invariant === invariant)?.verdict === 'harmless'
    const more = (counts.get(invariant) ?? 0) - SHOWN_MAX
    if (isHarmless && more > 0) lines.push(`harmless: ${more} more like this; expected: ${invariant}`)
  }
  return lines
}

function linesOf({ verdict, path, agent, invariant, detail, file, remedy }: ReportedFinding): string[] {
  const who = path ?? agent
  const where = file === null || detail.includes(file) ? '' : ` (${file})`
  const first = `${WORDS[verdict]}: ${who === null ? '' : `${who}: `}${detail}${where}`
  const expected = `  expected: ${invariant}`
  return remedy === null ? [first, expected] : [first, expected, `  next: ${remedy}`]
}

function holderText(holder: DoctorReport['held'][number]['holder']): string {
  return holder === null ? 'another process' : `pid ${holder.pid} on ${holder.host} (${holder.command})`
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
