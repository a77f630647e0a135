/**
 * A conversation of many tool calls whose process is killed again and again before it writes to the log. The final
 * history for the model must equal that of an undisturbed run, except for the results that report an interruption.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelMessage } from '../../src/provider/contract.js'
import { openForAppend } from '../../src/session/session.js'
import { FileStore } from '../../src/storage/file-store.js'
import { conversation } from '../../src/turn/prompt/history.js'
import type { Scenario } from '../../test/support/model-server/scenario.js'
import type { Lab } from '../support/lab.js'
import { LoopbackModel, type ModelProviderName } from '../support/model.js'
import { Agent, type ScriptedEntry, type ScriptedTool } from './agent.js'

export type UnknownTool = 'stop' | 'continue'

export interface ConversationReport {
  calls: number
  kills: number
  /** Calls killed after their start, or their request, and before their result. */
  stepsKilled: number
  /** Results that report an interruption. */
  interrupted: number
  /** Differences from the undisturbed run. */
  differences: string[]
}

const KILLS_MAX_PER_CALL = 12

export async function killedConversation(
  lab: Lab,
  unknownTool: UnknownTool,
  calls: number,
  through: ModelProviderName | 'scripted',
): Promise<ConversationReport> {
  const [responses] = agentOf(lab, 'reference', calls)
  const model = through === 'scripted' ? undefined : await LoopbackModel.start(lab, scenarioOf(responses))
  try {
    const report = await runKilled(lab, unknownTool, calls, through, model)
    const { refused } = (await model?.requests()) ?? { refused: [] }
    return { ...report, differences: [...report.differences, ...refused] }
  } finally {
    model?.stop()
  }
}

/** The scenario in the form of the loopback model. */
function scenarioOf(responses: ScriptedEntry[]): Scenario {
  const answers = responses.map(({ say, tools }) => ({
    ...(say === undefined ? {} : { text: say }),
    ...(tools === undefined ? {} : { tool_calls: tools }),
  }))
  return { responses: answers }
}

async function runKilled(
  lab: Lab,
  unknownTool: UnknownTool,
  calls: number,
  through: ModelProviderName | 'scripted',
  model: LoopbackModel | undefined,
): Promise<ConversationReport> {
  const name = `${unknownTool}-${through}`
  const spawn = (of: string, env: Record<string, string>): Promise<Agent> => {
    const [responses, flags] = agentOf(lab, of, calls)
    return model === undefined || through === 'scripted'
      ? Agent.spawn(lab, responses, flags, env)
      : Agent.spawnThrough(lab, through, model, flags, env)
  }
  const reference = await spawn(`reference-${name}`, {})
  await reference.run('send', 'a', 'go')
  const agent = await spawn(name, { SUBSTRAT_RECOVERY_UNKNOWN_TOOL: unknownTool })
  const steps = new Set<number>()
  let kills = 0
  for (let argv: string[] | undefined = ['send', 'a', 'go']; argv !== undefined; ) {
    // One more write comes first: the leftovers of a dead writer are written again (durability rule 4).
    const ended = await agent.runKilledBefore(kills === 0 || argv[0] === 'resume' ? 3 : 4, ...argv)
    if (ended.signal === 'SIGKILL') {
      kills += 1
      const step = openStep(agent)
      if (step !== undefined) steps.add(step)
    }
    if (kills > calls * KILLS_MAX_PER_CALL) throw new Error(`after ${kills} kills the turn has not ended`)
    argv = await nextCommand(agent, unknownTool, ended.signal === 'SIGKILL')
  }
  const [expected, found] = [await historyOf(reference), await historyOf(agent)]
  const interrupted = found.filter(isInterruption).length
  const differences = [...compare(expected, found), ...effects(lab, name, calls), ...inOrder(found)]
  return { calls, kills, stepsKilled: steps.size, interrupted, differences }
}

