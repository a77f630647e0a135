/** The options of this provider. */
import type { ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { wordsOf } from '../../shared/src/program/words.js'

const PERMISSION_MODES = ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions']

export const OPTIONS = {
  command: 'the program, by its name or its path; default: claude',
  permission_mode: `what it may do without being asked about: ${PERMISSION_MODES.join(', ')}`,
  args: "more arguments for it, as in a shell: '--add-dir ../lib --effort high'",
}

/** Without these a turn is not understood, or is another session's. */
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
    throw failure('misconfigured', 'the option command is empty: leave it out, or name the program')
  if (permissionMode !== undefined && !PERMISSION_MODES.includes(permissionMode)) {
    const modes = PERMISSION_MODES.join(', ')
    throw failure(
      'misconfigured',
      `there is no permission_mode ${JSON.stringify(permissionMode)}; there are ${modes}`,
    )
  }
  const words = wordsOf('args', args)
  const ours = words.find((word) => OURS.includes(word.split('=')[0] as string))
  if (ours !== undefined) {
    throw failure('misconfigured', `the option args has ${ours}, which this provider gives itself`)
  }
  return { ...settings, command, permissionMode, args: words }
}
