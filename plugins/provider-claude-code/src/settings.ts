/** Reads and checks the options. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { wordsOf } from '../../shared/src/program/words.js'

const PERMISSION_MODES = ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions']

export const OPTIONS = {
  command: 'name or path of the program (claude)',
  permission_mode: `claude's permission mode: ${PERMISSION_MODES.join(', ')}`,
  args: "more arguments for claude, quoted as in a shell: '--add-dir ../lib --effort high'",
}

/** Arguments that would change the session or its output format. */
const OURS = [
  '-p',
  '--print',
  '--output-format',
  '--input-format',
  '--permission-prompt-tool',
  '--session-id',
  '-r',
  '--resume',
  '-c',
  '--continue',
  '--fork-session',
  '--no-session-persistence',
  '--replay-user-messages',
  '--bg',
  '--background',
]

export interface ClaudeSettings extends ProviderSettings {
  command: string
  permissionMode: string | undefined
  args: string[]
}

/** Throws a failure of type `misconfigured`. */
export function readSettings(settings: ProviderSettings): ClaudeSettings {
  const { command = 'claude', permission_mode: permissionMode, args = '' } = settings.options
  if (command.trim() === '')
    throw failure('misconfigured', 'the option command is empty; omit it, or name the program')
  if (permissionMode !== undefined && !PERMISSION_MODES.includes(permissionMode)) {
    const modes = PERMISSION_MODES.join(', ')
    throw failure(
      'misconfigured',
      `the option permission_mode must be one of ${modes}, not ${JSON.stringify(permissionMode)}`,
    )
  }
  const words = wordsOf('args', args)
  const ours = words.find((word) => OURS.includes(word.split('=')[0] as string))
  if (ours !== undefined) {
    throw failure('misconfigured', `the option args must not contain ${ours}: the provider sets it itself`)
  }
  return { ...settings, command, permissionMode, args: words }
}
