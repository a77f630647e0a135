/**
 * Compaction replaces a conversation that the model's service refuses with a summary and the latest exchanges. It adds one
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
import type { Shorter } from '../step/turn-event.js'
import { compactionOf, type Exchange, exchanges, responsesBefore } from './history.js'
import { promptOf } from './prompt-records.js'

const KEPT_SHARE = 1 / 3
const EXCERPT_CHARACTERS_MAX = 4000

export type Compacted =
  | ({ type: 'compacted' } & Shorter)
  /** The request for the summary failed. The full conversation stays. */
  | ({ type: 'failed' } & FailureReport)
  /** Nothing can be left out, or the turn was stopped. */
  | { type: 'none'; usage?: Usage; model?: string }

/** The wishes of a person. They can decide what a turn must decide by itself. */
export interface ByHand {
  /** How many of the latest exchanges stay. Default: the latest third. */
  keep: number | undefined
  /** Leave the messages out without asking for a summary. */
  drops: boolean
  /** An `invalid` request for the summary means the conversation. Otherwise it may mean the settings, and fails. */
  wasAnswered: boolean
}

/** `begin`: called before the request for a summary, for its settings. Undefined: it is not sent. */
export async function compact(
  session: Session,
  provider: ModelProvider,
  settings: ProviderSettings,
  ends: TurnEnds,
  byHand?: ByHand,
  begin: () => Promise<ProviderSettings | undefined> = async () => settings,
): Promise<Compacted> {
  const { keep, drops } = byHand ?? {}
  const all = exchanges(session)
  const cut = keep === undefined ? cutOf(all) : all.length - keep
  // A lone summary of everything before is not replaced by its own summary.
  const isAlone = keep !== undefined && cut === 1 && compactionOf(session) !== undefined
  if (cut <= 0 || (isAlone && drops !== true)) return { type: 'none' }
  const left = all.slice(0, cut)
  const keeps = placeFrom(session, all[cut])
  const how = drops === true || provider.summarises === false ? 'dropped' : 'summary'
  const notice = { text: droppedNotice(messagesIn(session, left)), how: 'dropped' as const }
  const bounded = how === 'summary' ? await begin() : settings
  if (bounded === undefined) return { type: 'none' }
  const summary = how === 'dropped' ? notice : await summarise(provider, bounded, left, ends, notice, byHand)
  if ('type' in summary) return summary
  const { text, ...used } = summary
  const content = text + taskIfBefore(session, keeps.seq)
  return {
    type: 'compacted',
    content,
    keeps,
    ...countsOf(session, left),
    ...used,
  }
}

/**
 * The first record that stays. The whole latest turn stays in the log's part if the model refused it, so that `retry` finds it there:
 * it is in no exchange, and a summary must not quote it.
 */
function placeFrom(session: Session, first: Exchange | undefined): { seq: number; offset: number } {
  const { run, last_seq, last_offset } = session.state
  const refused = run?.error?.type === 'refused' ? run.start.seq : last_seq
  if (first === undefined && refused === last_seq) return { seq: last_seq, offset: last_offset }
  return session.placeOf(Math.min(first?.seq ?? refused, refused))
}

/**
 * Without a model, and without any exchange but the prompt: for a conversation whose latest exchanges are refused too. `tried` was
 * refused just now. If it has a summary of the earlier exchanges, that stays.
 */
export function shortest(session: Session, tried: Shorter | undefined): Compacted {
  const all = exchanges(session)
  const last = all.at(-1)
  const cut = last?.isPrompt === true ? all.length - 1 : all.length
  const left = all.slice(0, cut)
  const earlier = compactionOf(session)
  // The first one is the summary of an earlier compaction.
  const own = earlier === undefined ? left : left.slice(1)
  const sinceTried = tried === undefined ? own : own.filter(({ seq }) => seq >= tried.keeps.seq)
  // Otherwise this would be the request that was just refused.
  if (sinceTried.length === 0) return { type: 'none' }
  const isTold = tried?.how === 'summary'
  const summary = isTold ? tried.content : earlier && session.text(earlier.content)
  const { last_seq, last_offset } = session.state
  const keeps =
    cut < all.length ? session.placeOf((last as Exchange).seq) : { seq: last_seq, offset: last_offset }
  const told =
    summary === undefined
      ? droppedNotice(messagesIn(session, left))
      : withoutTask(session, summary) + laterNotice(isTold ? sinceTried : own)
  return {
    type: 'compacted',
    content: `${told}${toolsNotice(left)}${taskIfBefore(session, keeps.seq)}`,
    how: 'dropped',
    keeps,
    ...countsOf(session, left),
  }
}

