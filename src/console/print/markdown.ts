import { readableTime } from '../../clock.js'
import { callText } from '../../dispatch/call-text.js'
import type { Conversation, ExportedAct } from '../../schema/output-home.js'

export function toMarkdown({ agent, instructions, messages }: Conversation): string {
  const head = [
    `# ${agent.path}`,
    '',
    `Agent ${agent.id}, provider ${agent.provider}${agent.model === null ? '' : `, model ${agent.model}`}.`,
  ]
  const system = instructions === null ? [] : ['', '## Instructions', '', instructions]
  const body = messages.flatMap(({ role, from, at, content, items, acts }) => {
    const who = role === 'assistant' ? 'Agent' : from === 'operator' ? 'You' : from
    const before = [
      ...(acts === undefined ? [] : ['', ...acts.map(actLine)]),
      ...(items === undefined ? [] : folded(items)),
    ]
    return ['', `## ${who}, ${readableTime(at)}`, ...before, '', content]
  })
  return `${[...head, ...system, ...body].join('\n')}\n`
}

/** One line per call: `log` has its output. */
function actLine({ note, tool = '', input = { input: '(large)' }, is_error }: ExportedAct): string {
  const text = (note ?? callText({ tool, input })).replace(/\s+/g, ' ')
  const fence = text.includes('`') ? '``' : '`'
  const end = is_error === true ? ' (failed)' : ''
  return note === undefined ? `- ${fence}${text}${fence}${end}` : `- ${text}`
}

/** Markdown viewers show a closed section. The form of the items is the provider's. */
function folded(items: object[]): string[] {
  const json = items.map((item) => JSON.stringify(item, null, 2))
  const runs = json.flatMap((text) => text.match(/`+/g) ?? [])
  const fence = '`'.repeat(runs.reduce((most, { length }) => Math.max(most, length + 1), 3))
  return ['', '<details><summary>Reasoning</summary>', '', `${fence}json`, ...json, fence, '', '</details>']
}
