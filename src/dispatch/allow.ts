/** Checks the entries of `--allow` for an agent: with a misspelt name, its tool would silently lack the right. */
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import type { Provider } from '../provider/contract.js'
import { isPattern, isUsablePattern } from '../turn/tools/allow.js'
import { parseRule } from '../turn/tools/on-unknown.js'
import { TOOL_NAMES } from '../turn/tools/toolbox.js'
import type { Context } from './context.js'
import { readState } from './read-state.js'

/** The names that every model agent knows. */
export const ALLOW_NAMES: readonly string[] = ['all', 'tree', ...TOOL_NAMES]

/** `checkAllow` for an agent that exists. Its provider is only loaded: whether it can run now is a question for its turn. */
export async function checkAllowOf(ctx: Context, agentId: string, allow: string[]): Promise<void> {
  if (allow.length === 0) return
  const { provider_name } = readState(ctx.store, agentId)
  checkAllow(ctx, await ctx.providers.load(provider_name), allow)
}

/** Throws USAGE. An agent program has tools of its own, whose names are not known here, and no patterns. */
export function checkAllow(
  { tools }: Pick<Context, 'tools'>,
  { kind }: Pick<Provider, 'kind'>,
  allow: string[],
): void {
  for (const entry of allow) {
    if (isPattern(entry)) checkPattern(entry, kind)
    else if (kind === 'model' && !isKnown(tools, entry)) throw unknownToolError(entry, '--allow:')
  }
}

/** Checks the rules of `--on-unknown`. Throws USAGE. An agent program runs its tools itself, so no rule can apply to them. */
export function checkRules(
  { tools }: Pick<Context, 'tools'>,
  { provider, kind }: { provider: string; kind: Provider['kind'] },
  rules: string[],
): void {
  if (rules.length > 0 && kind !== 'model')
    throw new SubstratError(
      'USAGE',
      `--on-unknown: an agent of ${provider} runs its tools in its own program`,
      {
        hint: 'leave it out; after a crash, the program is asked to check its work and continue',
        facts: { provider },
      },
    )
  for (const rule of rules) {
    const { entry = '' } = parseRule(rule) ?? {}
    if (!isPattern(entry) && !isKnown(tools, entry)) throw unknownToolError(entry, '--on-unknown:')
  }
}

/** The names in the setting `allow` that no model knows. Throws USAGE for an unusable pattern: patterns are for models alone. */
export function unknownInSetting(tools: KnownServers, allow: string[]): string[] {
  for (const entry of allow) if (isPattern(entry)) checkPattern(entry, 'model', IN_SETTING)
  return allow.filter((entry) => !isPattern(entry) && !isKnown(tools, entry))
}

const IN_SETTING = 'the setting allow:'

type KnownServers = Pick<Context['tools'], 'servers'>

function isKnown({ servers }: KnownServers, name: string): boolean {
  const at = name.indexOf('__')
  return ALLOW_NAMES.includes(name) || (at > 0 && Object.hasOwn(servers, name.slice(0, at)))
}

export function unknownToolError(name: string, where = IN_SETTING): SubstratError {
  return new SubstratError(
    'USAGE',
    `${where} there is no tool ${name}${suggestion(name, [...ALLOW_NAMES])}`,
    {
      hint: 'a tool of an MCP server is SERVER__TOOL, with SERVER in the setting mcp_servers',
    },
  )
}

function checkPattern(entry: string, kind: Provider['kind'], where = '--allow'): void {
  const quoted = JSON.stringify(entry)
  if (kind !== 'model')
    throw new SubstratError('USAGE', `--allow ${quoted}: an agent program has no patterns of substrat`, {
      hint: 'name whole tools, or use the permissions of the program itself',
    })
  if (isUsablePattern(entry)) return
  throw new SubstratError('USAGE', `${where} ${quoted} is not the pattern of one simple command of shell`, {
    hint: 'for example shell(git status) or shell(npm test*): a * only at the end, and no ; & | < > $ ` or line break outside quotes',
  })
}
