/**
 * The actor of this command: the user of the process, and the words of a face about the one it serves. A face signs what it has
 * verified itself, with a secret of the home, for one command. Anything else in the environment is a claim.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { userInfo } from 'node:os'
import { clock } from '../clock.js'
import { isPlainObject } from '../format.js'
import { ownIdentity } from '../host/identity.js'
import type { Actor } from '../schema/types.js'
import { asActor } from '../session/actor.js'
import { openOrCreateHome } from '../storage/open.js'
import type { Store } from '../storage/store.js'

/** Signed by a face: `1.JSON.MAC`, both in base64url. From anyone: the name of the person or job that acts. */
const VARIABLE = 'SUBSTRAT_ACTOR'
const CLAIM_CHARACTERS_MAX = 100
/** A command of a face begins at once. On a busy machine that may take minutes. */
const SIGNED_MS_MAX = 10 * 60_000

/** The knowledge of a face about the one it serves. */
export type FaceActor = Pick<Actor, 'face' | 'token' | 'token_id' | 'claims'>

/**
 * The value of the variable for a command of a face that writes, with these words. Creates a missing home, as that command would. Throws
 * if there is no secret: the command would name the user of the face instead.
 */
export function signedActor(home: string, { claims, ...verified }: FaceActor, words: string[]): string {
  const store = openOrCreateHome(home)
  const key = store.local.actorKey(true)
  if (key === undefined) throw new Error('the home has no secret to sign with')
  const said = { actor: { ...verified, ...boundedClaims(claims) }, at: clock.now() }
  const text = Buffer.from(JSON.stringify(said)).toString('base64url')
  return `1.${text}.${macOf(store, key, text, words)}`
}

/** Takes the variable out of the environment: programs of this command do not act for that one. */
export function actorHere(store: Store, caller: string | null): Actor {
  const word = process.env[VARIABLE] ?? ''
  delete process.env[VARIABLE]
  const signed = verified(store, word)
  const { claims } = signed ?? boundedClaims(word === '' ? undefined : { name: word })
  const all = caller === null ? claims : { ...claims, agent: caller }
  return {
    ...ownUser(),
    ...(signed ?? { face: 'cli' }),
    ...(all === undefined ? {} : { claims: all }),
  }
}

/** Undefined for a signature of another home, command or time. */
function verified(store: Store, word: string): Actor | undefined {
  const [, text = '', mac = ''] = /^1\.([\w-]+)\.([\w-]+)$/.exec(word) ?? []
  const key = text === '' ? undefined : keyOf(store)
  if (key === undefined) return undefined
  const [given, wanted] = [Buffer.from(mac), Buffer.from(macOf(store, key, text, process.argv.slice(2)))]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
  const said: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
  if (!isPlainObject(said) || typeof said.at !== 'number') return undefined
  return Math.abs(clock.now() - said.at) > SIGNED_MS_MAX ? undefined : asActor(said.actor)
}

/** A secret that cannot be read verifies nothing. */
function keyOf(store: Store): Buffer | undefined {
  try {
    return store.local.actorKey(false)
  } catch {
    return undefined
  }
}

/** For these words of the command line: a program of the command that reads the variable cannot use it for another command. */
function macOf({ homeId }: Store, key: Buffer, text: string, words: string[]): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([homeId, text, words]))
    .digest('base64url')
}

function ownUser(): Pick<Actor, 'uid' | 'user' | 'host_id'> {
  const uid = process.getuid?.()
  if (uid === undefined) return {}
  const { host_id } = ownIdentity()
  const host = host_id === undefined ? {} : { host_id }
  try {
    return { uid, user: userInfo().username, ...host }
  } catch {
    // A container may have no name for its user.
    return { uid, ...host }
  }
}

/** Each in one line, without control characters. */
function boundedClaims(claims: Actor['claims']): Pick<Actor, 'claims'> {
  const said = Object.entries(claims ?? {})
    .map(([what, text]) => [what, oneLine(text ?? '')])
    .filter(([, text]) => text !== '')
  return said.length === 0 ? {} : { claims: Object.fromEntries(said) }
}

/** In whole characters. */
function oneLine(text: string): string {
  const line = text
    .slice(0, 100 * CLAIM_CHARACTERS_MAX)
    .replace(/[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
  return Array.from(line).slice(0, CLAIM_CHARACTERS_MAX).join('')
}
