/**
 * Finds the effects of an interrupted command that printed no result, from the disk after recovery. Returns the
 * commands that have the same effects on a home without faults.
 */
import type { Place } from './places.js'
import type { Done } from './story.js'
import type { AgentInWorld, World } from './world.js'

export function inTwin(
  { command, words, told }: Omit<Done, 'inTwin'>,
  before: World,
  after: World,
): string[][] {
  const { action } = command
  if (told.status === 0 || !told.isHarmed) return [told.argv]
  const was = before.agent(words.agentId)
  const is = after.agent(words.agentId)
  const whole = (isDone: boolean): string[][] => (isDone ? [told.argv] : [])
  switch (action.do) {
    case 'spawn':
      return whole(
        isSpawned(action.at, before, after) ||
          acceptances(after, words.message?.id) > acceptances(before, words.message?.id),
      )
    case 'send':
      return whole(acceptances(after, words.message?.id) > acceptances(before, words.message?.id))
    case 'decide':
      return whole(count(is, 'token.consumed') > count(was, 'token.consumed'))
    case 'retry':
      return whole(count(is, 'run.started') > count(was, 'run.started'))
    case 'suspend':
      return whole(is?.state.hold === action.hold)
    case 'resume':
      return whole(is?.state.hold === false)
    case 'gate':
    case 'ungate':
      return whole(is?.state.gate.isGated === (action.do === 'gate'))
    case 'fork':
      return whole(after.agents.length > before.agents.length)
    case 'rotate':
      // The new token was never printed.
      return []
    case 'cancel':
      return each(
        before,
        ({ state }) => ['cancel', state.path],
        (id) => count(after.agent(id), 'run.cancelled') > count(before.agent(id), 'run.cancelled'),
      )
    case 'terminate':
      return each(
        before,
        ({ state }) => ['terminate', state.path],
        (id) =>
          before.agent(id)?.state.state !== 'terminated' && after.agent(id)?.state.state === 'terminated',
      )
    case 'remove':
      return each(
        before,
        ({ state }) => ['remove', state.path],
        (id) => after.agent(id) === undefined,
      )
    default:
      return [told.argv]
  }
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

function isSpawned(at: Place, before: World, after: World): boolean {
  const livingId = (world: World): string | undefined =>
    world.agents.find(({ state }) => state.path === at && state.state !== 'terminated')?.state.id
  return livingId(after) !== undefined && livingId(after) !== livingId(before)
}

/** Counts the copies of the message in logs and inboxes. */
function acceptances({ agents }: World, id: string | undefined): number {
  const isIt = (content: string): boolean => content.startsWith(`#${id} `)
  return agents.reduce(
    (sum, { taken, waiting }) =>
      sum +
      taken.filter(({ content }) => isIt(content)).length +
      waiting.filter(({ content }) => isIt(content)).length,
    0,
  )
}

function count(agent: AgentInWorld | undefined, kind: string): number {
  return agent?.records.filter((record) => record.kind === kind).length ?? 0
}
