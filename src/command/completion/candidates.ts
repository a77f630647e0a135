/** Computes the words that can follow on a command line, for shell completion. */

import { commandIn } from '../../start/own-command.js'

/** A command as oclif.manifest.json describes it. */
export interface CommandFacts {
  summary?: string
  hidden?: boolean
  /** False: the last argument may be repeated. */
  strict?: boolean
  args: Record<string, { name: string; hidden?: boolean; description?: string; options?: string[] }>
  flags: Record<string, FlagFacts>
}

interface FlagFacts {
  name: string
  char?: string
  type: 'boolean' | 'option'
  description?: string
  hidden?: boolean
  allowNo?: boolean
  multiple?: boolean
  options?: string[]
  helpValue?: string
}

export interface Candidate {
  word: string
  description: string
}

/** Each list is a function, so that it is read only when needed. The settings include those of providers, which must load. */
export interface Sources {
  /** By id: `config:get`. */
  commands: Record<string, CommandFacts>
  agents(): Candidate[]
  providers(): Candidate[]
  settings(): Promise<Candidate[]>
  /** The values of a setting that has only a few. */
  valuesOf(setting: string): readonly string[]
  /** The installed plugins. */
  plugins(): Candidate[]
  schemas(): Candidate[]
  /** The named tokens of the server. */
  serveTokens(): Candidate[]
  /** Of that provider; without one, of the provider of a new agent. */
  models(provider: string | undefined): Promise<Candidate[]>
  /** The names and words that `--allow` accepts. */
  tools(): Promise<Candidate[]>
  /** The tools and patterns that the agent may use without approval. */
  grants(agent: string): Candidate[]
}

/** `words` is the command line after `substrat`, up to the cursor. The last one is the word to complete, often empty. */
export async function candidatesFor(words: string[], sources: Sources): Promise<Candidate[]> {
  const line = joinedAtEquals(words)
  const word = line.at(-1) ?? ''
  const found = await candidatesAt(line.slice(0, -1), word, sources)
  return found.filter((candidate) => candidate.word.startsWith(word))
}

/** bash splits `--flag=value` into three words. */
function joinedAtEquals(words: string[]): string[] {
  const line: string[] = []
  for (const word of words) {
    const before = line.at(-1) ?? ''
    const isJoined = line.length > 0 && /^--[^=]+/.test(before) && (word === '=' || before.endsWith('='))
    if (isJoined) line[line.length - 1] = before + word
    else line.push(word)
  }
  return line
}

async function candidatesAt(before: string[], word: string, sources: Sources): Promise<Candidate[]> {
  const { commands } = sources
  const { id, words: named } = commandIn(before, commands)
  if (id === undefined) return before.length > 1 ? [] : commandWords(before, commands)
  const command = commands[id] as CommandFacts
  const given = before.slice(named)
  if (given.includes('--')) return []
  const [, name, value] = /^--([^=]+)=(.*)$/.exec(word) ?? []
  if (name !== undefined && value !== undefined) {
    const flag = command.flags[name]
    const values = flag === undefined ? [] : await flagValues(flag, { command, given, value, sources })
    return values.map((found) => ({ ...found, word: `--${name}=${found.word}` }))
  }
  const open = valueFlag(command, given.at(-1))
  if (open !== undefined) return flagValues(open, { command, given, value: word, sources })
  if (word.startsWith('-')) return flagWords(command, given)
  // A command may be a topic too: `plugins` and `plugins add`, `serve` and `serve token add`.
  const words =
    id === 'serve:token:revoke' ? sources.serveTokens() : argumentWords(command, { given, word, sources })
  return [...commandWords(before, commands), ...(await words)]
}

/** Names of commands; after a topic (`config`) the second words of its commands. */
function commandWords(before: string[], commands: Sources['commands']): Candidate[] {
  const found = new Map<string, string>()
  for (const [id, { summary = '', hidden }] of Object.entries(commands)) {
    const words = id.split(':')
    if (hidden === true || before.some((name, at) => words[at] !== name)) continue
    const word = words[before.length]
    if (word !== undefined) found.set(word, words.length > before.length + 1 ? `${word} commands` : summary)
  }
  return [...found].map(([word, description]) => ({ word, description }))
}

/** The flag whose value the next word is. */
function valueFlag({ flags }: CommandFacts, word: string | undefined): FlagFacts | undefined {
  return word?.startsWith('-') !== true || word.includes('=')
    ? undefined
    : Object.values(flags).find(
        ({ name, char, type }) => type === 'option' && (word === `--${name}` || word === `-${char}`),
      )
}

