/**
 * Finds the effects of an interrupted command that printed no result. Returns the commands that have the same effects on
 * a home without faults.
 *
 * Invariant: an effect counts only if the command itself made it. Recovery delivers mail, continues turns and lets agents
 * complete, so the home after recovery shows more than the command did. Therefore an effect must be there between the harm
 * and recovery, and still be there after recovery, whose own faults may drop what no sync had made durable. These are judged
 * after recovery alone, because nothing else in the sequence has the same effect: a message, whose content no other command
 * writes; a gate, which is a control message until its agent is visited; a removal, which recovery may finish.
 */
import type { SessionRecord } from '../../src/session/records.js'
import type { Place } from './places.js'
import type { Done } from './story.js'
import type { AgentInWorld, World } from './world.js'

/** The home at three times: before the command, between its harm and recovery, and after recovery. */
export interface Times {
  before: World
  between: World
  after: World
}

export function inTwin({ command, words, told }: Omit<Done, 'inTwin'>, times: Times): string[][] {
  const { action } = command
  if (told.status === 0 || !told.isHarmed) return [told.argv]
  const { before, after } = times
  const { agentId: id } = words
  const whole = (isDone: boolean): string[][] => (isDone ? [told.argv] : [])
  switch (action.do) {
    case 'spawn':
      return whole(
        isMade(times, (world) => livingAt(world, action.at) !== livingAt(before, action.at)) ||
          isAccepted(times, words.message?.id),
      )
    case 'send':
      return whole(isAccepted(times, words.message?.id) || hasReplaced(times, id, words.message?.id))
    case 'decide':
      return whole(isWritten(times, id, ({ kind }) => kind === 'token.consumed'))
    case 'retry':
      return whole(isWritten(times, id, isContinuedByHand))
    case 'suspend':
      return whole(isMade(times, (world) => world.agent(id)?.state.hold === action.hold))
    case 'resume':
      return whole(isMade(times, (world) => world.agent(id)?.state.hold === false))
    case 'gate':
    case 'ungate':
      return whole(after.agent(id)?.state.gate.isGated === (action.do === 'gate'))
    case 'fork':
      return whole(isMade(times, (world) => hasNewAgentOf(told.argv, before, world)))
    case 'schedule':
      return whole(isWritten(times, id, ({ kind }) => kind === 'schedule.set'))
    case 'rotate':
      // The new token was never printed.
      return []
    case 'cancel':
      return each(
        before,
        ({ state }) => ['cancel', state.path],
        (each) => isWritten(times, each, isCancelled),
      )
    case 'terminate':
      return each(
        before,
        ({ state }) => ['terminate', state.path],
        (each) =>
          before.agent(each)?.state.state !== 'terminated' &&
          isMade(times, (world) => isTerminatedFromOutside(world.agent(each))),
      )
    case 'remove':
      return each(
        before,
        ({ state }) => ['remove', state.path],
        (each) => after.agent(each) === undefined,
      )
    default:
      return [told.argv]
  }
}

/** Whether the home is in this state between harm and recovery, and also after recovery. */
function isMade({ between, after }: Times, isSo: (world: World) => boolean): boolean {
  return isSo(between) && isSo(after)
}

/** Whether the agent's log has more of these records than before. */
function isWritten(
  times: Times,
  agentId: string | undefined,
  isOne: (record: SessionRecord) => boolean,
): boolean {
  const count = (world: World): number => world.agent(agentId)?.records.filter(isOne).length ?? 0
  return isMade(times, (world) => count(world) > count(times.before))
}

/** Recovery marks the runs that it starts with `auto`, and new mail starts runs that continue nothing. */
function isContinuedByHand(record: SessionRecord): boolean {
  return (
    (record.kind === 'run.started' && record.continues !== undefined && record.auto !== true) ||
    (record.kind === 'run.resumed' && !record.auto && record.token_id === undefined)
  )
}

function isSuperseded(record: SessionRecord): boolean {
  return record.kind === 'run.cancelled' && record.reason === 'superseded'
}

/** A turn also ends as cancelled by its time limit, or because another message superseded it. */
function isCancelled(record: SessionRecord): boolean {
  return record.kind === 'run.cancelled' && record.reason === 'cancelled'
}

/** An agent that called `complete` ends itself, in any command that visits it. */
function isTerminatedFromOutside(agent: AgentInWorld | undefined): boolean {
  return agent?.state.state === 'terminated' && !agent.state.isDone
}

/** Returns the deepest agents first. */
function each(
  before: World,
  argv: (agent: AgentInWorld) => string[],
  isDone: (id: string) => boolean,
): string[][] {
  const found = before.agents.filter(({ state }) => isDone(state.id))
  const depth = ({ state }: AgentInWorld): number => state.path.split('/').length
  return found.sort((a, b) => depth(b) - depth(a)).map((agent) => [...argv(agent), '--json'])
}

function livingAt({ agents }: World, at: Place): string | undefined {
  return agents.find(({ state }) => state.path === at && state.state !== 'terminated')?.state.id
}

/** `fork` names its agent after the step, so no other command makes an agent of this name. */
function hasNewAgentOf(argv: string[], before: World, world: World): boolean {
  const name = argv[argv.indexOf('--name') + 1]
  return world.agents.some(({ state }) => state.name === name && before.agent(state.id) === undefined)
}

/**
 * A repeated key of a message that is pending behind a parked turn: the command replaces that turn. A message that is in no log
 * may do the same, but the twin cannot repeat that (`trial.ts`).
 */
function hasReplaced(times: Times, agentId: string | undefined, messageId: string | undefined): boolean {
  return acceptances(times.before, messageId) > 0 && isWritten(times, agentId, isSuperseded)
}

/**
 * Whether a power cut took a message out of an inbox. The command that stored it did not acknowledge it, so nothing had made
 * it durable, and for the twin the command did nothing.
 */
export function isTaken({ words, told }: Done, before: World, after: World): boolean {
  const id = words.message?.id
  if (told.status === 0 || !told.isHarmed || id === undefined) return false
  return before.agents.some(
    (agent) =>
      agent.waiting.some(({ content }) => isOf(id, content)) &&
      after.agent(agent.state.id) !== undefined &&
      acceptances(after, id) === 0,
  )
}

function isAccepted({ before, after }: Times, messageId: string | undefined): boolean {
  return acceptances(after, messageId) > acceptances(before, messageId)
}

/** Counts the copies of the message in logs and inboxes. */
function acceptances({ agents }: World, id: string | undefined): number {
  return agents.reduce(
    (sum, { taken, waiting }) =>
      sum + [...taken, ...waiting].filter(({ content }) => isOf(id, content)).length,
    0,
  )
}

function isOf(messageId: string | undefined, content: string): boolean {
  return content.startsWith(`#${messageId} `)
}
