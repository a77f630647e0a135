/** How claude is started for a turn. */
import type { LaunchCommand, McpStdioServer } from 'substrat/provider'
import type { ClaudeSettings } from './settings.js'

/** Else claude begins without the tools of a server that takes more than a moment to start, as on a busy machine. */
const SERVER_ENVIRONMENT: Record<string, string> = {
  MCP_CONNECTION_NONBLOCKING: '0',
  MCP_CONNECT_TIMEOUT_MS: '30000',
}

interface TurnCommand {
  sessionId: string
  /** There is a transcript to go on with. */
  resumes: boolean
  /** The server of substrat's tools. */
  server: McpStdioServer | undefined
  /** Writes a file that only claude reads, at its start; its path. */
  write(name: string, text: string): string
}

export function commandOf(
  settings: ClaudeSettings,
  { sessionId, resumes, server, write }: TurnCommand,
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
    // Arguments are read by every user of the machine, and Linux takes none that is longer than 128 KiB.
    ...(instructions === null ? [] : ['--append-system-prompt-file', write('instructions.md', instructions)]),
    // substrat asks about its own tools itself.
    ...(server === undefined
      ? []
      : [
          ...['--mcp-config', write('tools.json', mcpConfig(server)), '--strict-mcp-config'],
          ...['--allowedTools', `mcp__${server.name}`],
        ]),
    ...args,
  ]
  const env = server === undefined ? {} : SERVER_ENVIRONMENT
  return { argv, env, cwd: workspace }
}

/** What the file of `--mcp-config` has. */
function mcpConfig({ name, command, args, env }: McpStdioServer): string {
  return JSON.stringify({ mcpServers: { [name]: { type: 'stdio', command, args, env } } })
}
