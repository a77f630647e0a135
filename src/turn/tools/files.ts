/** `read_file`, `write_file`, `edit_file`. Each path must resolve, through any symlinks, to a file in the workspace. */

import { readWorkspaceFile, writeWorkspaceFile } from '../../files/workspace.js'
import { limits } from '../../limits.js'
import { type Tool, textField } from './tool.js'

const path = { type: 'string', description: 'Path of the file, relative to the workspace.' }

export const readFile: Tool = {
  name: 'read_file',
  description: 'Returns the text of a file in the workspace.',
  input_schema: { type: 'object', properties: { path }, required: ['path'] },
  kind: 'reads',
  async run(input, { workspace }) {
    return readWorkspaceFile(workspace, textField(input, 'path'), limits.toolOutputBytesMax)
  },
}

export const writeFile: Tool = {
  name: 'write_file',
  description: 'Writes a whole file in the workspace, and creates missing parent directories.',
  input_schema: {
    type: 'object',
    properties: { path, content: { type: 'string', description: 'The whole new text of the file.' } },
    required: ['path', 'content'],
  },
  kind: 'changes',
  async run(input, { workspace }) {
    const content = textField(input, 'content')
    writeWorkspaceFile(workspace, textField(input, 'path'), content)
    return `wrote ${Buffer.byteLength(content)} bytes`
  },
}

export const editFile: Tool = {
  name: 'edit_file',
  description: 'Replaces text in a file of the workspace. The old text must occur in the file exactly once.',
  input_schema: {
    type: 'object',
    properties: {
      path,
      old_text: { type: 'string', description: 'The text to replace, exactly as it is in the file.' },
      new_text: { type: 'string', description: 'The replacement.' },
    },
    required: ['path', 'old_text', 'new_text'],
  },
  kind: 'changes',
  async run(input, { workspace }) {
    const file = textField(input, 'path')
    const [oldText, newText] = [textField(input, 'old_text'), textField(input, 'new_text')]
    const bytes = readWorkspaceFile(workspace, file, limits.toolOutputBytesMax)
    const before = bytes.toString('utf8')
    // Bytes that are not UTF-8 would be written back changed outside of the edit.
    if (!Buffer.from(before).equals(bytes)) throw new Error(`${file} is not UTF-8 text`)
    const at = before.indexOf(oldText)
    if (oldText === '' || at === -1) throw new Error('the old text is not in the file')
    if (before.indexOf(oldText, at + 1) !== -1)
      throw new Error('the old text is in the file more than once: include more of the text around it')
    writeWorkspaceFile(workspace, file, before.slice(0, at) + newText + before.slice(at + oldText.length))
    return 'edited'
  },
}
