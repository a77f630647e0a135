/** The right of the page's token. It is read again whenever the page connects: the server may have another start. */
import type { Scope } from 'substrat/words'
import { call } from '../api/client.js'
import { readToken } from '../api/token.js'
import { mayDo, type Right } from '../model/right.js'
import { connection } from './connection.js'
import { reader } from './reader.js'
import { Store, useStore } from './store.js'

const KEY = 'substrat-right'

/** Undefined until it is known. After a reload it is the known one, until the server answers. */
export const right = new Store<Right | undefined>(undefined)

export function followRight(signal: AbortSignal): void {
  learn(storedRight())
  void readRight()
  const stop = connection.subscribe(() => connection.value === 'live' && void readRight())
  signal.addEventListener('abort', stop)
}

async function readRight(): Promise<void> {
  const token = readToken()
  try {
    const known = await call('showToken')
    // Another link was opened meanwhile.
    if (token !== readToken()) return
    sessionStorage.setItem(KEY, JSON.stringify({ token, right: known }))
    if (JSON.stringify(known) !== JSON.stringify(right.value)) learn(known)
  } catch {
    // The connection sign shows it, and the next connection causes another reading.
  }
}

function learn(known: Right | undefined): void {
  right.set(known)
  reader.set(known === undefined ? {} : { token_id: known.id })
}

function storedRight(): Right | undefined {
  const { token, right } = JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as {
    token?: string
    right?: Right
  }
  return token === readToken() ? right : undefined
}

/** Whether the page offers a request that needs this right. */
export function useMay(needed: Scope): boolean {
  return mayDo(useStore(right), needed)
}
