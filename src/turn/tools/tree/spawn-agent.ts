/** `spawn_agent`: creates a child whose rights are at most its parent's. */
import { posix } from 'node:path'
import { isDirectory } from '../../../files/user-files.js'
import { isInWorkspace } from '../../../files/workspace.js'
import { contextByDefault } from '../../../provider/context.js'
import type { JsonObject } from '../../../provider/contract.js'
import { deriveId } from '../../../session/ids.js'
import { createAgent } from '../../../tree/create-agent.js'
import { createdRecord } from '../../../tree/created.js'
import { checkName } from '../../../tree/names.js'
import { type CallContext, optionalText, type Tool, type ToolContext } from '../tool.js'
import { awaitReply, earlierReply, sendFrom } from './correspondence.js'

export const spawnAgent: Tool = {
  name: 'spawn_agent',
  description:
    'Creates a child, an agent with its own conversation. prompt is its first request. You receive the reply as a message, or with wait as the result of this call. Provider, model, workspace and rights default to yours. A child never has more rights than you.',
  input_schema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Unique among your living children.' },
      prompt: { type: 'string', description: 'Its first request.' },
      instructions: { type: 'string', description: 'Its system prompt.' },
      provider: { type: 'string' },
      model: { type: 'string' },
      workspace: { type: 'string', description: 'Directory, relative to your own workspace.' },
      options: { type: 'object', description: 'Options of its provider, with text values.' },
      allow: {
        type: 'array',
        items: { type: 'string' },
        description: 'Tools it may use without approval.',
      },
      wait: { type: 'boolean', description: 'Wait for the reply to prompt.' },
    },
  },
  kind: 'own',
  waits: true,
  async run(input, context) {
    const { tree, call } = context
    const earlier = input.wait === true ? earlierReply(context) : undefined
    if (earlier !== undefined) return earlier
    const id = deriveId(call.made_at, 'agent')
    const prompt = optionalText(input, 'prompt')
    if (!tree.session.store.hasAgent(id)) await create(id, input, context)
    const made = `made ${optionalText(input, 'name') ?? 'a child'} (${id})`
    if (prompt === null) return made
    const send = (): string => sendFrom(context, { to: id, kind: 'request', content: prompt })
    if (input.wait === true) return awaitReply(context, id, send)
    return `${made}; its first request is ${send()}`
  },
}

async function create(id: string, input: JsonObject, context: ToolContext): Promise<void> {
  const { tree, call } = context
  const { session, bounds, command } = tree
  const { state, store } = session
  const name = optionalText(input, 'name')
  const provider = optionalText(input, 'provider') ?? state.provider_name
  const isSame = provider === state.provider_name
  const options = textsOf(input.options)
  const given = {
    provider,
    model: optionalText(input, 'model') ?? (isSame ? state.model : null),
    instructions: optionalText(input, 'instructions'),
    options: { ...(isSame ? state.options : {}), ...options },
    workspace: workspaceOf(input, context),
  }
  const settings = isSame ? given : await tree.withDefaults(provider, given)
  // The parent already has its own provider and options; only different ones could give the child more rights.
  const isOwn = isSame && Object.keys(options).length === 0
  const found = await tree.checkProvider(provider, settings, isOwn || isTrusted(call))
  const conversation = contextByDefault(found, settings, isSame ? (state.context ?? 'all') : bounds.context)
  const allow = rightsOf(input.allow, context)
  const onUnknown = found.kind === 'model' ? state.on_unknown : undefined
  const child = await createAgent(
    store,
    {
      id,
      name: name === null ? null : checkName(name),
      parent: state.id,
      records: ({ path }) => [
        createdRecord({
          id,
          name,
          parent: state.id,
          path,
          allow,
          onUnknown,
          context: conversation,
          ...settings,
        }),
      ],
      command,
    },
    bounds,
  )
  await child.close(() => false)
}

/** A caller that may run any command gains nothing through a child. Neither does a call that a person approved. */
function isTrusted({ allow, isApproved }: CallContext): boolean {
  return isApproved === true || allow.includes('all') || allow.includes('shell')
}

/** The child's workspace must be within the parent's, because an agent reads its workspace without approval. */
function workspaceOf(input: JsonObject, { workspace, call }: ToolContext): string {
  const wanted = posix.resolve(workspace, optionalText(input, 'workspace') ?? '.')
  if (!isDirectory(wanted)) throw new Error(`the workspace ${wanted} does not exist or is not a directory`)
  if (isTrusted(call) || isInWorkspace(workspace, wanted)) return wanted
  throw new Error(`the workspace ${wanted} is outside of yours: you would need --allow shell or --allow all`)
}

/** Throws if the child would have a right that its parent lacks. */
function rightsOf(wanted: unknown, { call, isAllowed }: ToolContext): string[] {
  if (wanted === undefined || wanted === null) return call.allow
  if (!Array.isArray(wanted)) throw new Error('allow must be a list of tool names')
  const names = wanted.map(String)
  const more = names.filter((name) => !isAllowed(name))
  if (more.length === 0) return names
  throw new Error(`a child may not have more rights than you, and you are not allowed ${more.join(', ')}`)
}

function textsOf(options: unknown): Record<string, string> {
  if (options === undefined || options === null) return {}
  if (typeof options !== 'object' || Array.isArray(options))
    throw new Error('options must be an object with text values')
  return Object.fromEntries(Object.entries(options).map(([key, value]) => [key, String(value)]))
}
