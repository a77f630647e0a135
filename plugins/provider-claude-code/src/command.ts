/** How claude is started for a turn. */
import type { LaunchCommand, McpStdioServer } from 'substrat/provider'
import type { ClaudeSettings } from './settings.js'

interface TurnCommand {
  sessionId: string
  /** There is a transcript to go on with. */
  resumes: boolean
  /** The server of substrat's tools, and the file that says how it is started. */
  tools: { server: McpStdioServer; file: string } | undefined
}

export function commandOf(
  settings: ClaudeSettings,
  { sessionId, resumes, tools }: TurnCommand,
): LaunchCommand {
  const { command, model, instructions, permissionMode, args, workspace } = settings
  const argv: [string, ...string[]] = [
    command,
    '-p',
    // Permissions are asked for over stdin and stdout, and so an interrupt is said.
    ...['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...['--include-partial-messages', '--permission-prompt-tool', 'stdio'],
    ...(resumes ? ['--resume', sessionId] : ['--session-id', sessionId]),
    ...(model === null ? [] : ['--model', model]),
    ...(permissionMode === undefined ? [] : ['--permission-mode', permissionMode]),
    ...(instructions === null ? [] : ['--append-system-prompt', instructions]),
    // substrat asks about its own tools itself.
    ...(tools === undefined
      ? []
      : ['--mcp-config', tools.file, '--strict-mcp-config', '--allowedTools', `mcp__${tools.server.name}`]),
    ...args,
  ]
  return { argv, cwd: workspace }
}

/** What the file of `--mcp-config` has. */
export function mcpConfig({ name, command, args, env }: McpStdioServer): string {
  return JSON.stringify({ mcpServers: { [name]: { type: 'stdio', command, args, env } } })
}
