/** The JSON that commands on a whole home and on a log print (docs/commands.md). */
import { z } from 'zod'
import { holder, records } from './files.js'
import { agent, errorCode } from './output.js'
import { flag, integer, json, text, texts, time, uuid } from './types.js'
import { SCOPES, SELFTEST_VERDICTS, VERDICTS } from './words.js'

const held = z
  .object({ agent: uuid, path: text.nullable(), holder: holder.nullable() })
  .meta({ id: 'held_agent', description: 'An agent that a process holds.' })

const repair = z
  .object({ agent: uuid.nullable(), path: text.nullable(), done: text, ok: flag })
  .meta({ id: 'repair', description: 'A result of `--rebuild`.' })

const finding = z
  .object({
    verdict: z.enum(VERDICTS),
    code: errorCode.nullable().describe('Null if it does not affect the exit status.'),
    agent: uuid.nullable(),
    path: text.nullable(),
    file: text.nullable().describe('The file or directory.'),
    invariant: text.describe('The invariant that does not hold ([list](doctor.md)).'),
    detail: text,
    remedy: text.nullable().describe('The command to run.'),
  })
  .meta({ id: 'finding', description: 'An invariant that does not hold.' })

export const examined = z
  .object({
    home: text,
    format: z.object({ home: integer.nullable(), agents: z.record(z.string(), integer) }).meta({
      id: 'formats',
      description:
        'The format of the home, null without a readable home.json, and how many agents have which.',
    }),
    agents: integer,
    whole: integer.describe('The number of agents whose log was read completely.'),
    held: z.array(held),
    repairs: z.array(repair),
    findings: z.array(finding).describe('The worst first. After `--rebuild`, those that remain.'),
  })
  .describe('The exit status is 10 for damage, else that of the first `code` that needs you, else 0.')

const selftestCheck = z
  .object({
    what: text.describe('The statement that must hold ([list](doctor.md#test-a-machine)).'),
    verdict: z.enum(SELFTEST_VERDICTS),
    detail: text.describe('The observation.'),
    next: text.nullable().describe('The remedy. Null if there is nothing to change.'),
  })
  .meta({ id: 'selftest_check', description: 'A check of the machine.' })

export const selftested = z
  .object({ home: text, checks: z.array(selftestCheck) })
  .describe('The exit status is 11 if a check does not hold, else 0.')

export const migrated = z
  .object({
    from: text,
    to: text,
    agents: integer,
    migrated: flag.describe('False if an earlier command has already done it.'),
  })
  .describe('The homes, and the number of agents.')

export const cancelledMigration = z
  .object({ from: text, to: text, cancelled: flag.describe('Always true.') })
  .describe('The homes.')

export const unlocked = z
  .object({ unlocked: z.array(text).describe('The lock directories.') })
  .describe('The removed locks.')

export const record = z.union(records).describe('A line of a log ([kinds](format.md#record-kinds)).')

const exportedAct = z
  .object({
    at: time,
    note: text.optional().describe('A note of the program. Then there is no tool.'),
    tool: text.optional(),
    input: json.optional().describe('Absent if it is large: then the log names its blob.'),
    output: text.optional().describe('Absent if the log has no end of the call.'),
    is_error: flag.optional(),
  })
  .meta({ id: 'exported_act', description: 'A tool call of an agent program, or its note.' })

const exportedMessage = z
  .object({
    role: z.enum(['user', 'assistant']),
    from: text.describe(
      "An agent's id, `operator`, or `substrat` for the prompt that continues an interrupted turn.",
    ),
    at: time,
    run_id: uuid,
    content: text,
    items: z
      .array(json)
      .optional()
      .describe(
        "The reasoning for this message, and for the tool calls before it, in the provider's own form. Absent if there is none.",
      ),
    acts: z
      .array(exportedAct)
      .optional()
      .describe('The calls and notes of an agent program before this reply. Absent if there are none.'),
  })
  .meta({ id: 'exported_message', description: 'A message of the conversation.' })

export const conversation = z
  .object({ agent, instructions: text.nullable(), messages: z.array(exportedMessage) })
  .describe('The conversation.')

export const imported = z
  .object({
    agents: z.array(agent).describe('The copies, each parent before its children.'),
    created: integer.describe('How many this command created. The others were there from an earlier one.'),
  })
  .describe('The copies of the agents in the bundle.')

export const bundled = z
  .object({ output: text, agents: z.array(agent), bytes: integer })
  .describe('With `--bundle`, the agents go to the file `output`.')

export const written = z
  .object({ output: text, messages: integer.describe('The number of messages.') })
  .describe('With `-o`, the conversation goes to the file `output`.')

const setting = z
  .object({
    key: text,
    value: text.nullable(),
    source: z.enum(['environment', 'config', 'default']),
    default: text.nullable(),
    env: text,
    help: text,
  })
  .meta({ id: 'setting', description: 'A setting and its source.' })

export const settings = z
  .object({ settings: z.array(setting) })
  .describe('Every general setting, and those of providers that have a value.')
export const oneSetting = setting.describe('The setting.')
export const unsetSetting = z
  .object({ key: text, unset: flag.describe('False: config.json did not have it.') })
  .describe('The removed setting.')
export const configPath = z.object({ path: text }).describe('The file with the settings.')
export const notifyTested = z
  .object({
    targets: z.array(
      z
        .object({ target: text, accepted: flag, why: text.nullable().describe('Why it did not accept.') })
        .meta({ id: 'tested_target', description: 'The answer of a target to a test event.' }),
    ),
  })
  .describe('The result of each target.')
