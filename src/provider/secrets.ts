/** The values that a provider names as its secrets. */
import type { Provider, ProviderSettings } from './contract.js'

/** Of the environment, for texts that must not have them. Never throws itself: it is asked when something failed. */
export function secretsOf(provider: Provider, settings: ProviderSettings): string[] {
  try {
    const names = provider.secrets?.(settings) ?? []
    return [...names, 'SUBSTRAT_TOKEN'].flatMap((name) => process.env[name] ?? [])
  } catch {
    return []
  }
}
