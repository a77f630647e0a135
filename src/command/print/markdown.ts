import { readableTime } from '../../clock.js'
import type { Conversation } from '../../operations/export.js'

export function toMarkdown({ agent, instructions, messages }: Conversation): string {
  const head = [
    `# ${agent.path}`,
    '',
    `Agent ${agent.id}, provider ${agent.provider}${agent.model === null ? '' : `, model ${agent.model}`}.`,
  ]
  const system = instructions === null ? [] : ['', '## Instructions', '', instructions]
  const body = messages.flatMap(({ role, from, at, content }) => {
    const who = role === 'assistant' ? 'Agent' : from === 'operator' ? 'You' : from
    return ['', `## ${who}, ${readableTime(at)}`, '', content]
  })
  return `${[...head, ...system, ...body].join('\n')}\n`
}
