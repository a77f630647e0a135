/** What a scenario of the sweep is, and the words that several of them need. */
import { randomUUID } from 'node:crypto'
import { digestOf } from '../../src/session/ids.js'
import { openForAppend, type Session } from '../../src/session/session.js'
import { bootId, ownIdentity } from '../../src/storage/identity.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { step } from '../../src/turn/step.js'
import { reply } from '../../src/turn/step-records.js'
import type { ToolPolicy } from '../../src/turn/turn-event.js'
import type { Ended, Lab } from '../support/lab.js'
import { type AgentSeen, conversation, type HomeView } from './home-view.js'

/** Nothing here calls a tool. */
const NO_TOOLS: ToolPolicy = { kindOf: () => 'unknown' }

/** Sentences that say what of the contract does not hold. */
export type Broken = Iterable<string>

export interface Scenario {
  /** As `--commands` names it. */
  name: string
  argv: string[]
  /** Makes the home that each run starts from; nothing, where the command itself shall make it. */
  prepare(lab: Lab, home: string): Promise<void>
  /** What goes on meanwhile. The result is called when the command has ended, and waits for it. */
  meanwhile?(lab: Lab, home: string): Promise<() => Promise<void>>
  /** What the killed command told anybody is true. */
  acknowledged(told: Ended, home: HomeView): Broken
  /** The next command, which goes on without being told that something was killed. */
  next: { argv: string[]; check(ended: Ended, told: Ended, kills: number): Broken }
  /** When the next command and `recover --all` have run, in either order. */
  finally(home: HomeView, told: Ended): Broken
}

export const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

export function* exits(ended: Ended, code: number, stdout?: string): Broken {
  if (ended.code !== code)
    yield `the next command exits ${code}, not ${ended.code ?? ended.signal}: ${ended.stderr.trim()}`
  else if (stdout !== undefined && ended.stdout !== stdout)
    yield `the next command prints ${JSON.stringify(stdout)}, not ${JSON.stringify(ended.stdout.slice(0, 200))}`
}

/** The message is in the log once, and was answered once. */
export function* takenOnce(agent: AgentSeen | undefined, content: string, answer: string): Broken {
  if (agent === undefined) return yield 'the agent is there'
  const { asked, replies, completed } = conversation(agent, content)
  const short = JSON.stringify(content.slice(0, 40))
  if (asked !== 1) yield `the message ${short} is in the log once, not ${asked} times`
  if (replies.length !== 1) yield `the message ${short} has one reply, not ${replies.length}`
  else if (replies[0] !== answer)
    yield `the reply to ${short} is the right one, not ${JSON.stringify(replies[0]?.slice(0, 200))}`
  if (completed !== 1) yield `one run completed for ${short}, not ${completed}`
}

/** The message was not taken at all, or once and answered. */
export function* takenOnceOrNot(agent: AgentSeen | undefined, content: string, answer: string): Broken {
  if (agent !== undefined && conversation(agent, content).asked > 0) yield* takenOnce(agent, content, answer)
}

/** A reply that was printed is in the log, with the end of its run. */
export function* replyIsKept(
  told: Ended,
  agent: AgentSeen | undefined,
  content: string,
  answer: string,
): Broken {
  if (told.stdout.includes(answer)) yield* takenOnce(agent, content, answer)
}

export async function withAgent(lab: Lab, home: string, ...flags: string[]): Promise<void> {
  await lab.do(home, 'spawn', '--name', 'a', ...flags)
  await lab.do(home, 'send', 'a', 'before')
  // From now on `recover --all` goes by the markers alone.
  await lab.do(home, 'recover', '--all')
}

export type OpenRow = 'B' | 'C' | 'G' | 'J'

/** Leaves the agent as a killed process leaves it: with an open run of that row of the recovery table. */
export async function leaveOpen(home: string, name: string, row: OpenRow, content: string): Promise<void> {
  await leaveUnclean(home, name, (session) => {
    const run = {
      run_id: randomUUID(),
      boot_id: bootId(),
      prompt: { origin: 'operator' as const, content },
      key: null,
      digest: digestOf(content),
      turn_timeout_ms: null,
      allow: [],
      steps_max: null,
      sources: [],
    }
    const provider = row === 'C' ? 'model' : 'agent'
    session.append(step(session.state, { type: 'begin', provider, run }, NO_TOOLS).records)
    if (row === 'G') session.append([reply({ run_id: run.run_id, steps: 0 }, `answered: ${content}`)])
    if (row !== 'J') return
    const { kernel_boot_id, pid_namespace } = ownIdentity()
    // No process has this id: the program died with its turn.
    const group = { process_group: 2 ** 22 - 1, start_time: 1, kernel_boot_id, pid_namespace }
    session.append(step(session.state, { type: 'launched', group }, NO_TOOLS).records)
  })
}

/** The marker stays and no snapshot is written, as after a kill. */
export async function leaveUnclean(
  home: string,
  name: string,
  work: (session: Session) => void,
): Promise<void> {
  const store = FileStore.openForWrite(home)
  const session = await openForAppend(store, resolveAgent(store, name), { command: 'stress', waitMs: 0 })
  work(session)
  await session.abandon()
}
