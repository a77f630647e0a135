import { readableTime } from '../../clock.js'
import type { Conversation } from '../../schema/output-home.js'

export function toMarkdown({ agent, instructions, messages }: Conversation): string {
  const head = [
    `# ${agent.path}`,
    '',
    `Agent ${agent.id}, provider ${agent.provider}${agent.model === null ? '' : `, model ${agent.model}`}.`,
  ]
  const system = instructions === null ? [] : ['', '## Instructions', '', instructions]
  const body = messages.flatMap(({ role, from, at, content, items }) => {
    const who = role === 'assistant' ? 'Agent' : from === 'operator' ? 'You' : from
    return ['', `## ${who}, ${readableTime(at)}`, ...(items === undefined ? [] : folded(items)), '', content]
  })
  return `${[...head, ...system, ...body].join('\n')}\n`
}

/** Markdown viewers show a closed section. The form of the items is the provider's. */
function folded(items: object[]): string[] {
  const json = items.map((item) => JSON.stringify(item, null, 2))
  const runs = json.flatMap((text) => text.match(/`+/g) ?? [])
  const fence = '`'.repeat(Math.max(3, ...runs.map(({ length }) => length + 1)))
  return ['', '<details><summary>Reasoning</summary>', '', `${fence}json`, ...json, fence, '', '</details>']
}
