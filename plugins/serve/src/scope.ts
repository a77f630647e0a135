/** The rights of a token, and the refusal of a request beyond them. */
import type { Core, Scope } from './core.js'
import type { Bearer } from './guard.js'
import { Refusal } from './problem.js'

const MEANINGS: Record<Scope, string> = {
  read: 'only read',
  answer: 'only read, approve and deny calls as they are, and answer',
  all: 'do everything',
}

/** Throws INSUFFICIENT_SCOPE. `what` ends the sentence "the token … may not …". */
export function checkScope(core: Core, { name, may }: Bearer, needed: Scope, what = 'do this'): void {
  if (core.isAllowed(may, needed)) return
  throw new Refusal(
    'INSUFFICIENT_SCOPE',
    `the token ${name} may not ${what}: it may ${MEANINGS[may]}`,
    `use a token that may ${needed === 'answer' ? 'answer or all' : needed}, or make one: substrat serve token add NAME --may ${needed}`,
    { token: name, may, needs: needed },
  )
}
