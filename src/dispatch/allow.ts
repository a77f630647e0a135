/** Checks the entries of `--allow` for an agent: with a misspelt name, its tool would silently lack the right. */
import { suggestion } from '../closest.js'
import { SubstratError } from '../errors.js'
import type { Provider } from '../provider/contract.js'
import { isPattern, isUsablePattern } from '../turn/tools/allow.js'
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
export function checkAllow(ctx: Context, { kind }: Pick<Provider, 'kind'>, allow: string[]): void {
  for (const entry of allow) {
    if (isPattern(entry)) checkPattern(entry, kind)
    else if (kind === 'model' && !isKnown(ctx, entry)) throw unknownTool(entry)
  }
}

function isKnown(ctx: Context, name: string): boolean {
  const at = name.indexOf('__')
  return ALLOW_NAMES.includes(name) || (at > 0 && Object.hasOwn(ctx.tools.servers, name.slice(0, at)))
}

function unknownTool(name: string): SubstratError {
  return new SubstratError(
    'USAGE',
    `--allow: there is no tool ${name}${suggestion(name, [...ALLOW_NAMES])}`,
    {
      hint: 'a tool of an MCP server is SERVER__TOOL, with SERVER in the setting mcp_servers',
    },
  )
}

function checkPattern(entry: string, kind: Provider['kind']): void {
  const quoted = JSON.stringify(entry)
  if (kind !== 'model')
    throw new SubstratError('USAGE', `--allow ${quoted}: an agent program has no patterns of substrat`, {
      hint: 'name whole tools, or use the permissions of the program itself',
    })
  if (isUsablePattern(entry)) return
  throw new SubstratError('USAGE', `--allow ${quoted} is not the pattern of one simple command of shell`, {
    hint: 'for example shell(git status) or shell(npm test*): a * only at the end, and no ; & | < > $ ` or line break outside quotes',
  })
}