/** Removes the task of this turn, which is quoted at the end again. The summary may quote those of earlier turns. */
function withoutTask(session: Session, summary: string): string {
  const task = taskIfBefore(session, Number.POSITIVE_INFINITY)
  const rest = summary.endsWith(task) ? summary.slice(0, summary.length - task.length) : summary
  return rest.replaceAll(TASK, 'An earlier task, word for word:')
}

function laterNotice(left: Exchange[]): string {
  const count = left.reduce((sum, { messages }) => sum + messages.length, 0)
  return `\n\n[substrat] The ${count} messages after this summary were left out, because the conversation was refused.`
}

/** Tools may have run in what no summary has. */
function toolsNotice(left: Exchange[]): string {
  const names = left
    .flatMap(({ messages }) => messages)
    .flatMap((each) => (each.role === 'tool' ? each.name : []))
  if (names.length === 0) return ''
  return `\n\nThese tools ran before: ${[...new Set(names)].join(', ')}. Their latest results are left out. Check what they did before you do it again.`
}

const TASK = 'Your current task, word for word:'

/** An earlier compaction may have quoted the prompt in its summary. A later one replaces that summary, so it quotes it again. */
function taskIfBefore(session: Session, keepsSeq: number): string {
  const { run } = session.state
  // `retry` repeats the prompt of a failed or cancelled turn without adding it again.
  const isAnswered = run === null || run.status === 'completed' || run.error?.type === 'refused'
  const prompt = isAnswered ? undefined : run.prompts[0]
  return prompt !== undefined && prompt.seq < keepsSeq ? `\n\n${TASK}\n\n${promptOf(session)}` : ''
}

function countsOf(session: Session, left: Exchange[]): { messages: number; responses: number } {
  const responses = left.flatMap((each) => each.messages).filter(({ role }) => role === 'assistant').length
  return { messages: messagesIn(session, left), responses: responsesBefore(session) + responses }
}

/** An earlier compaction's summary counts as the messages that it replaced. */
function messagesIn(session: Session, left: Exchange[]): number {
  const earlier = compactionOf(session)
  const own = left.reduce((sum, { messages }) => sum + messages.length, 0)
  return own + (earlier === undefined ? 0 : earlier.messages - 1)
}

function droppedNotice(messages: number): string {
  return `[substrat] The first ${messages} messages of this conversation were left out, because it became too long or was refused.`
}

interface Summary {
  text: string
  how: 'summary' | 'dropped'
  usage?: Usage
  model?: string
}

async function summarise(
  provider: ModelProvider,
  settings: ProviderSettings,
  left: Exchange[],
  ends: TurnEnds,
  dropped: Summary,
  byHand: ByHand | undefined,
): Promise<Summary | Exclude<Compacted, { how: unknown }>> {
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
  if (result.outcome === 'stopped') return { ...result, type: 'none' }
  if (result.outcome === 'failed') {
    // The excerpts may have the very words that the service refuses. No other model is asked.
    const { type } = result.error
    if (!REFUSALS.includes(type) || (type === 'invalid' && byHand?.wasAnswered === false))
      return { type: 'failed', ...result }
    const { usage, model } = result
    return { ...dropped, ...(usage && { usage }), ...(model !== undefined && { model }) }
  }
  const { reply, usage, model, incomplete } = result.answer
  const used = { ...(usage === null ? {} : { usage }), ...(model === undefined ? {} : { model }) }
  if (reply.trim() === '') return byHand === undefined ? { ...dropped, ...used } : { ...NO_SUMMARY, ...used }
  const end = incomplete === undefined ? '' : `\n\n[substrat] The summary may be incomplete (${incomplete}).`
  const text = `[substrat] Summary of the conversation so far:\n\n${reply}${end}`
  return { how: 'summary', text, ...used }
}

/** A person may ask again, or drop the messages. */
const NO_SUMMARY = {
  type: 'failed' as const,
  error: { type: 'empty' as const, message: 'the model wrote no summary' },
  retryAfterMs: null,
}

const REFUSALS = ['invalid', 'overflow', 'refused']

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
