/** Lets a person change a text in their own editor. */
import { SubstratError } from '../errors.js'
import { ProgramFiles } from '../files/program-files.js'
import { readUserFile } from '../files/user-files.js'
import { commonEditor, edit } from '../host/editor.js'
import { canAsk } from './prompt.js'

/** $VISUAL, $EDITOR or, for a person at a terminal, an editor that this system has. */
export function foundEditor(): string | undefined {
  return process.env.VISUAL || process.env.EDITOR || (canAsk() ? commonEditor() : undefined)
}

/** The same. Throws USAGE without one. `command`: the command that needs it. */
export function editorCommand(command: string, otherwise: string): string {
  const editor = foundEditor()
  if (editor !== undefined) return editor
  throw new SubstratError('USAGE', 'neither VISUAL nor EDITOR names an editor', {
    hint: `name one: EDITOR=vi ${command}; or ${otherwise}`,
  })
}

/** The text that the editor leaves. The file is removed; a killed command leaves it for the next one. */
export async function editText(editor: string, name: string, text: string): Promise<string> {
  const files = new ProgramFiles()
  try {
    files.sweep(name)
    const { path } = files.write(name, text)
    await edit(editor, path, 'substrat approve AGENT')
    return readUserFile(path)
  } finally {
    files.close()
  }
}
