/**
 * Compaction replaces a conversation that is too long for the model with a summary and the latest exchanges. It adds one
 * record; the log still has everything.
 *
 * The cut is between exchanges, so a call is never separated from its result. The latest third (by length) stays, at least
 * the last exchange. The message that the turn answers stays word for word.
 */
import type { ModelProvider, ProviderSettings } from '../../provider/contract.js'
import type { FailureReport } from '../../provider/failure.js'
import type { Usage } from '../../schema/types.js'
import type { Session } from '../../session/session.js'
import { complete } from '../ask/ask-model.js'
import type { TurnEnds } from '../ask/events.js'
import type { TurnEvent } from '../step/turn-event.js'
import { compactionOf, type Exchange, exchanges, responsesBefore } from './history.js'
import { promptOf } from './prompt-records.js'

const KEPT_SHARE = 1 / 3
const EXCERPT_CHARACTERS_MAX = 4000

export type Compacted =
  | Extract<TurnEvent, { type: 'compacted' }>
  /** The request for the summary failed. The full conversation stays. */
  | ({ type: 'failed' } & FailureReport)
  /** Nothing can be left out, the summary is empty, or the turn was stopped. */
  | { type: 'none'; usage?: Usage; model?: string }

export async function compact(
  session: Session,
  provider: ModelProvider,
  settings: ProviderSettings,
  ends: TurnEnds,
): Promise<Compacted> {
  const all = exchanges(session)
  const cut = cutOf(all)
  if (cut <= 0) return { type: 'none' }
  const [left, first] = [all.slice(0, cut), all[cut] as Exchange]
  const earlier = compactionOf(session)
  // An earlier compaction's summary counts as the messages that it replaced.
  const messages =
    left.reduce((sum, { messages }) => sum + messages.length, 0) +
    (earlier === undefined ? 0 : earlier.messages - 1)
  const how = provider.summarises === false ? 'dropped' : 'summary'
  const summary =
    how === 'dropped' ? { text: droppedNotice(messages) } : await summarise(provider, settings, left, ends)
  if ('type' in summary) return summary
  const { text, ...used } = summary
  // An earlier compaction may have quoted the prompt in its summary. This compaction replaces that summary, so it quotes it again.
  const prompt = session.state.run?.prompts[0] ?? null
  const asked =
    prompt !== null && prompt.seq < first.seq
      ? `\n\nYour current task, word for word:\n\n${promptOf(session)}`
      : ''
  const responses =
    responsesBefore(session) +
    left.flatMap((each) => each.messages).filter(({ role }) => role === 'assistant').length
  return {
    type: 'compacted',
    content: text + asked,
    how,
    keeps: session.placeOf(first.seq),
    messages,
    responses,
    ...used,
  }
}

function droppedNotice(messages: number): string {
  return `[substrat] The first ${messages} messages of this conversation were left out, because it became too long.`
}

interface Summary {
  text: string
  usage?: Usage
  model?: string
}

async function summarise(
  provider: ModelProvider,
  settings: ProviderSettings,
  left: Exchange[],
  ends: TurnEnds,
): Promise<Summary | Exclude<Compacted, { type: 'compacted' }>> {
  const prompt = `${SUMMARY_PROMPT}\n\n${left.map(transcriptOf).join('\n\n')}`
  const request = {
    ...settings,
    instructions: null,
    prompt,
    messages: () => [{ role: 'user' as const, content: prompt }],
    responses_before: 0,
    attempt: 1,
    tools: [],
  }
  const result = await complete(provider, request, ends, () => undefined)
  if (result.outcome === 'failed') return { type: 'failed', ...result }
  if (result.outcome === 'stopped') return { ...result, type: 'none' }
  const { reply, usage, model } = result.answer
  const used = { ...(usage === null ? {} : { usage }), ...(model === undefined ? {} : { model }) }
  if (reply.trim() === '') return { type: 'none', ...used }
  return { text: `[substrat] Summary of the conversation so far:\n\n${reply}`, ...used }
}

const SUMMARY_PROMPT = [
  'Summarise the conversation below, for an assistant that continues it and sees nothing else of it.',
  'Keep every fact, decision, file name and open task that may still matter. Do not answer it.',
].join(' ')

/** Shortens long contents, which may have caused the overflow: the request for the summary must not overflow too. */
function transcriptOf({ messages }: Exchange): string {
  return messages
    .map((message) => {
      const calls =
        message.role === 'assistant'
          ? message.tool_calls
              .map((call) => `\n(calls ${call.name} ${excerpt(JSON.stringify(call.input))})`)
              .join('')
          : ''
      return `${message.role}: ${excerpt(message.content)}${calls}`
    })
    .join('\n')
}

function excerpt(text: string): string {
  if (text.length <= EXCERPT_CHARACTERS_MAX) return text
  const half = EXCERPT_CHARACTERS_MAX / 2
  return `${text.slice(0, half)} […] ${text.slice(-half)}`
}

/** Number of exchanges to leave out. */
function cutOf(all: Exchange[]): number {
  const lengths = all.map(({ messages }) => JSON.stringify(messages).length)
  const budget = lengths.reduce((sum, length) => sum + length, 0) * KEPT_SHARE
  let cut = all.length - 1
  for (let kept = lengths[cut] ?? 0; cut > 0; cut--) {
    kept += lengths[cut - 1] as number
    if (kept > budget) break
  }
  // Do not summarise a lone summary again.
  return cut === 1 && all[0]?.isPrompt === false && all.length === 2 ? 0 : cut
}
