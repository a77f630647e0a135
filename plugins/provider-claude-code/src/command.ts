/** Builds the command that starts claude for a turn. */
import type { LaunchCommand } from 'substrat/provider'
import type { ClaudeSettings } from './settings.js'

interface TurnCommand {
  sessionId: string
  /** Resume an existing transcript. */
  resumes: boolean
  /** The limit of the turn in dollars. */
  budgetUsd: number | undefined
  /** The name of the server that offers substrat's tools. */
  server: string | undefined
  /** Writes a file for claude to read at its start, and returns its path. */
  write(name: string, text: string): string
}

export function commandOf(
  settings: ClaudeSettings,
  { sessionId, resumes, budgetUsd, server, write }: TurnCommand,
): LaunchCommand {
  const { command, model, instructions, permissionMode, args, workspace } = settings
  const argv: [string, ...string[]] = [
    command,
    '-p',
    // Permission requests and interrupts go over stdin and stdout.
    ...['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...['--include-partial-messages', '--permission-prompt-tool', 'stdio'],
    ...(resumes ? ['--resume', sessionId] : ['--session-id', sessionId]),
    ...(model === null ? [] : ['--model', model]),
    ...(budgetUsd === undefined || hasOwnBudget(args) ? [] : ['--max-budget-usd', String(budgetUsd)]),
    ...(permissionMode === undefined ? [] : ['--permission-mode', permissionMode]),
    // A file, because every user of the machine can read arguments, and Linux limits each to 128 KiB.
    ...(instructions === null ? [] : ['--append-system-prompt-file', write('instructions.md', instructions)]),
    // Claude must not ask about substrat's tools: substrat does.
    ...(server === undefined ? [] : [...['--strict-mcp-config', '--allowedTools', `mcp__${server}`]]),
    ...args,
  ]
  return { argv, cwd: workspace }
}

/** The user's own limit stays. */
function hasOwnBudget(args: string[]): boolean {
  return args.some((word) => word.split('=')[0] === '--max-budget-usd')
}
