/** The command line of a turn. */
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

/** Any of them lets codex write: it knows no finer grain than its sandbox. */
const WRITING = ['all', 'shell', 'write_file', 'edit_file']
/** More than one argument may have on Linux is 128 KiB. */
const ARGUMENT_BYTES_MAX = 120_000
const STARTUP_SECONDS = 60
/** Longer than any turn: a tool may wait for another agent, and it is substrat's clock that counts. */
const TOOL_SECONDS = 7 * 24 * 3600

/** It says its process id, which is its group's too, in a line of the stream: so it can be interrupted, as by Ctrl-C. */
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
    // What follows `resume` is not read as the flags of `exec` are.
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

/** Of a new thread, which keeps its instructions. Those that are no argument of a command are put before the prompt. */
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
 * Its variables go through the environment, not through arguments, which every user of the machine may read. Its calls
 * need no approval of codex's, which would refuse them: substrat decides about them itself.
 */
function toolServer({ name, command, args, env }: McpStdioServer): string[] {
  const values = {
    command: toml(command),
    args: `[${args.map(toml).join(',')}]`,
    env_vars: `[${Object.keys(env).map(toml).join(',')}]`,
    default_tools_approval_mode: '"approve"',
    // Without its tools an agent that was told of them goes wrong; a turn that fails at once says why.
    required: 'true',
    startup_timeout_sec: String(STARTUP_SECONDS),
    tool_timeout_sec: String(TOOL_SECONDS),
  }
  return Object.entries(values).map(([key, value]) => `mcp_servers.${name}.${key}=${value}`)
}

/** A string of TOML. What JSON escapes TOML reads so too; it takes neither a bare DEL nor half of a surrogate pair. */
function toml(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd')).replaceAll('\u007f', '\\u007f')
}
