/** The errors of budgets. */
import { SubstratError, shellWord } from '../errors.js'
import type { State } from '../session/state.js'

/** `path`: of the agent with the cap; null for the home. */
export function uncountedError(
  { id, path: agent, provider_name }: Pick<State, 'id' | 'path' | 'provider_name'>,
  path: string | null,
): SubstratError {
  const whose = path === null ? 'the budget of the home' : `the budget of ${path}`
  const change =
    path === null
      ? 'substrat config set budget tokens=NUMBER'
      : `substrat set ${shellWord(path)} --budget tokens=NUMBER`
  return new SubstratError(
    'PROVIDER_MISCONFIGURED',
    `${whose} is in usd, but the provider ${provider_name} of ${agent} reports no cost`,
    { hint: `count something that it reports: ${change}`, facts: { agent_id: id } },
  )
}
