/**
 * Calls of the Bot API, with grammY.
 *
 * Invariants: a call that shows a message reaches the service at most once, because substrat decides about another attempt. The
 * token is in the path of each URL, so no failure has the URL, or an error of the library as its cause.
 */
import { Api, GrammyError } from 'grammy/web'
import type { ChannelFailure } from 'substrat/channel'
import { isFailure } from '../../shared/src/failure.js'
import { type Answer, request } from '../../shared/src/model/post.js'
import type { BotSettings } from './settings.js'

declare const USER_AGENT: string

/** Longer than Telegram holds a request for updates. */
const STALL_MS = 70_000
/** Telegram's answers are smaller: at most 100 updates. */
const ANSWER_CHARACTERS_MAX = 64 * 1024 * 1024

export function botApi({ token, baseUrl }: BotSettings): Api {
  return new Api(token, { apiRoot: baseUrl, fetch: fetchThroughProxy as unknown as typeof fetch })
}

/** Like `fetch`, but also through the proxies that the environment names. */
async function fetchThroughProxy(
  url: string,
  { headers, body, signal }: { headers: Record<string, string>; body: string; signal: AbortSignal },
): Promise<{ json(): Promise<unknown> }> {
  let isSending = false
  try {
    const answer = await request({
      ...{ method: 'POST', url: new URL(url), body, signal, stallTimeoutMs: STALL_MS },
      headers: { ...headers, 'user-agent': USER_AGENT, 'content-length': String(Buffer.byteLength(body)) },
      environment: process.env,
      isSentOnce: url.endsWith('/sendMessage'),
      onSending: () => {
        isSending = true
      },
    })
    const text = await textOf(answer)
    return { json: async () => parsed(text, answer.status) }
  } catch (error) {
    if (isSending) throw error
    throw botFailure(reasonOf(error), { notShown: true })
  }
}

async function textOf(answer: Answer): Promise<string> {
  let text = ''
  for await (const piece of answer.chunks()) {
    text += piece
    if (text.length > ANSWER_CHARACTERS_MAX) throw botFailure('its answer is too long')
  }
  return text
}

/** A proxy in front of the service answers with a page. */
function parsed(text: string, status: number): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof (value as { ok?: unknown } | null)?.ok === 'boolean') return value
  } catch {
    // It is not an answer of the Bot API either.
  }
  throw botFailure(`it answered with status ${status}, but not as the Bot API does`)
}

export function botFailure(message: string, facts: Partial<ChannelFailure['failure']> = {}): ChannelFailure {
  return Object.assign(new Error(message), { failure: { permanent: false, ...facts } })
}

/** The failure of a call, in a sentence that begins with `what`. `unknownPauseMs`: the pause after one that may have shown a message. */
export function failureOf(
  what: string,
  error: unknown,
  token: string,
  unknownPauseMs?: number,
): ChannelFailure {
  const { reason, ...facts } = causeOf(error)
  if (facts.notShown !== true && unknownPauseMs !== undefined) facts.retryAfterMs = unknownPauseMs
  return botFailure(`${what}: ${reason}`.replaceAll(token, '…'), facts)
}

type Cause = { reason: string } & ChannelFailure['failure']

function causeOf(error: unknown): Cause {
  // Telegram's word that it did not carry out the method.
  if (error instanceof GrammyError) return { ...refusalOf(error), notShown: true }
  // The library wraps what the request threw.
  const inner = (error as { error?: unknown }).error ?? error
  const { notShown } = (inner as Partial<ChannelFailure>).failure ?? {}
  return { reason: reasonOf(inner), permanent: false, ...(notShown === true ? { notShown } : {}) }
}

function reasonOf(error: unknown): string {
  const isKnown = isFailure(error) || typeof Object(error).failure === 'object'
  return isKnown ? (error as Error).message : 'it cannot be reached'
}

function refusalOf({ error_code: status, description, parameters }: GrammyError): Cause {
  const { retry_after: seconds } = parameters
  switch (status) {
    case 401:
    case 404:
      return { reason: `it refuses the token of the bot (${description})`, permanent: true }
    case 409:
      return description.includes('webhook')
        ? { reason: 'the bot has a webhook; delete it with the method deleteWebhook', permanent: true }
        : { reason: 'another program receives the messages of this bot; stop it', permanent: false }
    case 429:
      return {
        reason: `it limits the rate (${description})`,
        permanent: false,
        ...(seconds === undefined ? {} : { retryAfterMs: seconds * 1000 }),
      }
    default:
      return { reason: description, permanent: status >= 400 && status < 500 }
  }
}
