/** `ask_operator`: a question to the person. It never runs: the run is parked, and the answer becomes its result. */
import type { Tool } from './tool.js'

export const askOperator: Tool = {
  name: 'ask_operator',
  description:
    'Asks the person a question and waits for the answer, which may take days. Use it only if you cannot continue without the answer.',
  input_schema: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'The question, with everything needed to answer it.' },
    },
    required: ['question'],
  },
  kind: 'ask',
  run: () => Promise.reject(new Error('ask_operator never runs: a person answers it')),
}
