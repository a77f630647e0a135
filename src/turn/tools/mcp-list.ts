/**
 * Reads the list of tools of a server. Each tool is checked alone: a tool that no model could use is left out with its reason, and
 * the others stay.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { isPlainObject } from '../../format.js'
import { limits } from '../../limits.js'
import type { JsonObject, ToolDefinition } from '../../provider/contract.js'
import { plainSentence } from '../../provider/failure.js'
import { isDeeperThan } from '../ask/levels.js'

export interface ListedTool extends ToolDefinition {
  /** The server calls it read-only or idempotent. */
  isHarmlessAgain?: boolean
}

export interface ListedTools {
  tools: ListedTool[]
  /** A sentence for each tool that is left out. */
  leftOut: string[]
}

const PAGES_MAX = 100
const LEFT_OUT_SHOWN_MAX = 10

/**
 * A schema in the form of zod 3 that every result passes: a server's own schemas may be wrong, and the SDK's refuse a list of tools
 * for one of them. The SDK's schemas would have to be bundled a second time.
 */
export const ANY_RESULT = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as AnyResult
type AnyResult = typeof import('@modelcontextprotocol/sdk/types.js').ResultSchema

/** Reads all pages. */
export async function listTools(client: Client, timeoutMs: number): Promise<ListedTools> {
  const listed: unknown[] = []
  let cursor: string | undefined
  for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
    if (pages === PAGES_MAX) throw new Error('its list of tools has no end')
    const params = cursor === undefined ? {} : { params: { cursor } }
    const page = await client.request({ method: 'tools/list', ...params }, ANY_RESULT, { timeout: timeoutMs })
    if (!Array.isArray(page.tools)) throw new Error('it answered without a list of tools')
    for (const tool of page.tools) listed.push(tool)
    cursor = typeof page.nextCursor === 'string' && page.nextCursor !== '' ? page.nextCursor : undefined
  }
  return usable(listed)
}

function usable(listed: unknown[]): ListedTools {
  const tools: ListedTool[] = []
  const leftOut: string[] = []
  let bytes = 0
  for (const [index, each] of listed.entries()) {
    const named = isPlainObject(each) && typeof each.name === 'string' ? each.name : `number ${index + 1}`
    const tool = definitionOf(each)
    const size = typeof tool === 'string' ? 0 : Buffer.byteLength(JSON.stringify(tool))
    const isTooLarge = size > limits.serverToolsBytesMax
    if (typeof tool === 'string' || isTooLarge) {
      const why = isTooLarge ? `it is larger than ${limits.serverToolsBytesMax} bytes` : tool
      leftOut.push(`the tool ${plainSentence(named).slice(0, 100)} is left out: ${why}`)
    } else {
      tools.push(tool)
      bytes += size
    }
  }
  // Offering only some of them would be an arbitrary choice.
  if (bytes > limits.serverToolsBytesMax)
    throw new Error(`its ${tools.length} tools are larger than ${limits.serverToolsBytesMax} bytes together`)
  const more = leftOut.length - LEFT_OUT_SHOWN_MAX
  return {
    tools,
    leftOut: more > 0 ? [...leftOut.slice(0, -more), `${more} more tools are left out`] : leftOut,
  }
}

/** A string says why the tool cannot be used. A description or a schema that is missing or null is an empty one. */
function definitionOf(listed: unknown): ListedTool | string {
  if (!isPlainObject(listed) || typeof listed.name !== 'string') return 'it has no name'
  const { name, description, inputSchema, annotations } = listed
  const schema = inputSchema ?? {}
  if (!isPlainObject(schema)) return 'its input schema is not an object'
  if ((schema.type ?? 'object') !== 'object') return 'its input is not an object'
  if (isDeeperThan(schema, limits.inputLevelsMax)) return 'its input schema has too many levels'
  const { input_schema, also } = plainSchema(schema)
  const said = typeof description === 'string' ? description : ''
  const hints = isPlainObject(annotations) ? annotations : {}
  const isHarmlessAgain = hints.readOnlyHint === true || hints.idempotentHint === true
  return {
    name,
    description: [said, also].filter((text) => text !== '').join('\n'),
    input_schema,
    ...(isHarmlessAgain ? { isHarmlessAgain } : {}),
  }
}

/**
 * Words that OpenAI and Anthropic refuse at the top of a schema, with the whole request. The model reads them in the description
 * instead, and the server checks them.
 */
const NOT_AT_THE_TOP = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'if', 'then', 'else']
const SHOWN_CHARACTERS_MAX = 2000

function plainSchema(schema: JsonObject): { input_schema: JsonObject; also: string } {
  const { properties, required, ...rest } = schema
  const alternatives = Object.entries(rest).filter(([word]) => NOT_AT_THE_TOP.includes(word))
  const branches = alternatives.flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
  const inBranches = branches.map((branch) =>
    isPlainObject(branch) && isPlainObject(branch.properties) ? branch.properties : {},
  )
  const known = Object.assign({}, ...inBranches, isPlainObject(properties) ? properties : {}) as JsonObject
  const others = Object.fromEntries(Object.entries(rest).filter(([word]) => !NOT_AT_THE_TOP.includes(word)))
  // A schema without properties stays as the server wrote it.
  const hasProperties = isPlainObject(properties) || Object.keys(known).length > 0
  const input_schema = {
    ...others,
    type: 'object',
    ...(hasProperties ? { properties: known } : {}),
    ...(Array.isArray(required) ? { required } : {}),
  }
  const shown = JSON.stringify(Object.fromEntries(alternatives))
  const also = alternatives.length === 0 ? '' : `The input must also match this schema: ${shown}`
  return { input_schema, also: also.slice(0, SHOWN_CHARACTERS_MAX) }
}
