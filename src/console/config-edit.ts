/** `config edit`: the user's editor works on a copy of config.json, and only a valid text replaces the file. */
import { SubstratError, shellWord } from '../errors.js'
import { ProgramFiles } from '../files/program-files.js'
import { readUserFile } from '../files/user-files.js'
import { edit } from '../host/editor.js'
import { changeConfig } from '../operations/change-config.js'
import { checkAllowSetting } from '../operations/check-allow-setting.js'
import type { ProviderRegistry } from '../provider/registry.js'
import { configPath, configValues } from '../settings/config-text.js'
import { lineOfField } from '../settings/json-lines.js'
import { checkKey, Settings } from '../settings/settings.js'
import type { Store } from '../storage/store.js'
import { editorCommand } from './edit-text.js'
import { errorLine } from './output.js'
import { canAsk, choose } from './prompt.js'
import { stderr } from './stdio.js'

const COMMAND = 'substrat config edit'
const EMPTY = '{}\n'

/** Returns whether the file was changed. Throws CONFIG_INVALID for a text that is not saved; the edited copy then stays. */
export async function editConfig(store: Store, providers: ProviderRegistry): Promise<boolean> {
  const editor = editorCommand(COMMAND, 'change one setting: substrat config set KEY VALUE')
  const before = textOf(store)
  const files = new ProgramFiles()
  const { path } = files.write('config.json', before ?? EMPTY)
  for (;;) {
    await edit(editor, path, COMMAND)
    const text = readUserFile(path)
    if (text === (before ?? EMPTY)) {
      files.close()
      return false
    }
    const why = await whyInvalid(text, store, providers)
    if (why === undefined) {
      await save(store, before, text, path)
      files.close()
      return true
    }
    const error = notSavedError(why, path)
    if (!canAsk()) throw error
    stderr.line(errorLine(error))
    if ((await choose('edit it again? [y/n] ', ['yes', 'no'])) !== 'yes') throw error
  }
}

/** The error of the first setting that is wrong, with its line. Undefined for a valid text. */
async function whyInvalid(
  text: string,
  store: Store,
  providers: ProviderRegistry,
): Promise<string | undefined> {
  let key: string | undefined
  try {
    const values = configValues(text, 'the edited text')
    for (key of Object.keys(values)) await checkKey(key, providers)
    key = 'provider'
    if (values.provider !== undefined) providers.checkName(values.provider)
    key = 'allow'
    const allow = Settings.of(values).allowSetting(values.allow ?? null)
    const note = await checkAllowSetting(store, providers, allow)
    if (note !== undefined) stderr.line(`substrat: ${note}`)
    return undefined
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    // The checks of configValues name the line themselves.
    return key === undefined
      ? error.message
      : `the edited text is invalid: line ${lineOfField(text, key)}: ${error.message}`
  }
}

async function save(store: Store, before: string | undefined, text: string, copy: string): Promise<void> {
  await changeConfig(store, COMMAND, () => {
    if (textOf(store) === before) return text
    throw notSavedError(`another command changed ${configPath(store)} meanwhile`, copy)
  })
}

function textOf(store: Store): string | undefined {
  return store.readConfig()?.toString('utf8')
}

function notSavedError(why: string, copy: string): SubstratError {
  return new SubstratError(
    'CONFIG_INVALID',
    `${why}; the settings are unchanged, and your text is in ${copy}`,
    {
      hint: `correct it there, then: EDITOR=${shellWord(`cp ${shellWord(copy)}`)} ${COMMAND}`,
      facts: { copy },
    },
  )
}