export const channelRan = z
  .object({
    channel: text,
    agent: uuid.describe('Its session.'),
    received: integer.describe('New messages of allowed senders.'),
    ignored: integer.describe('Messages of other senders.'),
  })
  .describe('The counts of `channel run` at its end.')
export type ChannelRan = z.infer<typeof channelRan>
export type NotifyTested = z.infer<typeof notifyTested>

export const editedConfig = z
  .object({ path: text, changed: flag })
  .describe('Whether the editor changed the settings.')
export const changedSetting = z.object({ key: text, value: text }).describe('The new value.')

const provider = z
  .object({
    name: text,
    kind: z.enum(['model', 'agent', 'broken']).describe('`broken`: it cannot be loaded.'),
    plugin: text.describe('`built-in`, or the package.'),
    version: text.nullable(),
    description: text.describe('For a broken provider, the cause.'),
    options: texts.describe('The names for `--option`, each with a description.'),
    defaults: texts.describe('The options that have a default, each with it.'),
    keys: z.array(text).describe('The environment variables that can hold its keys.'),
  })
  .meta({ id: 'provider', description: 'A provider.' })

export const providers = z
  .object({
    providers: z.array(provider),
    available: z.array(text).describe('Empty: the official providers need no installation.'),
  })
  .describe('The providers.')

const names = {
  providers: z.array(text).describe('The providers that the plugin has.'),
  channels: z.array(text).describe('The types of its channels.'),
  stores: z.array(text).describe('The schemes of the URLs of homes that it opens.'),
  has_commands: flag.describe('Whether it has commands or hooks of oclif.'),
}

export const addedPlugin = z
  .object({
    plugin: text.describe('The package.'),
    version: text,
    root: text.describe('The directory of the plugin.'),
    changed: flag.describe('False: the same plugin was installed already, or comes with substrat.'),
    ...names,
  })
  .describe('The installed plugin.')

const installedPlugin = z
  .object({
    name: text.describe('The package.'),
    version: text.nullable().describe('Null: its package.json cannot be read.'),
    type: text.describe(
      '`link`: it stays in its directory. `user`: npm has installed it. `official`: it comes with substrat.',
    ),
    from: text.describe('For people: the place that it was installed from.'),
    root: text.describe('The directory of the plugin.'),
    brings: text.describe('For people: its providers, channels, stores and commands.'),
    trouble: text.nullable().describe('Why it cannot be used.'),
    ...names,
  })
  .meta({ id: 'installed_plugin', description: 'A plugin.' })

export const plugins = z.object({ plugins: z.array(installedPlugin) }).describe('The plugins.')
export const plugin = installedPlugin
export const uninstalledPlugin = z.object({ plugin: text }).describe('The plugin that was uninstalled.')
export const resetPlugins = z
  .object({ uninstalled: z.array(text) })
  .describe('The plugins that were uninstalled.')
export const updatedPlugins = z
  .object({ updated: z.array(z.object({ plugin: text, version: text })) })
  .describe('The plugins with a new version.')

export const models = z
  .object({
    provider: text,
    models: z.array(
      z
        .object({ id: text.describe('As `--model` accepts it.'), description: text.nullable() })
        .meta({ id: 'listed_model', description: 'A model of a provider.' }),
    ),
  })
  .describe('The models.')

export const schemaNames = z
  .object({ schemas: z.array(z.object({ name: text, description: text })) })
  .describe('The schemas. With SCHEMA, the JSON Schema itself.')

const listedToken = {
  name: text,
  may: z.enum(SCOPES).describe('The [right](serve.md#named-tokens) of its holder.'),
  created_at: time,
}

export const addedToken = z
  .object({
    ...listedToken,
    token: text.describe('Secret. No command prints it again.'),
    link: text.describe('The page, with the token.'),
  })
  .describe('The new token.')
export const listedTokens = z
  .object({
    tokens: z.array(
      z.object(listedToken).meta({ id: 'named_token', description: 'A named token of the server.' }),
    ),
  })
  .describe('The named tokens.')
export const revokedTokens = z.object({ revoked: z.array(text) }).describe('The names of the revoked tokens.')

const fact = z.union([text, z.number(), flag, z.null(), z.array(text)])

const commandError = z.object({ code: errorCode, message: text, hint: text.nullable() }).catchall(fact).meta({
  id: 'command_error',
  description:
    'An error. It may have further fields, such as `agent_id`: strings, numbers, booleans, null or [string].',
})

export const failed = z.object({ error: commandError }).describe('An error of any command.')

const partial = z.object({
  agent: uuid,
  kind: z.literal('message.agent'),
  partial: z.literal(true),
  run_id: uuid,
  content: text,
})

/** A line of `--stream`: a record with the field `agent` first, or a part of a text. */
export const streamed = z
  .union([
    partial,
    ...records.map(({ shape, description = '' }) =>
      z.object({ agent: uuid, ...shape }).describe(description),
    ),
  ])
  .describe('A line of `--stream`. With `--json`, the last line is the result or the error.')

export type SchemaList = z.infer<typeof schemaNames>
export type ReportedFinding = z.infer<typeof finding>
export type DoctorReport = z.infer<typeof examined>
export type SelftestCheck = z.infer<typeof selftestCheck>
export type SelftestReport = z.infer<typeof selftested>
export type UnlockResult = z.infer<typeof unlocked>
export type ExportedAct = z.infer<typeof exportedAct>
export type ExportedMessage = z.infer<typeof exportedMessage>
export type Conversation = z.infer<typeof conversation>
export type ImportedAgents = z.infer<typeof imported>
export type SettingView = z.infer<typeof setting>
export type ModelList = z.infer<typeof models>
export type InstalledPlugin = z.infer<typeof installedPlugin>
export type ProviderListing = z.infer<typeof provider>
