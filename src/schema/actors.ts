/**
 * The one who made a decision or wrote a message, in words. Anything that is not verified is marked as a claim.
 *
 * The page loads this module; it must stay free of zod and of Node.
 */
import type { Actor } from './types.js'

/** The one who reads, by their user on this machine, or by their token. Their own acts are of "you". */
export type Reader = Pick<Partial<Actor>, 'uid' | 'host_id' | 'token' | 'token_id'>

const BY_FACE: Record<string, string> = {
  cli: '',
  channel: '',
  http: ' over HTTP',
  openai: ' over the OpenAI endpoint',
  acp: ' in an editor',
  mcp: ' over MCP',
}

/** `you`, `ana`, `token phone`, `4711 on telegram (claims to be "Ana")`. */
export function actorText(actor: Actor, reader: Reader = {}): string {
  const claims = claimsText(actor.claims)
  if (claims === '' && isSame(actor, reader)) return YOU
  return claims === '' ? verifiedText(actor) : `${verifiedText(actor)} (claims to ${claims})`
}

/** Whether the reader did it, and claimed nothing. Without an actor, an earlier version wrote the record. */
export function isReader(actor: Actor | undefined, reader: Reader): boolean {
  return actor === undefined || actorText(actor, reader) === YOU
}

const YOU = 'you'

/** The same user id on another machine, and another token of the same name, may be another person. */
function isSame({ uid, host_id, face, token, token_id, sender }: Actor, reader: Reader): boolean {
  if (sender !== undefined) return false
  if (token !== undefined) return token_id !== undefined && token_id === reader.token_id
  return face === 'cli' && uid !== undefined && uid === reader.uid && host_id === reader.host_id
}

function verifiedText({ uid, user, face, token, sender }: Actor): string {
  if (sender !== undefined) return `${sender.id} on ${sender.channel}`
  if (token !== undefined) return tokenText(token)
  const name = user === YOU ? `the user ${user}` : (user ?? (uid === undefined ? 'somebody' : `uid ${uid}`))
  return `${name}${BY_FACE[face] ?? ` over ${face}`}`
}

/** The names of tokens have no spaces: that is the holder of the one-time token of a wait. */
function tokenText(token: string): string {
  return token.includes(' ') ? `the holder of a ${token}` : `token ${token}`
}

/** In quotes, so that no claim looks like a fact beside it. */
function claimsText({ name, client, agent }: NonNullable<Actor['claims']> = {}): string {
  return [
    ...(name === undefined ? [] : [`be ${JSON.stringify(name)}`]),
    ...(client === undefined ? [] : [`use ${JSON.stringify(client)}`]),
    ...(agent === undefined ? [] : [`be a tool of agent ${agent.slice(0, 8)}`]),
  ].join(', ')
}
