/** Which settings `context` an agent of a provider can have. */
import { SubstratError } from '../errors.js'
import type { Provider, ProviderSettings } from './contract.js'

/**
 * Throws USAGE for `last:N` if substrat does not give the provider its conversation. A program with its own conversation can only continue
 * it or begin another.
 */
export function checkContext(
  name: string,
  provider: Provider,
  settings: ProviderSettings,
  context: string,
): void {
  if (!isPart(context) || getsConversation(provider, settings)) return
  const why =
    provider.kind === 'agent' && provider.needsHistory !== undefined
      ? 'gets no conversation without --option history=on'
      : 'keeps its conversation itself, and substrat cannot choose a part of it'
  throw new SubstratError('USAGE', `--context ${context}: an agent of the provider ${name} ${why}`, {
    hint: 'use --context turn, with which each turn begins without the earlier conversation, or --context all',
    facts: { provider: name, context },
  })
}

/** The setting of a new agent that names none: a default that its provider cannot have leaves it with the whole conversation. */
export function contextByDefault(provider: Provider, settings: ProviderSettings, context: string): string {
  return isPart(context) && !getsConversation(provider, settings) ? 'all' : context
}

function isPart(context: string): boolean {
  return context.startsWith('last:')
}

function getsConversation(provider: Provider, settings: ProviderSettings): boolean {
  return provider.kind === 'model' || provider.needsHistory?.(settings) === true
}