/** The command that continues; undefined if the turn is over. */
async function nextCommand(
  agent: Agent,
  unknownTool: UnknownTool,
  wasKilled: boolean,
): Promise<string[] | undefined> {
  if (agent.count('run.completed') > 0 && !wasKilled) return undefined
  if (unknownTool === 'continue') return ['recover', '--all']
  // The operator's route: recovery marks a call of unknown outcome, and only `resume` continues it.
  const isUnknown =
    agent.records().findLast(({ kind }) => kind.startsWith('run.'))?.kind === 'run.interrupted'
  return isUnknown ? ['resume', 'a'] : ['recover', '--all']
}

/** The number of the call without a result. */
function openStep(agent: Agent): number | undefined {
  const calls = agent
    .records()
    .filter((record) => record.kind === 'model.responded' && record.calls !== undefined)
  return calls.length > agent.count('tool.finished') ? calls.length : undefined
}

function agentOf(lab: Lab, name: string, calls: number): [ScriptedEntry[], string[]] {
  const workspace = workspaceOf(lab, name)
  mkdirSync(workspace, { recursive: true })
  const tools = Array.from({ length: calls }, (_, index) => toolOf(index))
  return [
    [...tools.map((tool) => ({ tools: [tool] })), { say: 'all done' }],
    ['--allow', 'all', '--workspace', workspace],
  ]
}

function workspaceOf(lab: Lab, name: string): string {
  return join(lab.root, 'conversations', name)
}

/** In turn: a command, a file write, a file read. Each command appends its number, so that repeated runs show. */
function toolOf(index: number): ScriptedTool {
  const file = `file-${Math.floor(index / 3)}.txt`
  if (index % 3 === 0)
    return { name: 'shell', input: { command: `echo ${index} >> effects; echo did ${index}` } }
  if (index % 3 === 1) return { name: 'write_file', input: { path: file, content: `text ${index}` } }
  return { name: 'read_file', input: { path: file } }
}

/** The history that a model receives. */
async function historyOf(agent: Agent): Promise<ModelMessage[]> {
  const store = FileStore.openForWrite(agent.home)
  const session = await openForAppend(store, agent.id, { command: 'stress', waitMs: 0 })
  try {
    return conversation(session)
  } finally {
    await session.close(() => false)
  }
}

function isInterruption(message: ModelMessage): boolean {
  return message.role === 'tool' && message.is_error && message.content.startsWith('Interrupted')
}

function* compare(expected: ModelMessage[], found: ModelMessage[]): Iterable<string> {
  const told = found.filter(({ role, content }) => role !== 'user' || !content.startsWith('[substrat]'))
  if (told.length !== expected.length) yield `${told.length} messages, not ${expected.length}`
  for (const [index, message] of told.entries()) {
    const other = expected[index]
    const isSame = isInterruption(message)
      ? other?.role === 'tool' && message.role === 'tool' && other.call_id === message.call_id
      : JSON.stringify(other) === JSON.stringify(message)
    if (!isSame) yield `message ${index}: ${JSON.stringify(message)}, not ${JSON.stringify(other)}`
  }
}

/** Every command ran once: a started command never starts again, and the others do run. */
function* effects(lab: Lab, name: string, calls: number): Iterable<string> {
  const found = readFileSync(join(workspaceOf(lab, name), 'effects'), 'utf8')
    .trim()
    .split('\n')
  const wanted = Array.from({ length: calls }, (_, index) => index).filter((index) => index % 3 === 0)
  if (found.join() !== wanted.join()) yield `the commands ran ${found.join()}, not ${wanted.join()}`
}

/** The rule of strict providers: each call has exactly one result, right after it. */
function* inOrder(messages: ModelMessage[]): Iterable<string> {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant' || message.tool_calls.length === 0) continue
    const results = messages.slice(index + 1, index + 1 + message.tool_calls.length)
    const ids = results.map((result) => (result.role === 'tool' ? result.call_id : '-')).join()
    const wanted = message.tool_calls.map(({ call_id }) => call_id).join()
    if (ids !== wanted) yield `after the calls ${wanted} come the results ${ids}`
  }
}
