/** Whether Claude Code has a login, as far as its files and the environment tell. Nothing is started. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { readSettings } from './settings.js'
import { claudeDirectory } from './transcript.js'

/** Keys, tokens, and services with a login of their own. */
const VARIABLES = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_BASE_URL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'CLAUDE_CODE_USE_FOUNDRY',
]

export function checkLogin(settings: ProviderSettings): void {
  const { command, args, workspace } = readSettings(settings)
  // Another program, or one with settings of its own, may have its login elsewhere.
  const isPlain = basename(command) === 'claude' && !args.some((word) => word.startsWith('--settings'))
  if (isPlain && !mayHaveLogin(workspace, process.env))
    throw failure('authentication', 'claude has no login: run claude and /login, or set ANTHROPIC_API_KEY')
}

/** True if the files do not show it. macOS keeps the login in its keychain. */
export function mayHaveLogin(
  workspace: string,
  environment: NodeJS.ProcessEnv,
  platform: string = process.platform,
): boolean {
  if (platform === 'darwin' || VARIABLES.some((name) => environment[name])) return true
  const directory = claudeDirectory(environment)
  if (existsSync(join(directory, '.credentials.json'))) return true
  const home = environment.HOME || homedir()
  const settings = [
    join(directory, 'settings.json'),
    join(workspace, '.claude/settings.json'),
    join(workspace, '.claude/settings.local.json'),
    '/etc/claude-code/managed-settings.json',
  ]
  // Settings can name a program that prints a key, or set the variables.
  return (
    settings.some((file) => /"(apiKeyHelper|env)"/.test(textOf(file))) || hasKey(join(home, '.claude.json'))
  )
}

function hasKey(file: string): boolean {
  return /"primaryApiKey"/.test(textOf(file))
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
