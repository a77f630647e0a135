/** Lets a person change a text in their own editor. */
import { SubstratError } from '../errors.js'
import { ProgramFiles } from '../files/program-files.js'
import { readUserFile } from '../files/user-files.js'
import { edit } from '../host/editor.js'

/** $VISUAL or $EDITOR. Throws USAGE if neither is set. `command`: the command that needs it. */
export function editorCommand(command: string, otherwise: string): string {
  const editor = process.env.VISUAL || process.env.EDITOR
  if (editor !== undefined && editor !== '') return editor
  throw new SubstratError('USAGE', 'neither VISUAL nor EDITOR names an editor', {
    hint: `name one: EDITOR=vi ${command}; or ${otherwise}`,
  })
}

/** The text that the editor leaves. The file is removed; a killed command leaves it for the next one. */
export async function editText(name: string, text: string): Promise<string> {
  const editor = editorCommand('substrat approve AGENT', 'answer yes or no')
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
