/** Tools that inspect and control an agent's children; and `complete`, which requires that it has no living ones. */
import { countPending } from '../../../mail/inbox.js'
import type { Control } from '../../../mail/message.js'
import type { JsonObject } from '../../../provider/contract.js'
import type { WatchedStatus } from '../../../schema/words.js'
import { readMessageText } from '../../../session/read.js'
import type { State } from '../../../session/state.js'
import { statusNow } from '../../../session/status-now.js'
import { troubleOf } from '../../../session/trouble.js'
import type { Store } from '../../../storage/store.js'
import { checkChildless, livingChildren } from '../../../tree/children.js'
import { type Tool, textField } from '../tool.js'
import { childOf, sendFrom } from './correspondence.js'

const agent = { agent: { type: 'string', description: 'The name, path or id of one of your children.' } }

export const listChildren: Tool = {
  name: 'list_children',
  description: 'Lists your living children: name, status, pending mail and metadata.',
  input_schema: { type: 'object', properties: {} },
  kind: 'reads',
  async run(_, { tree }) {
    const { store, id } = tree.session
    const lines = livingChildren(store, id).map((child) => JSON.stringify(facts(store, child)))
    return lines.join('\n') || 'You have no living children.'
  },
}

function facts(store: Store, child: State): JsonObject {
  const { id, name, state, metadata, gate } = child
  const status = statusNow(store, child)
  const inbox = countPending(store, child)
  return { id, name, state, status, inbox, gated: gate.isGated, metadata }
}

export const inspectAgent: Tool = {
  name: 'inspect_agent',
  description: 'Shows the status, latest turn, latest reply and metadata of a child.',
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
    'Ends your work for good: your parent receives the result, and you are terminated. You need a parent and no living children.',
  input_schema: {
    type: 'object',
    properties: { result: { type: 'string', description: 'The result of your work.' } },
    required: ['result'],
  },
  kind: 'own',
  async run(input, { tree }) {
    const { store, state } = tree.session
    if (state.parent === null) throw new Error('you have no parent to complete for: reply with text instead')
    checkChildless(store, state, 'terminate')
    return { content: 'done', ends: textField(input, 'result') }
  },
}

export const poke = control(
  'poke',
  "Continues a child's interrupted turn, or retries its failed turn with the same prompt.",
  () => ({ verb: 'poke' }),
)
export const gate = control(
  'gate',
  'Stops a child from taking turns, except those that permit_turn allows. Its mail stays pending.',
  () => ({ verb: 'gate' }),
)
export const ungate = control('ungate', 'Lets a gated child take turns again.', () => ({ verb: 'ungate' }))
export const permitTurn = control('permit_turn', 'Lets a gated child take one turn.', () => ({
  verb: 'permit',
}))

export const subscribe = control(
  'subscribe',
  'Notifies you when a child goes from running to idle, waiting or interrupted.',
  (input) => ({ verb: 'watch', on: statusesOf(input.on), once: input.once === true }),
  {
    on: {
      type: 'array',
      items: { enum: ['idle', 'waiting', 'interrupted'] },
      description: 'The statuses to report. Default: all three.',
    },
    once: { type: 'boolean', description: 'Report only the next change. Default: every one.' },
  },
)
export const unsubscribe = control('unsubscribe', 'Ends the notifications about a child.', () => ({
  verb: 'unwatch',
}))

const STATUSES: WatchedStatus[] = ['idle', 'waiting', 'interrupted']

function statusesOf(on: unknown): WatchedStatus[] {
  if (on === undefined || on === null) return STATUSES
  const wanted = Array.isArray(on) ? on : [on]
  if (wanted.length === 0 || wanted.some((status) => !STATUSES.includes(status as WatchedStatus)))
    throw new Error(`on must be a list of ${STATUSES.join(', ')}`)
  return STATUSES.filter((status) => wanted.includes(status))
}

/** A control goes into the child's inbox. The child's holder applies it, at the end of its turn at the latest. */
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
