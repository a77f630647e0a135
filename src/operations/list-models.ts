/** `models`: asks a provider for the models that it can use. Changes nothing. */
import { withTimeout } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { ListedModel } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { type ProviderRegistry, unknownOptionError } from '../provider/registry.js'
import type { ModelList } from '../schema/output-home.js'

export interface ModelsRequest {
  provider: string
  options: Record<string, string>
  workspace: string
  timeoutMs: number
}

/** Throws PROVIDER_MISCONFIGURED for a provider without a list, PROVIDER_FAILED if the list does not come in time. */
export async function listModels(
  providers: ProviderRegistry,
  { provider: name, options, workspace, timeoutMs }: ModelsRequest,
): Promise<ModelList> {
  const provider = await providers.load(name)
  const unknown = Object.keys(options).find((option) => !Object.hasOwn(provider.options, option))
  if (unknown !== undefined) throw unknownOptionError(name, unknown, Object.keys(provider.options))
  if (provider.models === undefined) {
    throw new SubstratError('PROVIDER_MISCONFIGURED', `the provider ${name} cannot list its models`, {
      hint: `give --model a name that its program or server knows; its options: substrat providers ${name}`,
      facts: { provider: name },
    })
  }
  const settings = await providers.withDefaults(name, { model: null, options })
  const controller = new AbortController()
  try {
    const asked = provider.models(
      { ...settings, workspace, instructions: null },
      { signal: controller.signal },
    )
    const listed = await withTimeout(asked, timeoutMs, `it did not list its models within ${timeoutMs} ms`)
    return { provider: name, models: listed.map(viewOf) }
  } catch (error) {
    const { type, message } = describeFailure(error)
    const isOfUser = type === 'authentication' || type === 'misconfigured'
    throw new SubstratError(isOfUser ? 'PROVIDER_MISCONFIGURED' : 'PROVIDER_FAILED', `${name}: ${message}`, {
      hint: `its options and keys: substrat providers ${name}`,
      facts: { provider: name, type },
    })
  } finally {
    controller.abort()
  }
}

function viewOf({ id, description }: ListedModel): ModelList['models'][number] {
  return { id: String(id), description: description === undefined ? null : String(description) }
}
