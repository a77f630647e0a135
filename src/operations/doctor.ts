/**
 * `doctor`: reports what is wrong in a home, how severe it is, and what to run next. Read-only without `--rebuild`,
 * which first rebuilds derived files and then reports the remaining findings.
 */

import { type AuditReport, auditHome } from '../audit/audit.js'
import { checkFiles } from '../audit/check-files.js'
import { checkPlugins, type PluginPlaces } from '../audit/check-plugins.js'
import { addFindingTo, type Finding, reportUnreadable } from '../audit/finding.js'
import { INVARIANTS, type Verdict } from '../audit/invariants.js'
import { type Repair, rebuildHome } from '../audit/rebuild.js'
import { withUtcTimes } from '../clock.js'
import { refuseInTool } from '../dispatch/caller.js'
import type { Context, OnCount } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { lastKnownPath } from '../dispatch/read-state.js'
import { tickerTrouble } from '../dispatch/ticker.js'
import { SubstratError, shellWord } from '../errors.js'
import type { DoctorReport, ReportedFinding } from '../schema/output-home.js'
import { VERDICTS } from '../schema/words.js'
import type { State } from '../session/state.js'
import { factsPath, openHome, surveyOf } from '../storage/open.js'
import type { Store } from '../storage/store.js'

export interface DoctorOptions {
  /** Read every agent completely. */
  all: boolean
  plugins: PluginPlaces
  /** Why config.json or the environment cannot be used. */
  settingsTrouble: SubstratError | undefined
  onChecked?: OnCount
}

/** Takes no lock and writes nothing. */
export async function examine(root: string, options: DoctorOptions): Promise<DoctorReport> {
  return tell(root, await lookAt(root, options), options, [])
}

/** `open` creates home.json if it is missing, so it is called only if there is something to rebuild. */
export async function rebuild(root: string, options: DoctorOptions, open: () => Context): Promise<Rebuilt> {
  const before = await lookAt(root, options)
  const isThere = before.findings.some(({ invariant }) => INVARIANTS[invariant].rebuild !== undefined)
  if (!isThere || before.isUnreadable)
    return { examined: tell(root, before, options, []), failure: undefined }
  const ctx = open()
  refuseInTool(ctx.caller, 'rebuild a home')
  const rebuildOptions = { command: ctx.command, note: (text: string) => ctx.reporter.note(text) }
  const repairs = await rebuildHome(ctx.store, before.findings, rebuildOptions)
  const after = await lookAt(root, options)
  for (const finding of after.findings) finding.remedy ??= remedyAfter(finding, repairs)
  const paths = pathsOf(root, after)
  const mended = repairs.map(({ agent_id, done, isDone }) => ({
    agent: agent_id,
    path: pathOf(paths, agent_id),
    done,
    ok: isDone,
  }))
  // A failed sync comes before other failures: the repaired files may not be durable.
  const failures = repairs.flatMap(({ failure }) => failure ?? [])
  const failure = failures.find(({ code }) => code === 'SYNC_FAILED') ?? failures[0]
  return { examined: tell(root, after, options, mended), failure }
}

/** The next command after a failed repair, which would fail again. If several failed, the first is the cause of the others. */
function remedyAfter({ invariant, agent_id }: Finding, repairs: Repair[]): string | undefined {
  const { rebuild } = INVARIANTS[invariant]
  const failed = repairs.filter((repair) => !repair.isDone && repair.agent_id === agent_id)
  return failed.some(({ action }) => action === rebuild) ? failed[0]?.hint : undefined
}

interface Rebuilt {
  examined: DoctorReport
  /** Why a repair failed, if the disk caused it. */
  failure: SubstratError | undefined
}

/** The error that sets the exit status; undefined if no finding needs the user. */
export function failureOfHome({ findings, home }: DoctorReport): SubstratError | undefined {
  const count = (verdict: Verdict): number => findings.filter((finding) => finding.verdict === verdict).length
  const worst = findings.find(({ code }) => code !== null)
  if (worst?.code == null) return undefined
  const [damaged, needsYou] = [count('damaged'), count('needs_you')]
  const counts = [
    ...(damaged === 0 ? [] : [`${damaged} damaged`]),
    ...(needsYou === 0 ? [] : [`${needsYou} ${needsYou === 1 ? 'needs' : 'need'} you`]),
  ]
  return new SubstratError(worst.code, `found in ${home}: ${counts.join(', ')}`, {
    ...(worst.remedy === null ? {} : { hint: worst.remedy }),
  })
}

interface Examination extends AuditReport {
  homeFormat: number | null
  /** True if home.json cannot be read, so that only file names could be checked. */
  isUnreadable: boolean
}

