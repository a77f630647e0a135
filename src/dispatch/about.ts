/** An agent in few words: its topic, and the request, trouble, tool or reply that it has now. The same in `list`, in `show --json` and on the page. */

import type { ShownAgent } from '../schema/output.js'
import type { ShownStatus } from '../schema/words.js'
import { askText } from './ask-text.js'
import { callText } from './call-text.js'
import { refusalText } from './missed.js'

const TOPIC_CHARACTERS_MAX = 80
const PREVIEW_CHARACTERS_MAX = 400

/** Its title, or else the first words of its first message. */
export function topicOf(title: string | null, firstMessage: string | undefined): string | null {
  if (title !== null) return title
  const words = firstMessage?.trim().split('\n', 1)[0]?.trim().replaceAll(/\s+/g, ' ') ?? ''
  if (words === '') return null
  if (words.length <= TOPIC_CHARACTERS_MAX) return words
  const cut = words.slice(0, TOPIC_CHARACTERS_MAX)
  return `${cut.replace(/ \S*$/, '').trimEnd()}…`
}

const TELLS_TROUBLE: ShownStatus[] = ['interrupted', 'limited', 'failed', 'timed_out', 'cancelled']

/** Its request, the cause of its stop, its running tool, or its latest reply. */
export function previewOf({
  agent,
  hold,
  gate,
  wait,
  trouble,
  doing,
  reply,
  reply_is: part,
}: Pick<ShownAgent, 'agent' | 'hold' | 'gate' | 'wait' | 'trouble' | 'doing' | 'reply' | 'reply_is'>):
  | string
  | null {
  const ask = wait?.asks[0]
  if (wait !== null && ask !== undefined) return bounded(askText(wait, ask).join(': '))
  const latest = agent.refused?.findLast(({ past }) => past !== true)
  if (agent.shown_status === 'refused' && latest !== undefined)
    return bounded(refusalText(latest, { agent, hold, gate }))
  if (TELLS_TROUBLE.includes(agent.shown_status) || agent.stopped === true) return bounded(trouble)
  const [tool] = doing
  if (tool !== undefined) return bounded(callText(tool))
  return bounded(
    (part === 'previous' ? '(previous turn) ' : '') + (reply?.slice(0, PREVIEW_CHARACTERS_MAX) ?? ''),
  )
}

function bounded(text: string | null | undefined): string | null {
  return text?.slice(0, PREVIEW_CHARACTERS_MAX).trim() || null
}
