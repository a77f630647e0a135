/** Recognizes mail that no person has written. An answer to it could begin a loop. */
import { type Field, firstValue, valuesOf } from './fields.js'

/** The reason why the mail is automatic. */
export function automaticSign(fields: Field[]): string | undefined {
  const word = (name: string): string | undefined =>
    /^[\w./-]+/.exec(firstValue(fields, name) ?? '')?.[0].toLowerCase()
  const submitted = word('auto-submitted')
  if (submitted !== undefined && submitted !== 'no') return `Auto-Submitted: ${submitted}`
  const precedence = word('precedence')
  if (precedence !== undefined && /^(bulk|junk|list|auto_reply)$/.test(precedence))
    return `Precedence: ${precedence}`
  if (word('content-type') === 'multipart/report') return 'a report about a delivery'
  if (valuesOf(fields, 'return-path').some((path) => /^<\s*>/.test(path))) return 'an empty Return-Path'
  const sign = fields.find(({ name }) => /^(list-id|x-autoreply|x-autorespond|x-auto-reply)$/.test(name))
  return sign === undefined ? undefined : `a field ${sign.name}`
}
