/**
 * Reads an address strictly: a From field that two readers could understand differently is not read at all, because the server
 * that authenticated the mail may have understood it in the other way.
 */
import { domainToASCII } from 'node:url'
import { withoutComments } from './fields.js'

export interface Sender {
  /** In lower case. */
  address: string
  /** Not decoded. Empty if there is none. */
  name: string
}

/** A bare address, in lower case. */
export function addressIn(text: string): string | undefined {
  const [, local = '', host = ''] =
    /^([^\s"(),:;<>@[\\\]\p{Cc}]+)@([^\s"(),:;<>@[\\\]\p{Cc}]+)$/u.exec(text) ?? []
  const domain = domainToASCII(host)
  if (local === '' || !/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) return undefined
  return `${local.toLowerCase()}@${domain}`
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

/** The only address of a From field. */
export function senderIn(value: string): Sender | undefined {
  const text = withoutComments(value)?.trim()
  if (text === undefined || /\p{Cc}/u.test(text.replaceAll('\t', ' '))) return undefined
  const [, display = '', angle] = /^((?:"(?:[^"\\]|\\.)*"|[^"<>])*)<([^<>]*)>$/.exec(text) ?? []
  if (angle === undefined) {
    const bare = addressIn(text)
    return bare === undefined ? undefined : { address: bare, name: '' }
  }
  const address = addressIn(angle.trim())
  if (address === undefined) return undefined
  const unquoted = display.replace(/"(?:[^"\\]|\\.)*"/g, '').trim()
  // Some programs repeat the address as the name, without quotes.
  const isPlain = !/[@,:;]/.test(unquoted) || unquoted.toLowerCase() === address
  return isPlain ? { address, name: nameOf(display) } : undefined
}

function nameOf(display: string): string {
  return display
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .replace(/\\(.)/g, '$1')
}

/** All addresses that a To or Cc field has, also in groups. It need not be strict: it only filters mail. */
export function addressesIn(value: string): string[] {
  const text = (withoutComments(value) ?? value).replace(/"(?:[^"\\]|\\.)*"/g, ' ')
  return text.split(/[\s,;:<>]+/).flatMap((word) => addressIn(word) ?? [])
}
