/** Tools for an agent's children: making them, looking at them, and saying when they may work. */
import { posix } from 'node:path'
import { countPending } from '../../../mail/inbox.js'
import type { Control } from '../../../mail/message.js'
import type { JsonObject } from '../../../provider/contract.js'
import { deriveId } from '../../../session/ids.js'
import { readMessageText } from '../../../session/read.js'
import type { WatchedStatus } from '../../../session/records.js'
import type { State } from '../../../session/state.js'
import { statusNow } from '../../../session/status-now.js'
import { troubleOf } from '../../../session/trouble.js'
import type { FileStore } from '../../../storage/store.js'
import { isDirectory } from '../../../storage/user-files.js'
import { createAgent } from '../../../tree/birth.js'
import { checkChildless, livingChildren } from '../../../tree/children.js'
import { createdRecord } from '../../../tree/created.js'
import { checkName } from '../../../tree/names.js'
import { optionalText, type Tool, type ToolContext, textField } from '../tool.js'
import { awaitReply, childOf, sendFrom } from './correspondence.js'

const agent = { agent: { type: 'string', description: 'The name, path or id of a child of yours.' } }

export const spawnAgent: Tool = {
  name: 'spawn_agent',
  description:
    'Makes a child of yours, an agent with a conversation of its own. With prompt that is its first request, whose reply you get as a message, or with wait as the result of this call. Provider, model, workspace and rights are yours where nothing else is said; a child never has more rights.',
  input_schema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Unique among your living children.' },
      prompt: { type: 'string', description: 'Its first request.' },
      instructions: { type: 'string', description: 'Its system prompt.' },
      provider: { type: 'string' },
      model: { type: 'string' },
      workspace: { type: 'string', description: 'Directory, from your own.' },
      options: { type: 'object', description: 'Options of its provider, as text.' },
      allow: {
        type: 'array',
        items: { type: 'string' },
        description: 'Tools it may use without being asked about.',
      },
      wait: { type: 'boolean', description: 'Wait for the reply to prompt.' },
    },
  },
  kind: 'own',
  waits: true,
  async run(input, context) {
    const { tree, call } = context
    const id = deriveId(call.run_id, call.call_id, 'agent')
    const prompt = optionalText(input, 'prompt')
    if (!tree.session.store.hasAgent(id)) await create(id, input, context)
    const made = `made ${optionalText(input, 'name') ?? 'a child'} (${id})`
    if (prompt === null) return made
    const send = (): string => sendFrom(context, { to: id, kind: 'request', content: prompt })
    if (input.wait === true) return awaitReply(context, id, send)
    return `${made}; its first request is ${send()}`
  },
}

async function create(id: string, input: JsonObject, { tree, call, workspace }: ToolContext): Promise<void> {
  const { session, bounds, command } = tree
  const { state, store } = session
  const name = optionalText(input, 'name')
  const provider = optionalText(input, 'provider') ?? state.provider_name
  const isSame = provider === state.provider_name
  const settings = {
    provider,
    model: optionalText(input, 'model') ?? (isSame ? state.model : null),
    instructions: optionalText(input, 'instructions'),
    options: { ...(isSame ? state.options : {}), ...textsOf(input.options) },
    workspace: posix.resolve(workspace, optionalText(input, 'workspace') ?? '.'),
  }
  if (!isDirectory(settings.workspace)) throw new Error(`the workspace ${settings.workspace} is no directory`)
  await tree.checkProvider(provider, settings)
  const allow = rightsOf(input.allow, call.allow)
  const child = await createAgent(
    store,
    {
      id,
      name: name === null ? null : checkName(name),
      parent: state.id,
      records: ({ path }) => [createdRecord({ id, name, parent: state.id, path, allow, ...settings })],
      command,
    },
    bounds,
  )
  await child.close(() => false)
}

/** A child may do what its parent may do, or less. */
function rightsOf(wanted: unknown, own: string[]): string[] {
  if (wanted === undefined || wanted === null) return own
  if (!Array.isArray(wanted)) throw new Error('allow is a list of names of tools')
  const names = wanted.map(String)
  return own.includes('all') ? names : names.filter((name) => own.includes(name))
}

function textsOf(options: unknown): Record<string, string> {
  if (options === undefined || options === null) return {}
  if (typeof options !== 'object' || Array.isArray(options)) throw new Error('options is an object of texts')
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, String(value)]))
}

