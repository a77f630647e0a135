/** The file `config.json`, and the `substrat` section of a plugin's package.json. */
import { z } from 'zod'
import { SETTINGS, type SettingKind } from './settings.js'
import { text, texts } from './types.js'
import { CONTEXT, NOTIFY_EVENTS, NOTIFY_FORMATS, ON_UNKNOWN_RULE, WORKSPACE_SCOPES } from './words.js'

const DURATION = '\\s*\\d+(\\.\\d+)?(ms|s|m|h|d)\\s*'
const NAME = '\\s*[\\w-]{1,128}(\\([^()\\n]{1,500}\\))?\\s*'

const server = z
  .object({ command: text, args: z.array(text).optional(), env: texts.optional() })
  .meta({ id: 'tool_server', description: 'An MCP server (stdio).' })

const event = z.enum(NOTIFY_EVENTS)
const duration = text.regex(new RegExp(`^${DURATION}$`))

/** A secret is never in config.json itself. */
const secret = z
  .union([
    z.object({ env: text.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/) }),
    z.object({ file: text.regex(/^(~\/|\/)/) }),
  ])
  .meta({ id: 'secret', description: 'A variable of the environment, or a file (absolute, or from `~/`).' })

const target = z
  .object({
    name: text.regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
    on: z.array(event),
    agents: z
      .array(text.regex(/^[^\s]{1,500}$/))
      .optional()
      .describe('Patterns of paths. Default `**`: all.'),
    url: z.union([text.regex(/^https?:\/\/[^\s@]+$/), secret]).optional(),
    run: z.array(text).optional().describe('A program with its arguments, instead of `url`.'),
    format: z.enum(NOTIFY_FORMATS).optional().describe('The body of the request. Default `json`.'),
    secret: secret.optional().describe('The key of the signature.'),
    token: secret.optional().describe('For the header `Authorization: Bearer`.'),
    tries: z.int().min(1).max(10).optional().describe('Attempts per message. Default 3.'),
    timeout: duration.optional().describe('Limit of one attempt. Default 10s.'),
    expires: duration.optional().describe('How long a message is tried. Default: 1h for `limited`, else 1d.'),
  })
  .meta({ id: 'notify_target', description: 'Where notifications go.' })

const people = z.array(text.regex(/^[^\s]{1,320}$/))

const channelAgent = z
  .object({
    provider: text
      .regex(/^[\w.-]{1,64}$/)
      .optional()
      .describe('Default: the setting `provider`.'),
    model: text.optional(),
    system: text.optional().describe('Instructions.'),
    options: texts.optional().describe('Options of the provider.'),
    allow: z.array(text).optional().describe('Tools that need no approval.'),
    context: text
      .regex(CONTEXT)
      .optional()
      .describe('How much of the earlier conversation a turn begins with. Default: the setting `context`.'),
    workspace: text.regex(/^\//).describe('An absolute path.'),
  })
  .meta({ id: 'channel_agent', description: 'How the agent of a new thread is spawned.' })

const channel = z
  .object({
    name: text.regex(/^[a-z0-9][a-z0-9-]{0,31}$/).describe('The name of its session, a root agent.'),
    type: text.regex(/^[a-z0-9][a-z0-9-]{0,31}$/).describe('The channel plugin, such as `telegram`.'),
    options: z
      .record(text, z.union([text, secret]))
      .optional()
      .describe('Options of the plugin.'),
    senders: people.describe(
      'The people whose messages are taken. `*` is everyone that the platform lets in.',
    ),
    approvers: people.optional().describe('The people who may approve, deny and answer. Default: none.'),
    agent: channelAgent,
    tries: z.int().min(1).max(10).optional().describe('Attempts per outgoing message. Default 3.'),
    expires: duration.optional().describe('How long an outgoing message is tried. Default 1d.'),
  })
  .meta({ id: 'channel', description: 'A conversation service whose threads are agents.' })

/** The values of each kind. `servers` are an object here, `targets` and `channels` arrays, and all are JSON in an environment variable. */
export const kinds = {
  text: text.regex(/^[\s\S]{1,1000}$/),
  count: text.regex(/^([1-9]\d{0,2}|1000)$/),
  count_or_0: text.regex(/^(0|[1-9]\d{0,2}|1000)$/),
  duration: text.regex(new RegExp(`^${DURATION}$`)),
  durations: text.regex(new RegExp(`^(none|${DURATION}(,${DURATION})*)$`)),
  names: text.regex(new RegExp(`^${NAME}(,${NAME})*$`)),
  unknown_tool: z.enum(['stop', 'continue']),
  rules: z.array(text.regex(ON_UNKNOWN_RULE)),
  context: text.regex(CONTEXT),
  workspace_scope: z.enum(WORKSPACE_SCOPES),
  budget: text.regex(/^[^\s]{1,500}$/),
  amounts: text.regex(/^[^\s/]{1,200}$/),
  weight: text.regex(/^(0|1|0?\.\d{1,4}|1\.0+)$/),
  zone: text.regex(/^[\w+/-]{1,64}$/),
  switch: z.enum(['on', 'off']),
  servers: z.record(text.regex(/^[a-zA-Z0-9-]{1,32}$/), server),
  targets: z.array(target),
  channels: z.array(channel),
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
    channels: z
      .record(text, text)
      .optional()
      .describe('The module of each channel, by its type, relative to the package.'),
  })
  .describe('The section `substrat` in the package.json of a plugin.')

export type ConfiguredServer = z.infer<typeof server>
/** An MCP server of the settings, with its defaults. */
export type McpServer = Required<ConfiguredServer>
/** A target of `notify` as it is in config.json. */
export type ConfiguredTarget = z.infer<typeof target>
/** A channel as it is in config.json. */
export type ConfiguredChannel = z.infer<typeof channel>
export type SecretPlace = z.infer<typeof secret>
export type PluginManifest = z.infer<typeof plugin>