async function lookAt(root: string, options: DoctorOptions): Promise<Examination> {
  const { store, trouble } = openLeniently(root)
  const examination = store === undefined ? namesAlone(root) : await auditOf(store, options)
  const found = addFindingTo(examination.findings, null)
  const isMissing = examination.findings.some(({ invariant }) => invariant === 'a home has its home.json')
  // Unreadable is not damaged: do not tell the user to move the file away.
  if (trouble?.code === 'CORRUPT' && !isMissing)
    found('home.json is intact', trouble.message, factsPath(root))
  else if (trouble !== undefined && !isMissing) reportUnreadable(trouble, root, found)
  const { settingsTrouble, plugins } = options
  if (settingsTrouble?.code === 'STORAGE_FAILED') {
    if (trouble === undefined) reportUnreadable(settingsTrouble, root, found)
  } else if (settingsTrouble !== undefined) {
    const { message, hint } = settingsTrouble
    const remedy = hint === undefined ? {} : { remedy: hint }
    examination.findings.push({
      agent_id: null,
      invariant: 'the settings are valid',
      detail: message,
      ...remedy,
    })
  }
  await checkPlugins(plugins, examination.states.values(), found)
  const late = store === undefined ? undefined : tickerTrouble(store, [...examination.states.values()])
  if (late !== undefined && late.isAhead === undefined)
    examination.findings.push({
      agent_id: null,
      invariant: 'a command begins the due turns of schedules',
      detail: withUtcTimes(late.detail),
      remedy: late.next,
    })
  return { ...examination, homeFormat: store?.format ?? null, isUnreadable: trouble !== undefined }
}

/** The paths of all agents. For one whose log cannot be read, the path in its snapshot or its name in the index of the roots. */
function pathsOf(root: string, { findings, states }: AuditReport): Map<string, string> {
  const paths = new Map([...states].map(([id, { path }]) => [id, path]))
  const { store } = openLeniently(root)
  if (store === undefined) return paths
  for (const { agent_id } of findings) {
    if (agent_id === null || paths.has(agent_id)) continue
    const path = lastKnownPath(store, agent_id)
    if (path !== null) paths.set(agent_id, path)
  }
  return paths
}

function openLeniently(root: string): { store?: Store | undefined; trouble?: SubstratError } {
  try {
    return { store: openHome(root) }
  } catch (error) {
    if (error instanceof SubstratError && ['CORRUPT', 'STORAGE_FAILED'].includes(error.code))
      return { trouble: error }
    throw error
  }
}

/** If the agents cannot be listed, checks only the file names. */
async function auditOf(store: Store, { all, onChecked }: DoctorOptions): Promise<AuditReport> {
  try {
    return await auditHome(store, all, undefined, onChecked)
  } catch (error) {
    const examination = namesAlone(store.address)
    reportUnreadable(error, store.address, addFindingTo(examination.findings, null))
    return examination
  }
}

/** Checks only the file names of a home whose home.json cannot be read. */
function namesAlone(root: string): AuditReport {
  const findings: Finding[] = []
  const entries = [...surveyOf(root)]
  checkFiles(entries, undefined, findings)
  const agents = new Set(entries.flatMap(({ agentId }) => agentId ?? []))
  if (agents.size > 0 && !entries.some(({ path }) => path === factsPath(root)))
    addFindingTo(findings, null)('a home has its home.json', `${factsPath(root)} is missing`, factsPath(root))
  return { findings, states: new Map(), agents: agents.size, whole: 0, held: [] }
}

function tell(
  root: string,
  examination: Examination,
  options: DoctorOptions,
  repairs: DoctorReport['repairs'],
): DoctorReport {
  const { findings, states, agents, whole, held, homeFormat } = examination
  const paths = pathsOf(root, examination)
  const described = findings.map((finding) => describedFinding(finding, states, paths, options))
  return {
    home: root,
    format: { home: homeFormat, agents: formatsOf(states) },
    agents,
    whole,
    held: held.map(({ agent_id, holder }) => ({
      agent: agent_id,
      path: pathOf(paths, agent_id),
      holder: holder ?? null,
    })),
    repairs,
    findings: described.sort((a, b) => VERDICTS.indexOf(a.verdict) - VERDICTS.indexOf(b.verdict)),
  }
}

/** Without the agents whose log cannot be read. */
function formatsOf(states: Map<string, State>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { format } of states.values()) counts[format] = (counts[format] ?? 0) + 1
  return counts
}

function describedFinding(
  finding: Finding,
  states: Map<string, State>,
  paths: Map<string, string>,
  { all }: DoctorOptions,
): ReportedFinding {
  const { invariant, agent_id, detail, path } = finding
  const { verdict, code, rebuild: action, remedy, ended } = INVARIANTS[invariant]
  const again = `substrat doctor${all ? ' --all' : ''} --rebuild`
  const isEnded = agent_id !== null && states.get(agent_id)?.state === 'terminated'
  const next = (isEnded ? ended : undefined) ?? remedy ?? (action === undefined ? undefined : '{rebuild}')
  return {
    verdict,
    code,
    agent: agent_id,
    path: pathOf(paths, agent_id),
    file: path ?? null,
    invariant,
    detail,
    remedy:
      finding.remedy ??
      (next === undefined ? null : filledIn(next, finding, states).replace('{rebuild}', again)),
  }
}

function filledIn(remedy: string, { agent_id, path }: Finding, states: Map<string, State>): string {
  const state = agent_id === null ? undefined : states.get(agent_id)
  const agent = state === undefined ? (agent_id ?? '--all') : wordOf(state)
  const filled = remedy.replaceAll('{agent}', () => agent).replaceAll('{id}', () => agent_id ?? '')
  return filled.replaceAll('{path}', () => shellWord(path ?? ''))
}

function pathOf(paths: Map<string, string>, agentId: string | null): string | null {
  return agentId === null ? null : (paths.get(agentId) ?? null)
}
