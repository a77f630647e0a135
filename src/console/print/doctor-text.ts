/** The output of `doctor` without `--json`: the findings, worst first, each with the command to run next. */

import type { Verdict } from '../../audit/invariants.js'
import { FORMAT } from '../../format.js'
import type { DoctorReport, ReportedFinding } from '../../schema/output-home.js'
import { oneLine } from '../output.js'

const WORDS: Record<Verdict, string> = {
  damaged: 'damaged',
  needs_you: 'needs you',
  repairs_itself: 'repairs itself',
  harmless: 'harmless',
}

/** Harmless findings of one invariant that are printed in full; the others are only counted. */
const SHOWN_MAX = 3

export function doctorText(report: DoctorReport): string {
  const { home, agents, whole, held, repairs, findings } = report
  const lines = [
    ...held.map(({ agent, path, holder }) => `${path ?? agent} is held by ${holderText(holder)}`),
    ...repairs.map(({ agent, path, done }) => `${path ?? agent ?? home}: ${done}`),
    ...findingLines(findings),
    ...formatLines(report),
    `${home}: ${formatText(report)}${countOf(agents, 'agent')}; ${
      findings.length === 0 ? 'nothing is wrong' : countOf(findings.length, 'finding')
    } (${whole === agents ? 'read every log' : 'to read every log completely: substrat doctor --all'})`,
  ]
  // A file name in the home may contain newlines or control codes. It must not look like another line of this output.
  return lines.map(oneLine).join('\n')
}

function formatText({ format }: DoctorReport): string {
  return format.home === null ? '' : `format ${format.home}, `
}

/** Names the earlier formats, which the next writing commands raise. */
function formatLines({ home, format }: DoctorReport): string[] {
  const lines = Object.entries(format.agents)
    .filter(([each]) => Number(each) < FORMAT)
    .map(
      ([each, count]) =>
        `${countOf(count, 'agent')} of format ${each}: the next record of ${count === 1 ? 'its' : 'each'} log raises it to ${FORMAT}`,
    )
  return format.home === null || format.home === FORMAT
    ? lines
    : [`${home} has format ${format.home}: the next command that writes raises it to ${FORMAT}`, ...lines]
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
