/**
 * Every acknowledgement must be true: by its exit status, by its output before a kill, or by a tool's result.
 */
import type { Done, Story } from './story.js'
import type { AgentInWorld, World } from './world.js'

export function* checkAcknowledged(world: World, story: Story): Iterable<string> {
  const done = story.steps.flatMap((step) => step.done)
  for (const each of done) {
    yield* agentIsThere(world, story, each)
    yield* messageIsThere(world, each, done)
    yield* replyIsThere(world, each)
  }
  yield* toolsTold(world, story)
}

function* agentIsThere(world: World, { removed }: Story, { command, told }: Done): Iterable<string> {
  if (command.action.do !== 'spawn') return
  const id = resultOf(told.stdout).agent?.id
  const isThere = id !== undefined && (world.agent(id) !== undefined || removed.has(id))
  // A spawn may print its result before it is killed.
  if (!isThere && (told.status === 0 || id !== undefined))
    yield `an acknowledged agent exists: ${id}, by ${told.argv.slice(0, 6).join(' ')}`
}

const REFUSED = [3, 13]
/** The line on stderr that names a stored message. */
const NAMED = /(?:queued|sent to .+) as message ([0-9a-f-]{36})/

function* messageIsThere(world: World, { command, words, told }: Done, done: Done[]): Iterable<string> {
  const { action } = command
  const { message } = words
  const agent = recipientOf(world, { words, told })
  if (message === undefined || action.do !== 'send' || agent === undefined) return
  const places = [...agent.taken, ...agent.waiting].filter(({ content }) => content === message.content)
  const isTold = told.status === 0 || (action.how !== 'direct' && NAMED.test(told.stderr))
  const what = `#${message.id} (${action.how}, ended with ${told.status}) to ${action.at}`
  if (isTold && places.length === 0 && !wasReturned(world, agent, message.content))
    yield `an acknowledged message is stored: ${what}`
  const isRepeated = done.filter((other) => other.words.message?.id === message.id).length > 1
  const isRefused = typeof told.status === 'number' && REFUSED.includes(told.status) && !told.isHarmed
  if (isRefused && !isRepeated && places.length > 0) yield `a refused message is not stored: ${what}`
}

function* replyIsThere(world: World, { command: { action }, words, told }: Done): Iterable<string> {
  const { reply, run } = resultOf(told.stdout)
  const agent = recipientOf(world, { words, told })
  if (action.do !== 'send' || action.how !== 'direct' || reply == null || agent === undefined) return
  const ofMessage = agent.taken.filter(({ id }) => id === words.message?.id)
  const fates = ofMessage.map(({ run_id }) => agent.fates.get(run_id))
  if (!fates.some((fate) => fate?.status === 'completed' && fate.reply === reply))
    yield `a printed reply is the reply in the log: to #${words.message?.id} at ${action.at}, run ${run?.id}`
}

/** In a group of commands another one may have just created the agent. Undefined if the agent was removed. */
function recipientOf(world: World, { words, told }: Pick<Done, 'words' | 'told'>): AgentInWorld | undefined {
  return world.agent(resultOf(told.stdout).agent?.id ?? words.agentId)
}

/** The error to the sender quotes the message. No error can reach a terminated sender. */
function wasReturned({ agents, toOperator }: World, agent: AgentInWorld, content: string): boolean {
  if (agent.state.state !== 'terminated') return false
  const errors = [...toOperator, ...agents.flatMap(({ taken, waiting }) => [...taken, ...waiting])]
  const isTold = errors.some((error) => error.kind === 'error' && error.content.endsWith(`: ${content}`))
  return isTold || agents.some(({ state }) => state.state === 'terminated' && state.id !== agent.state.id)
}

/** Each message id that a tool returned belongs to a message, or to the error that reports its failure. */
function* toolsTold(world: World, { removed }: Story): Iterable<string> {
  if (removed.size > 0) return
  const all = [...world.toOperator, ...world.agents.flatMap(({ taken, waiting }) => [...taken, ...waiting])]
  const ids = new Set(
    all.flatMap(({ message_id, reply_to, kind }) =>
      kind === 'error' ? [message_id, reply_to] : [message_id],
    ),
  )
  for (const { state, records, text } of world.agents) {
    if (state.state === 'terminated') continue
    for (const record of records) {
      if (record.kind !== 'tool.finished' || record.is_error) continue
      for (const [, id] of text(record).matchAll(/(?:sent as|first request is) ([0-9a-f-]{36})/g))
        if (!ids.has(id as string))
          yield `a message that a tool reported as sent arrives: ${id} of ${state.path}`
    }
  }
}

interface Result {
  agent?: { id?: string }
  run?: { id?: string } | null
  reply?: string | null
}

function resultOf(stdout: string): Result {
  try {
    return JSON.parse(stdout) as Result
  } catch {
    return {}
  }
}
