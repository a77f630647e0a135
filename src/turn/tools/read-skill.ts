/** `read_skill`: the text of a skill that the prompt lists. `read_file` cannot reach the skills in the home. */
import { limits } from '../../limits.js'
import { findSkill } from '../prompt/prompt.js'
import { type Tool, textField } from './tool.js'

export const readSkill: Tool = {
  name: 'read_skill',
  description: 'Returns the whole text of a skill that your instructions list.',
  input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  kind: 'reads',
  async run(input, { workspace, home }) {
    const name = textField(input, 'name')
    const text = findSkill({ workspace, home }, name, limits.toolOutputBytesMax)
    if (text === undefined) throw new Error(`there is no skill ${name}`)
    return text
  },
}