export const listChildren: Tool = {
  name: 'list_children',
  description: 'Shows your living children: what they are called, and what they do.',
  input_schema: { type: 'object', properties: {} },
  kind: 'reads',
  async run(_, { tree }) {
    const { store, id } = tree.session
    const lines = livingChildren(store, id).map((child) => JSON.stringify(facts(store, child)))
    return lines.join('\n') || 'You have no living children.'
  },
}

function facts(store: FileStore, child: State): JsonObject {
  const { id, name, state, metadata, gate } = child
  const status = statusNow(store, child)
  const inbox = countPending(store, child)
  return { id, name, state, status, inbox, gated: gate.isGated, metadata }
}

export const inspectAgent: Tool = {
  name: 'inspect_agent',
  description: 'Shows what a child of yours does: its status, its latest turn and reply, its metadata.',
  input_schema: { type: 'object', properties: agent, required: ['agent'] },
  kind: 'reads',
  async run(input, context) {
    const { store } = context.tree.session
    const child = childOf(input, context, 'inspect')
    const { run, reply, provider_name, model, workspace, updated_at } = child
    return JSON.stringify({
      ...facts(store, child),
      provider: provider_name,
      model,
      workspace,
      updated_at,
      turn:
        run === null
          ? null
          : { status: run.status, started_at: run.started_at, trouble: troubleOf(run), usage: run.usage },
      reply: reply === null ? null : readMessageText(store, child.id, reply),
    })
  },
}

export const complete: Tool = {
  name: 'complete',
  description:
    'Ends your work for good: your parent gets the result, and you are terminated. Only where you have a parent, and no living children.',
  input_schema: {
    type: 'object',
    properties: { result: { type: 'string', description: 'What came of your work.' } },
    required: ['result'],
  },
  kind: 'own',
  async run(input, { tree }) {
    const { store, state } = tree.session
    if (state.parent === null) throw new Error('a root has nobody to complete for: answer with text')
    checkChildless(store, state, 'terminate')
    return { content: 'done', ends: textField(input, 'result') }
  },
}

export const poke = control(
  'poke',
  'Has a child go on with a turn that was interrupted, or try a failed one again with the same prompt.',
  () => ({ verb: 'poke' }),
)
export const gate = control(
  'gate',
  'Lets a child take no more turns, but for those that permit_turn lets through. Its mail is kept.',
  () => ({ verb: 'gate' }),
)
export const ungate = control('ungate', 'Lets a gated child take turns again.', () => ({ verb: 'ungate' }))
export const permitTurn = control('permit_turn', 'Lets a gated child take one turn.', () => ({
  verb: 'permit',
}))

export const subscribe = control(
  'subscribe',
  'Tells you by a notification when a child goes from running to idle, waiting or interrupted.',
  (input) => ({ verb: 'watch', on: statusesOf(input.on), once: input.once === true }),
  {
    on: {
      type: 'array',
      items: { enum: ['idle', 'waiting', 'interrupted'] },
      description: 'Of what you want to know. Default: all three.',
    },
    once: { type: 'boolean', description: 'Only the next time. Default: always.' },
  },
)
export const unsubscribe = control('unsubscribe', 'Tells you of a child no more.', () => ({
  verb: 'unwatch',
}))

const STATUSES: WatchedStatus[] = ['idle', 'waiting', 'interrupted']

function statusesOf(on: unknown): WatchedStatus[] {
  if (on === undefined || on === null) return STATUSES
  const wanted = Array.isArray(on) ? on : [on]
  if (wanted.length === 0 || wanted.some((status) => !STATUSES.includes(status as WatchedStatus)))
    throw new Error(`on is a list of ${STATUSES.join(', ')}`)
  return STATUSES.filter((status) => wanted.includes(status))
}

/** What is asked of a child goes into its inbox: whoever has it obeys it, at the end of its turn at the latest. */
function control(
  name: string,
  description: string,
  controlOf: (input: JsonObject) => Control,
  more: JsonObject = {},
): Tool {
  return {
    name,
    description,
    input_schema: { type: 'object', properties: { ...agent, ...more }, required: ['agent'] },
    kind: 'own',
    async run(input, context) {
      const child = childOf(input, context, name)
      sendFrom(context, { to: child.id, kind: 'control', content: '', control: controlOf(input) })
      return `${name}: ${child.path}`
    },
  }
}
