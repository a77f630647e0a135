/** Spawns the agent of a thread, from the template in the settings. */
import { checkAllow } from '../dispatch/allow.js'
import type { Context } from '../dispatch/context.js'
import { needsVisit } from '../dispatch/pending-visits.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { noProviderError } from '../operations/spawn.js'
import { checkContext, contextByDefault } from '../provider/context.js'
import { checkWorkspace } from '../provider/workspace.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import { createAgent } from '../tree/create-agent.js'
import { createdRecord } from '../tree/created.js'
import type { AgentTemplate, ChannelConfig } from './config.js'
import { senderActor } from './sender.js'

/** Throws what `spawn` throws for settings that cannot work. */
export async function checkedTemplate(
  ctx: Context,
  template: AgentTemplate,
): Promise<AgentTemplate & { context: string }> {
  const { provider, workspace, instructions } = template
  if (provider === '') throw noProviderError('"provider" in the channel')
  checkWorkspace(workspace)
  const { model, options } = await ctx.providers.withDefaults(provider, template)
  const facts = { workspace, model, instructions, options }
  const found = await ctx.providers.check(provider, facts)
  checkAllow(ctx, found, template.allow)
  if (template.context !== undefined) checkContext(provider, found, facts, template.context)
  const context = template.context ?? contextByDefault(found, facts, ctx.bounds.context)
  return { ...template, model, options, context }
}

/** Its id is in the log of the channel, so a crash after this spawns no second agent. */
export async function spawnAgent(
  ctx: Context,
  { channel, config }: { channel: State; config: ChannelConfig },
  record: SessionRecord<'channel.received'>,
): Promise<void> {
  const { agent_id: id, sender, sender_name } = record
  const { provider, model, instructions, options, allow, context, workspace } = await checkedTemplate(
    ctx,
    config.agent,
  )
  const name = `${wordOf(sender_name ?? sender)}-${id.slice(0, 8)}`
  const facts = {
    id,
    name,
    parent: channel.id,
    provider,
    model,
    instructions,
    workspace,
    options,
    allow,
    context,
    actor: senderActor(channel, record),
  }
  try {
    const session = await createAgent(
      ctx.store,
      {
        ...{ id, name, parent: channel.id, command: ctx.command },
        records: ({ path }) => [createdRecord({ ...facts, path })],
      },
      { ...ctx.bounds, childrenMax: limits.channelAgentsMax },
    )
    await session.close((state) => needsVisit(ctx.store, state))
  } catch (error) {
    const isThere =
      error instanceof SubstratError && error.code === 'NAME_TAKEN' && error.facts.agent_id === id
    if (!isThere) throw error
  }
}

function wordOf(person: string): string {
  const word = person
    .normalize('NFKD')
    .replace(/@.*$/, '')
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '')
  return word.slice(0, 40).toLowerCase() || 'thread'
}