interface ValueSite {
  command: CommandFacts
  /** The words between the command and the value. */
  given: string[]
  /** The value as far as it is typed. */
  value: string
  sources: Sources
}

function flagValues(
  { name, options, helpValue }: FlagFacts,
  { command, given, value, sources }: ValueSite,
): Candidate[] | Promise<Candidate[]> {
  if (options !== undefined) return options.map((word) => ({ word, description: '' }))
  if (helpValue === 'AGENT' || AGENT_FLAGS.includes(name)) return sources.agents()
  if (name === 'allow') return listValues(value, sources.tools())
  if (name === 'disallow') return grantsOf(command, given, sources)
  if (name === 'model') return sources.models(givenValue('provider', 'p', given))
  if (name === 'context') return CONTEXTS
  return name === 'provider' ? sources.providers() : []
}

function grantsOf(command: CommandFacts, given: string[], sources: Sources): Candidate[] {
  const [agent] = positionsOf(command, given)
  return agent === undefined ? [] : sources.grants(agent).filter(({ word }) => !given.includes(word))
}

const CONTEXTS: Candidate[] = [
  { word: 'all', description: 'a turn begins with the whole conversation' },
  { word: 'turn', description: 'a turn begins without the earlier conversation' },
  { word: 'last:1', description: 'a turn begins with the turn before it; or another number' },
]

const AGENT_FLAGS = ['from', 'parent', 'agent']

/** The next entry of a list with commas, behind the entries that it has. */
async function listValues(value: string, entries: Promise<Candidate[]>): Promise<Candidate[]> {
  const before = value.slice(0, value.lastIndexOf(',') + 1)
  const has = before.split(',')
  return (await entries)
    .filter(({ word }) => !has.includes(word))
    .map(({ word, description }) => ({ word: before + word, description }))
}

/** The value that the line gives to a flag. */
function givenValue(name: string, char: string, given: string[]): string | undefined {
  const joined = given.find((word) => word.startsWith(`--${name}=`))
  if (joined !== undefined) return joined.slice(name.length + 3)
  const at = given.findIndex((word) => word === `--${name}` || word === `-${char}`)
  return at < 0 ? undefined : given[at + 1]
}

/** Flags that the line does not have yet. */
function flagWords({ flags }: CommandFacts, given: string[]): Candidate[] {
  const isGiven = ({ name, char }: FlagFacts): boolean =>
    given.some(
      (word) => word === `-${char}` || [`--${name}`, `--no-${name}`].includes(word.split('=')[0] ?? ''),
    )
  return Object.values(flags)
    .filter((flag) => flag.hidden !== true && (flag.multiple === true || !isGiven(flag)))
    .flatMap(({ name, allowNo, description = '' }) => [
      { word: `--${name}`, description },
      ...(allowNo === true ? [{ word: `--no-${name}`, description: '' }] : []),
    ])
}

function argumentWords(
  command: CommandFacts,
  { given, word, sources }: { given: string[]; word: string; sources: Sources },
): Candidate[] | Promise<Candidate[]> {
  const args = Object.values(command.args).filter(({ hidden }) => hidden !== true)
  const at = positionsOf(command, given).length
  const arg = args[at] ?? (command.strict === false ? args.at(-1) : undefined)
  if (arg?.options !== undefined) return arg.options.map((word) => ({ word, description: '' }))
  if (arg?.name === 'agent') return sources.agents().filter(({ word }) => !given.includes(word))
  if (arg?.name === 'provider') return sources.providers()
  if (arg?.name === 'plugin') return sources.plugins().filter(({ word }) => !given.includes(word))
  if (arg?.name === 'schema') return sources.schemas()
  if (arg?.name === 'value') return settingValues(given.at(-1) ?? '', word, sources)
  return arg?.name === 'key' ? sources.settings() : []
}

function settingValues(key: string, value: string, sources: Sources): Candidate[] | Promise<Candidate[]> {
  if (key === 'provider') return sources.providers()
  if (key === 'context') return CONTEXTS
  if (key === 'allow') return listValues(value, sources.tools())
  const words = sources.valuesOf(key)
  if (words.length > 0) return words.map((word) => ({ word, description: '' }))
  const [, provider] = /^(?:(.+)\.)?model$/.exec(key) ?? ['', null]
  return provider === null ? [] : sources.models(provider)
}

/** The arguments that the line has already. */
function positionsOf(command: CommandFacts, given: string[]): string[] {
  return given.filter((word, at) => !word.startsWith('-') && valueFlag(command, given[at - 1]) === undefined)
}
