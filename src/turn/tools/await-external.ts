/**
 * `await_external`: waits for a result that a person or a program elsewhere will give (`resume --result`). It changes nothing,
 * so it runs again after a crash. Its caller parks the run.
 *
 * Only models get it. The call of an agent program must be answered while the program runs, so its turn cannot be parked there.
 */
import { optionalSeconds, type Tool, textField } from './tool.js'

export const awaitExternal: Tool = {
  name: 'await_external',
  description:
    'Waits for the result of work that is done elsewhere, such as a build, a delivery or an answer by e-mail. The turn is paused, perhaps for days, until the result is given from outside. It becomes the result of this call. Start or announce the work before or with this call.',
  input_schema: {
    type: 'object',
    properties: {
      what: {
        type: 'string',
        description: 'The awaited result, with everything that the giver of the result must know.',
      },
      deadline_seconds: {
        type: 'number',
        description: 'How long to wait. After that the turn is interrupted. Default: the limit of the user.',
      },
    },
    required: ['what'],
  },
  kind: 'reads',
  async run(input) {
    const content = textField(input, 'what')
    return { content, deferred: { deadline_ms: optionalSeconds(input, 'deadline_seconds') } }
  },
}
