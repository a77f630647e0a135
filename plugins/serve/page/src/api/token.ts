/**
 * The operator's token. It comes in the fragment of the link that the server prints, which no request carries, and stays in this
 * tab: sessionStorage ends with it, and other sites cannot read it.
 */

const KEY = 'substrat-token'

/** Takes the token out of the address at once, so that neither the history nor a copied address has it. */
export function takeTokenFromAddress(): void {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1]
  if (token === undefined) return
  saveToken(token)
  history.replaceState(history.state, '', location.pathname)
}

export function readToken(): string | null {
  return sessionStorage.getItem(KEY)
}

export function saveToken(token: string): void {
  sessionStorage.setItem(KEY, token)
}

export function dropToken(): void {
  sessionStorage.removeItem(KEY)
}
