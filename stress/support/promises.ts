/** Promises that every lab with kills checks, as sentences. */
import { type AgentSeen, conversation, type HomeView } from './home-view.js'

/** The broken promises, as sentences. */
export type Broken = Iterable<string>

export const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

/** The log has the message once, with one reply. */
export function* takenOnce(agent: AgentSeen | undefined, content: string, answer: string): Broken {
  const short = JSON.stringify(content.slice(0, 40))
  if (agent === undefined) return yield `the agent that receives ${short} exists`
  const { asked, replies, completed } = conversation(agent, content)
  if (asked !== 1) yield `the message ${short} is in the log once, not ${asked} times`
  if (replies.length !== 1) yield `the message ${short} has one reply, not ${replies.length}`
  else if (replies[0] !== answer)
    yield `the reply to ${short} is the right one, not ${JSON.stringify(replies[0]?.slice(0, 200))}`
  if (completed !== 1) yield `exactly one run completed for ${short}, not ${completed}`
}

/** The log has the message once, and its turn did not complete. */
export function* takenWithoutReply(agent: AgentSeen | undefined, content: string): Broken {
  const short = JSON.stringify(content.slice(0, 40))
  if (agent === undefined) return yield `the agent that receives ${short} exists`
  const { asked, replies, completed } = conversation(agent, content)
  if (asked !== 1) yield `the message ${short} is in the log once, not ${asked} times`
  if (replies.length + completed > 0) yield `the replaced message ${short} has no reply`
}

/** The log does not have the message, or has it once with one reply. */
export function* takenOnceOrNot(agent: AgentSeen | undefined, content: string, answer: string): Broken {
  if (agent !== undefined && conversation(agent, content).asked > 0) yield* takenOnce(agent, content, answer)
}

/** The same, but a turn may have used up its automatic attempts and be left to the operator. */
export function* takenOnceOrLeft(agent: AgentSeen | undefined, content: string, answer: string): Broken {
  if (!wasTriedTwice(agent)) yield* takenOnce(agent, content, answer)
}

function wasTriedTwice(agent: AgentSeen | undefined): boolean {
  const kinds = (agent?.records ?? []).map(({ kind }) => kind)
  const end = kinds.indexOf('run.interrupted')
  const attempts = kinds.slice(kinds.lastIndexOf('run.started', end), end)
  return end !== -1 && attempts.filter((kind) => kind === 'run.resumed').length === 2
}

/** A printed reply is in the log, with the end of its run. */
export function* replyIsKept(
  told: { stdout: string },
  agent: AgentSeen | undefined,
  content: string,
  answer: string,
): Broken {
  if (told.stdout.includes(answer)) yield* takenOnce(agent, content, answer)
}

export function* nothingPending(home: HomeView): Broken {
  for (const { pending, state } of home.agents)
    if (pending.length > 0 && state.state !== 'terminated') yield `${state.name} has received its mail`
}

/** Logs only grow: complete batches stay, byte for byte. `mayGo` names agents that may be gone. */
export function* nothingRewritten(before: HomeView, after: HomeView, mayGo: string[] | 'any' = []): Broken {
  for (const { state, log } of before.agents) {
    const now = after.agent(state.id)?.log
    if (now === undefined && (mayGo === 'any' || mayGo.includes(state.name ?? ''))) continue
    if (now?.subarray(0, log.length).equals(log) !== true)
      yield `the log of ${state.id} begins with the ${log.length} bytes that it had`
  }
}

export function* nothingAdded(once: HomeView, twice: HomeView): Broken {
  for (const { state, log } of once.agents)
    if (twice.agent(state.id)?.log.equals(log) !== true)
      yield `a second recover --all changes no log, but it changed that of ${state.id}`
}

export function* interruptedOnce(home: HomeView): Broken {
  for (const { records } of home.agents) {
    const interrupted = records.filter(({ kind }) => kind === 'run.interrupted')
    const runs = new Set(interrupted.map((record) => 'run_id' in record && record.run_id))
    if (runs.size !== interrupted.length) yield 'a run is interrupted at most once'
  }
}
