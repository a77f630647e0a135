/**
 * A person's decision as a prompt. The turn that asked was cancelled, so for the agent the call has failed: it has to be
 * told that it may make it after all.
 */
import type { WaitAnswer } from 'substrat/provider'

export function answerPrompt({ decision, text, asks }: WaitAnswer): string {
  const calls = asks.map(({ tool, input }) => `- ${tool} ${JSON.stringify(input)}`).join('\n')
  const said = text.trim()
  switch (decision) {
    case 'approve':
      return [
        `The person whom you asked has granted permission for this:\n${calls}`,
        'It was held back and has not run. Do it now, exactly as it is above, and then go on with your task.',
        ...(said === '' ? [] : [`The person says: ${said}`]),
      ].join('\n\n')
    case 'deny':
      return [
        `The person whom you asked has denied permission for this:\n${calls}`,
        'It has not run. Do not try it again, and do not do the same in another way: go on without it.',
        ...(said === '' ? [] : [`The person says: ${said}`]),
      ].join('\n\n')
    case 'input':
      return said
  }
}
