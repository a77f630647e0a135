/**
 * The options of a message, which it asks of its turn. From a row come the flag of the CLI, the field of HTTP and MCP, and the field
 * in mail, in `run.started` and in the snapshot. Programs load this module; it must stay free of zod.
 */

interface Option {
  /**
   * `text` is one line. `duration` is milliseconds, and in words a number with its unit. `tools` are entries of `--allow`. A `switch`
   * is true or absent, so that states and snapshots without it stay as they are.
   */
  type: 'text' | 'duration' | 'count' | 'tools' | 'switch'
  /** Its flag; in HTTP and MCP the same with underscores. Undefined: no person sets it in this way. */
  flag?: string
  help?: string
  /** Whether only a person may set it. */
  isDecision?: true
  /** Its description in docs/format.md. */
  about?: string
}

export const MESSAGE_OPTIONS = {
  key: { type: 'text', about: "The message's key (`--key`)." },
  digest: {
    type: 'text',
    about: "The SHA-256 of the message's bytes. A repeated key with another message is refused.",
  },
  turn_timeout_ms: {
    type: 'duration',
    flag: 'turn-timeout',
    help: 'wall-clock limit for the turn; default: the turn_timeout setting',
  },
  allow: {
    type: 'tools',
    flag: 'allow',
    help: 'tools that run without approval (write_file,shell(npm test*) or all); default: the allow setting',
    isDecision: true,
  },
  steps_max: {
    type: 'count',
    flag: 'max-steps',
    help: 'fail the turn after N model requests; default: 200',
    about: 'Limit of model requests (`--max-steps`). Default: 200.',
  },
  fresh: {
    type: 'switch',
    flag: 'fresh',
    help: 'begin a new conversation with this message; the agent does not see the earlier one',
    about:
      'The conversation begins at this run (`--fresh`, or `turn` of `context`). With `continues`, at the first run of that turn.',
  },
} as const satisfies Record<string, Option>

interface Values {
  text: string | null
  duration: number | null
  count: number | null
  tools: string[]
  switch: boolean
}

type Rows = typeof MESSAGE_OPTIONS
export type OptionName = keyof Rows
/** The options that a person or a client can set. */
export type SettableName = { [N in OptionName]: Rows[N] extends { flag: string } ? N : never }[OptionName]

type SwitchName = { [N in OptionName]: Rows[N]['type'] extends 'switch' ? N : never }[OptionName]

/** Each option has a value, except that a switch may be absent. Null, or an empty list, asks for nothing. */
export type MessageOptions = {
  -readonly [N in Exclude<OptionName, SwitchName>]: Values[Rows[N]['type']]
} & { -readonly [N in SwitchName]?: boolean | undefined }

/** The options that a record, a stored message or a caller names. */
export type NamedOptions = { [N in OptionName]?: MessageOptions[N] | undefined }

const NAMES = Object.keys(MESSAGE_OPTIONS) as OptionName[]

export function messageOptions(named: NamedOptions = {}): MessageOptions {
  const value = (name: OptionName): unknown =>
    named[name] ?? (MESSAGE_OPTIONS[name].type === 'tools' ? [] : null)
  const stated = NAMES.filter((name) => MESSAGE_OPTIONS[name].type !== 'switch' || named[name] === true)
  return Object.fromEntries(stated.map((name) => [name, value(name)])) as MessageOptions
}

export type AskedOptions = { [N in OptionName]?: NonNullable<MessageOptions[N]> }

/** Only the options that ask for something, as a record or a message has them. */
export function askedOptions(options: NamedOptions): AskedOptions {
  const asked = NAMES.flatMap((name) => {
    const value = options[name]
    return value === undefined ||
      value === null ||
      value === false ||
      (Array.isArray(value) && value.length === 0)
      ? []
      : [[name, value]]
  })
  return Object.fromEntries(asked)
}

/** Their rows. */
export function rowsWithFlag(): [OptionName, Required<Pick<Option, 'type' | 'flag' | 'help'>> & Option][] {
  return Object.entries(MESSAGE_OPTIONS).flatMap(([name, row]) =>
    'flag' in row ? [[name as OptionName, row]] : [],
  )
}

/** Whether the message asks for something that must not apply to other messages of its turn. */
export function hasOwnOptions(options: NamedOptions): boolean {
  const { key: _key, digest: _digest, ...own } = askedOptions(options)
  return Object.keys(own).length > 0
}
