/** The event as a target gets it: as JSON, or in the body that Slack, Discord or ntfy takes. */
import { createHmac } from 'node:crypto'
import type { NotifyTarget } from './notify.js'
import type { OutboundMessage } from './target.js'

/** Discord refuses a longer text. */
const DISCORD_CHARACTERS_MAX = 2000

/** The JSON on the stdin of a program, and the body of the format `json`. */
export function eventJson({ outbound_id, ...message }: OutboundMessage, homeId: string): string {
  const { event, agent, path, run_id, at, text } = message
  return JSON.stringify({ id: outbound_id, event, agent, path, run_id, home_id: homeId, at, text })
}

export interface Request {
  url: string
  headers: Record<string, string>
  body: string
}

export interface RequestSecrets {
  secret?: string | undefined
  token?: string | undefined
}

/** `atSeconds`: the time of the attempt, which the signature covers. */
export function requestOf(
  message: OutboundMessage,
  { format }: Pick<NotifyTarget, 'format'>,
  { url, homeId, atSeconds }: { url: string; homeId: string; atSeconds: number },
  { secret, token }: RequestSecrets,
): Request {
  const made = BODIES[format](message, { url, homeId })
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': 'substrat',
    'idempotency-key': message.outbound_id,
  }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  if (secret !== undefined)
    headers['substrat-signature'] = `t=${atSeconds},v1=${signature(secret, atSeconds, made.body)}`
  return { ...made, headers }
}

/** HMAC-SHA256 of the time, a dot and the body, in hex. */
function signature(secret: string, atSeconds: number, body: string): string {
  return createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex')
}

type Body = (message: OutboundMessage, to: { url: string; homeId: string }) => { url: string; body: string }

const BODIES: Record<NotifyTarget['format'], Body> = {
  json: (message, { url, homeId }) => ({ url, body: eventJson(message, homeId) }),
  slack: ({ text }, { url }) => ({ url, body: JSON.stringify({ text: escapedForSlack(text) }) }),
  discord: ({ text }, { url }) => ({
    url,
    // No text of an agent may notify all members of a channel.
    body: JSON.stringify({
      content: shortened(text, DISCORD_CHARACTERS_MAX),
      allowed_mentions: { parse: [] },
    }),
  }),
  ntfy: ({ text, path, event }, { url }) => {
    // The topic is in the body, because a title in a header has to be ASCII.
    const topic = new URL(url).pathname.split('/').filter(Boolean).at(-1) ?? ''
    const title = event === 'message' ? path : `${path}: ${event}`
    const priority = event === 'completed' ? 3 : 4
    return { url: new URL(url).origin, body: JSON.stringify({ topic, title, message: text, priority }) }
  },
}

/** In Slack these characters begin links and mentions. */
function escapedForSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function shortened(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`
}
