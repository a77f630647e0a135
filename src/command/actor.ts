/**
 * The actor of this command: the user of the process, and the words of a face about the one it serves. A face signs what it has
 * verified itself, with a secret of the home. Anything else in the environment is a claim.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { userInfo } from 'node:os'
import type { Actor } from '../schema/types.js'
import { asActor } from '../session/actor.js'
import { openOrCreateHome } from '../storage/open.js'
import type { Store } from '../storage/store.js'

/** Signed by a face: `1.JSON.MAC`, both in base64url. From anyone: the name of the person or job that acts. */
const VARIABLE = 'SUBSTRAT_ACTOR'
const CLAIM_CHARACTERS_MAX = 100

/** The knowledge of a face about the one it serves. */
export type FaceActor = Pick<Actor, 'face' | 'token' | 'claims'>

/**
 * The value of the variable for a command of a face that writes. Creates a missing home, as that command would. Empty if the home cannot
 * be written: then the command fails too.
 */
export function signedActor(home: string, actor: FaceActor): string {
  const said = Buffer.from(JSON.stringify({ ...actor, ...boundedClaims(actor.claims) })).toString('base64url')
  try {
    const store = openOrCreateHome(home)
    const key = store.local.actorKey(true)
    return key === undefined ? '' : `1.${said}.${macOf(store, key, said)}`
  } catch {
    return ''
  }
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
    ...(signed ?? { face: 'cli' as const }),
    ...(all === undefined ? {} : { claims: all }),
  }
}

function verified(store: Store, word: string): Actor | undefined {
  const [, said = '', mac = ''] = /^1\.([\w-]+)\.([\w-]+)$/.exec(word) ?? []
  if (said === '') return undefined
  const key = store.local.actorKey(false)
  if (key === undefined) return undefined
  const [given, wanted] = [Buffer.from(mac), Buffer.from(macOf(store, key, said))]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined
  return asActor(JSON.parse(Buffer.from(said, 'base64url').toString('utf8')))
}

function macOf({ homeId }: Store, key: Buffer, said: string): string {
  return createHmac('sha256', key).update(`${homeId}\n${said}`).digest('base64url')
}

function ownUser(): Pick<Actor, 'uid' | 'user'> {
  const uid = process.getuid?.()
  if (uid === undefined) return {}
  try {
    return { uid, user: userInfo().username }
  } catch {
    // A container may have no name for its user.
    return { uid }
  }
}

/** Each in one line, without control characters. */
function boundedClaims(claims: Actor['claims']): Pick<Actor, 'claims'> {
  const said = Object.entries(claims ?? {})
    .map(([what, text]) => [what, oneLine(text ?? '')])
    .filter(([, text]) => text !== '')
  return said.length === 0 ? {} : { claims: Object.fromEntries(said) }
}

function oneLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, CLAIM_CHARACTERS_MAX)
}
