/** Whether codex has a login, as far as its files and the environment tell. Nothing is started. */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { readSettings } from './settings.js'

const VARIABLES = ['OPENAI_API_KEY', 'CODEX_API_KEY', 'CODEX_ACCESS_TOKEN']
/** With these, the login is elsewhere: another service, a local model, the keyring. */
const ELSEWHERE = /model_provider|auth_credentials_store|profile|--oss|--local-provider|^-p$/m

export function checkLogin(settings: ProviderSettings): void {
  const { command, args, config } = readSettings(settings)
  const [program] = command
  // Another program, such as npx, may have its login elsewhere.
  const isPlain = basename(program) === 'codex' && !ELSEWHERE.test([...args, ...config].join('\n'))
  if (isPlain && !mayHaveLogin(process.env))
    throw failure('authentication', 'codex has no login: run codex login, or set CODEX_API_KEY')
}

/** True if the files do not show it. */
export function mayHaveLogin(environment: NodeJS.ProcessEnv): boolean {
  if (VARIABLES.some((name) => environment[name])) return true
  const directory = environment.CODEX_HOME || join(environment.HOME || homedir(), '.codex')
  if (existsSync(join(directory, 'auth.json'))) return true
  try {
    return ELSEWHERE.test(readFileSync(join(directory, 'config.toml'), 'utf8'))
  } catch {
    return false
  }
}
