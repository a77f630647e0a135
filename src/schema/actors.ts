/**
 * The one who made a decision or wrote a message, in words. Anything that is not verified is marked as a claim.
 *
 * The page loads this module; it must stay free of zod and of Node.
 */
import type { Actor } from './types.js'

/** The one who reads. Their own acts are of "you". */
export interface Reader {
  uid?: number | undefined
  /** The name of their token of `substrat serve`. */
  token?: string | undefined
}

const BY_FACE: Record<Actor['face'], string> = {
  cli: '',
  http: ' over HTTP',
  openai: ' over the OpenAI endpoint',
  acp: ' in an editor',
  mcp: ' over MCP',
  channel: '',
}

/** `you`, `ana`, `token phone`, `4711 on telegram (claims to be Ana)`. */
export function actorText(actor: Actor, reader: Reader = {}): string {
  const claims = claimsText(actor.claims)
  return claims === '' ? verifiedText(actor, reader) : `${verifiedText(actor)} (claims to ${claims})`
}

/** Whether the reader did it, and claimed nothing. */
export function isReader(actor: Actor | undefined, reader: Reader): boolean {
  return actor === undefined || actorText(actor, reader) === YOU
}

const YOU = 'you'

function verifiedText({ uid, user, face, token, sender }: Actor, reader: Reader = {}): string {
  if (sender !== undefined) return `${sender.id} on ${sender.channel}`
  if (token !== undefined) return token === reader.token ? YOU : tokenText(token)
  if (face === 'cli' && uid !== undefined && uid === reader.uid) return YOU
  return `${user ?? (uid === undefined ? 'somebody' : `uid ${uid}`)}${BY_FACE[face]}`
}

/** No token of `serve` has a name with a space: that is the holder of the one-time token of a wait. */
function tokenText(token: string): string {
  return token.includes(' ') ? `the holder of a ${token}` : `token ${token}`
}

function claimsText({ name, client, agent }: NonNullable<Actor['claims']> = {}): string {
  return [
    ...(name === undefined ? [] : [`be ${name}`]),
    ...(client === undefined ? [] : [`use ${client}`]),
    ...(agent === undefined ? [] : [`be a tool of agent ${agent.slice(0, 8)}`]),
  ].join(', ')
}
