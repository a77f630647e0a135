/** `read_file`, `write_file`, `edit_file`. Each path must resolve, through any symlinks, to a file in the workspace. */

import { readWorkspaceFile, writeWorkspaceFile } from '../../files/workspace.js'
import { limits } from '../../limits.js'
import { type Tool, textField } from './tool.js'

const path = { type: 'string', description: 'Path of the file, relative to the workspace.' }

export const readFile: Tool = {
  name: 'read_file',
  description: 'Gives the text of a file in the workspace.',
  input_schema: { type: 'object', properties: { path }, required: ['path'] },
  kind: 'reads',
  async run(input, { workspace }) {
    return readWorkspaceFile(workspace, textField(input, 'path'), limits.toolOutputBytesMax)
  },
}

export const writeFile: Tool = {
  name: 'write_file',
  description: 'Writes a file in the workspace, whole, and the directories above it.',
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
  description:
    'Replaces a piece of text in a file of the workspace. The old text must be in the file exactly once.',
  input_schema: {
    type: 'object',
    properties: {
      path,
      old_text: { type: 'string', description: 'The text to replace, exactly as it stands.' },
      new_text: { type: 'string', description: 'What takes its place.' },
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
    if (!Buffer.from(before).equals(bytes)) throw new Error(`${file} is no text in UTF-8`)
    const at = before.indexOf(oldText)
    if (oldText === '' || at === -1) throw new Error('the old text is not in the file')
    if (before.indexOf(oldText, at + 1) !== -1)
      throw new Error('the old text is in the file more than once: give more of it')
    writeWorkspaceFile(workspace, file, before.slice(0, at) + newText + before.slice(at + oldText.length))
    return 'edited'
  },
}
