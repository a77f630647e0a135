/** Builds the command line of a turn. */
import type { LaunchCommand, McpStdioServer, ProviderSettings } from 'substrat/provider'
import { directLaunch } from './native.js'
import type { Sandbox, Settings } from './settings.js'

export interface TurnCommand {
  settings: ProviderSettings
  own: Settings
  /** Null for the first turn. */
  threadId: string | null
  allow: string[]
  tools: McpStdioServer | null
}

/** Tools that allow codex to write. Its sandbox has no finer control. */
const WRITING = ['all', 'shell', 'write_file', 'edit_file']
/** Linux limits an argument to 128 KiB. */
const ARGUMENT_BYTES_MAX = 120_000
const STARTUP_SECONDS = 60
/** Longer than any turn: a tool can wait for another agent, and substrat applies its own limits. */
const TOOL_SECONDS = 7 * 24 * 3600

/**
 * The shell prints its process id, which is also its group's, and then becomes codex. The provider can then send
 * SIGINT, as Ctrl-C does.
 */
const ANNOUNCED = 'printf \'{"type":"process","pid":%s}\\n\' "$$"; exec "$@"'

export function commandOf({ settings, own, threadId, allow, tools }: TurnCommand): LaunchCommand {
  const instructions = threadId === null ? instructionsArgument(settings) : undefined
  const config = [
    ...own.config,
    ...(instructions === undefined ? [] : [instructions]),
    ...(tools === null ? [] : toolServer(tools)),
    'approval_policy="never"',
  ]
  const words = [
    'exec',
    '--json',
    '--skip-git-repo-check',
    ...['--sandbox', own.sandbox ?? sandboxFor(allow)],
    ...['--cd', settings.workspace],
    ...(settings.model === null ? [] : ['--model', settings.model]),
    ...config.flatMap((value) => ['-c', value]),
    ...own.args,
    // Flags of `exec` must precede `resume`.
    ...(threadId === null ? [] : ['resume', threadId]),
    '-',
  ]
  const { command, env } = directLaunch(own.command, settings.workspace, process.env)
  return {
    argv: ['/bin/sh', '-c', ANNOUNCED, 'sh', ...command, ...words],
    cwd: settings.workspace,
    env: { ...env, ...tools?.env },
  }
}

/**
 * Puts the instructions before the first prompt if they are too long for an argument. A thread keeps its
 * instructions.
 */
export function promptOf(prompt: string, settings: ProviderSettings, threadId: string | null): string {
  const { instructions } = settings
  if (threadId !== null || instructions === null || instructions.trim() === '') return prompt
  if (instructionsArgument(settings) !== undefined) return prompt
  return `<instructions>\n${instructions}\n</instructions>\n\n${prompt}`
}

function instructionsArgument({ instructions }: ProviderSettings): string | undefined {
  if (instructions === null || instructions.trim() === '') return undefined
  const argument = `developer_instructions=${toml(instructions)}`
  return Buffer.byteLength(argument) <= ARGUMENT_BYTES_MAX ? argument : undefined
}

function sandboxFor(allow: string[]): Sandbox {
  const allowed = new Set(allow)
  return WRITING.some((tool) => allowed.has(tool)) ? 'workspace-write' : 'read-only'
}

/**
 * The variables of the tool server go through the environment, because every user of the machine can read arguments.
 * Codex must approve the calls without asking, because it would refuse them otherwise. substrat decides about them
 * itself.
 */
function toolServer({ name, command, args, env }: McpStdioServer): string[] {
  const values = {
    command: toml(command),
    args: `[${args.map(toml).join(',')}]`,
    env_vars: `[${Object.keys(env).map(toml).join(',')}]`,
    default_tools_approval_mode: '"approve"',
    // A missing tool server fails the turn at once. Otherwise the agent would work without the tools in its
    // instructions.
    required: 'true',
    startup_timeout_sec: String(STARTUP_SECONDS),
    tool_timeout_sec: String(TOOL_SECONDS),
  }
  return Object.entries(values).map(([key, value]) => `mcp_servers.${name}.${key}=${value}`)
}

/** A TOML string. JSON escapes are valid TOML, except that TOML forbids a bare DEL and unpaired surrogates. */
function toml(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd')).replaceAll('\u007f', '\\u007f')
}
