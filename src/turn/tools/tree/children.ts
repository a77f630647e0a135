/** Tools that inspect and control an agent's children; and `complete`, which requires that it has no living ones. */
import { countPending } from '../../../mail/inbox.js'
import type { Control } from '../../../mail/message.js'
import type { JsonObject } from '../../../provider/contract.js'
import type { WatchedStatus } from '../../../session/fields.js'
import { readMessageText } from '../../../session/read.js'
import type { State } from '../../../session/state.js'
import { statusNow } from '../../../session/status-now.js'
import { troubleOf } from '../../../session/trouble.js'
import type { FileStore } from '../../../storage/store.js'
import { checkChildless, livingChildren } from '../../../tree/children.js'
import { type Tool, textField } from '../tool.js'
import { childOf, sendFrom } from './correspondence.js'

const agent = { agent: { type: 'string', description: 'The name, path or id of a child of yours.' } }

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
