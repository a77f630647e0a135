import type { Provider, ProviderSettings } from './contract.js'

/** The values of the provider's secret environment variables, to mask in texts. Never throws: it is called after a failure. */
export function secretsOf(provider: Provider, settings: ProviderSettings): string[] {
  try {
    const names = provider.secrets?.(settings) ?? []
    return [...names, 'SUBSTRAT_TOKEN'].flatMap((name) => process.env[name] ?? [])
  } catch {
    return []
  }
}
