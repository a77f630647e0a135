/**
 * Removes, moves and replaces files while a command uses them: each file, in each way, before each step. A second
 * command takes the agent as soon as its lock seems free.
 *
 * The oracle:
 * - every command ends with a documented exit status and prints no stack trace
 * - two writers never write at the same time
 * - acknowledged records are in the log under its name
 * - a holder that lost its lock acknowledges no record
 * - the audit is clean if only rebuildable files were removed
 */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LabEnded, MachineLab } from '../machine/lab.js'
import { MachineStage } from '../machine/stage.js'
import { withAgent } from '../scenarios/homes.js'
import { audit, HomeView } from '../support/home-view.js'
import type { Violation } from './sweep.js'

export interface TakenReport {
  cases: number
  exits: Record<string, number>
  violations: Violation[]
}

interface Taking {
  name: string
  /** The path in a home with one agent. */
  path(home: string): string
  take(path: string): void
  /** The holder loses its lock. */
  isLock?: true
  /** The log, or the whole agent, is lost. */
  isLost?: true
  /** The whole home is moved away. */
  isMoved?: true
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true })
const replace = (path: string): void => {
  if (!existsSync(path)) return
  renameSync(path, `${path}.taken`)
  // cpSync cannot copy the socket of a tool server, and the copy does not need it.
  cpSync(`${path}.taken`, path, { recursive: true, filter: (file) => !file.endsWith('.sock') })
  rmSync(`${path}.taken`, { recursive: true })
}
const rename = (path: string): void => {
  if (existsSync(path)) renameSync(path, `${path}-taken`)
}

const agent = (home: string): string => {
  const agents = join(home, 'agents')
  return join(agents, readdirSync(agents).find((name) => !name.startsWith('.')) as string)
}
const within =
  (name: string) =>
  (home: string): string =>
    join(agent(home), name)

const TAKINGS: Taking[] = [
  { name: 'lock removed', path: within('lock'), take: remove, isLock: true },
  { name: 'lock replaced', path: within('lock'), take: replace, isLock: true },
  { name: 'log removed', path: within('events.jsonl'), take: remove, isLost: true },
  { name: 'log replaced', path: within('events.jsonl'), take: replace },
  { name: 'snapshot removed', path: within('session.json'), take: remove },
  { name: 'inbox removed', path: within('inbox'), take: remove },
  { name: 'requests removed', path: within('requests'), take: remove },
  { name: 'markers removed', path: (home) => join(home, 'unclean'), take: remove },
  { name: 'slots removed', path: (home) => join(home, 'slots'), take: remove },
  { name: 'agent replaced', path: agent, take: replace },
  { name: 'home replaced', path: (home) => home, take: replace },
  { name: 'home moved', path: (home) => home, take: rename, isMoved: true },
]

/** 15: a removed directory cannot be synced, so writes may be lost. */
const STATUSES = [0, 3, 4, 10, 11, 15]
const SEND = ['send', 'a', '--key', 'k', 'hello']
const REPLY = 'echo: hello\n'

/** `every`: each k-th case. `step` and `fault`: only that case. */
export async function sweepTaken(
  lab: MachineLab,
  every = 1,
  { step: onlyStep, fault }: { step?: string | undefined; fault?: string | undefined } = {},
): Promise<TakenReport> {
  const report: TakenReport = { cases: 0, exits: {}, violations: [] }
  lab.restore(lab.image())
  await withAgent(new MachineStage('faults', lab))
  const image = lab.image()
  const points: string[] = []
  await lab.run(SEND, ({ point }) => void points.push(point))
  let index = 0
  for (const [step, point] of points.entries()) {
    for (const taking of TAKINGS) {
      if (Number(onlyStep ?? step + 1) !== step + 1 || (fault ?? taking.name) !== taking.name) continue
      if (index++ % every !== 0) continue
      rmSync(`${lab.home}-taken`, { recursive: true, force: true })
      lab.restore(image)
      const { told, broken } = await takenAt(lab, step + 1, taking)
      report.cases += 1
      report.exits[told.status] = (report.exits[told.status] ?? 0) + 1
      for (const text of broken)
        report.violations.push({
          scenario: 'taken',
          step: step + 1,
          fault: taking.name,
          point,
          order: 'next command, then recover',
          broken: text,
        })
    }
  }
  rmSync(`${lab.home}-taken`, { recursive: true, force: true })
  return report
}

async function takenAt(
  lab: MachineLab,
  step: number,
  taking: Taking,
): Promise<{ told: LabEnded; broken: string[] }> {
  const broken: string[] = []
  let count = 0
  let other: Promise<LabEnded> | undefined
  const lock = within('lock')(lab.home)
  let isHeld = false
  let hasWritten = false
  const told = await lab.run(SEND, ({ point, path }) => {
    count += 1
    if (count < step) isHeld ||= point === 'lock.holder' && path === lock
    if (count > step) hasWritten ||= isHeld && point === 'log.sync'
    if (count !== step) return undefined
    taking.take(taking.path(lab.home))
    // With the same key both commands share one turn.
    if (taking.isMoved !== true) other = lab.run([...SEND, '--if-busy', 'fail'])
    return undefined
  })
  const beside = await other
  if (taking.isMoved === true) putBack(lab.home)
  for (const [who, ended] of Object.entries({ told, beside }))
    if (ended !== undefined) broken.push(...wrongIn(who, ended))
  if (taking.isLock === true && hasWritten && told.status !== 4)
    broken.push(`a holder whose lock is gone exits 4, not ${told.status}`)
  if (taking.isLost === true) return { told, broken }
  const recovered = await lab.run(['recover', '--all'])
  if (recovered.status !== 0) broken.push(`recover --all exits ${recovered.status}: ${recovered.stderr}`)
  const next = await lab.run(SEND)
  if (next.status !== 0 || next.stdout !== REPLY)
    broken.push(`the same key has its reply: ${next.status} ${next.stderr}`)
  broken.push(...audit(lab.home, true), ...twice(lab.home))
  return { told, broken }
}

/** A home that a command created at the old path, before it noticed the move, has no agents. */
function putBack(home: string): void {
  rmSync(home, { recursive: true, force: true })
  if (existsSync(`${home}-taken`)) renameSync(`${home}-taken`, home)
}

function* wrongIn(who: string, { status, stdout, stderr, isHung }: LabEnded): Iterable<string> {
  if (isHung) return yield `${who} ends`
  if (!STATUSES.includes(status as number)) yield `${who} exits ${status}: ${stderr}`
  if (/\n {4}at /.test(stderr)) yield `${who} prints no stack: ${stderr.slice(0, 400)}`
  if (status === 0 && stdout !== REPLY) yield `${who} prints the reply, not ${stdout}`
}

function* twice(home: string): Iterable<string> {
  for (const { records, state } of HomeView.read(home).agents) {
    const asked = records
      .filter((record) => JSON.stringify(record).includes('"content":"hello"'))
      .filter(({ kind }) => kind === 'message.user').length
    if (asked !== 1) yield `the message is recorded once, not ${asked} times`
    const log = readFileSync(join(home, 'agents', state.id, 'events.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
    const seqs = log.map((line) => (JSON.parse(line) as { seq: number }).seq)
    if (seqs.some((seq, index) => seq !== index + 1)) yield `the log has one writer: ${seqs.join(' ')}`
  }
}
