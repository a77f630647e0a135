/** The file `config.json`, and the `substrat` section of a plugin's package.json. */
import { z } from 'zod'
import { SETTINGS, type SettingKind } from './settings.js'
import { text, texts } from './types.js'

const DURATION = '\\s*\\d+(\\.\\d+)?(ms|s|m|h|d)\\s*'
const NAME = '\\s*[\\w-]{1,128}(\\([^()\\n]{1,500}\\))?\\s*'

const server = z
  .object({ command: text, args: z.array(text).optional(), env: texts.optional() })
  .meta({ id: 'tool_server', description: 'An MCP server (stdio).' })

/** The values of each kind. `servers` are an object here, and its JSON in an environment variable. */
export const kinds = {
  text: text.regex(/^[\s\S]{1,1000}$/),
  count: text.regex(/^([1-9]\d{0,2}|1000)$/),
  count_or_0: text.regex(/^(0|[1-9]\d{0,2}|1000)$/),
  duration: text.regex(new RegExp(`^${DURATION}$`)),
  durations: text.regex(new RegExp(`^(none|${DURATION}(,${DURATION})*)$`)),
  names: text.regex(new RegExp(`^${NAME}(,${NAME})*$`)),
  unknown_tool: z.enum(['stop', 'continue']),
  servers: z.record(text.regex(/^[a-zA-Z0-9-]{1,32}$/), server),
} satisfies Record<SettingKind, z.ZodType>

/** A count may also be a JSON number. */
const inFile: Record<SettingKind, z.ZodType> = {
  ...kinds,
  count: z.union([kinds.count, z.int().min(1).max(1000)]),
  count_or_0: z.union([kinds.count_or_0, z.int().min(0).max(1000)]),
}

/** A setting of a provider is `PROVIDER.OPTION`; only the provider knows its options. */
const key = z.union([z.enum(Object.keys(SETTINGS)), text.regex(/^.+\..+$/)])

export const config = z
  .looseObject(
    Object.fromEntries(
      Object.entries(SETTINGS).map(([key, { kind, help }]) => [key, inFile[kind].optional().describe(help)]),
    ),
  )
  .and(z.record(key, z.unknown()))
  .describe('`config.json`: the settings, and those of providers (`openai.model`).')

export const plugin = z
  .object({
    providers: z.record(text, text).describe('The module of each provider, relative to the package.'),
    stores: z
      .record(text, text)
      .optional()
      .describe('The module of each store, by the scheme of its URLs, relative to the package.'),
  })
  .describe("The section `substrat` in the package.json of a provider's package.")

export type ConfiguredServer = z.infer<typeof server>
/** An MCP server of the settings, with its defaults. */
export type McpServer = Required<ConfiguredServer>
export type PluginManifest = z.infer<typeof plugin>
