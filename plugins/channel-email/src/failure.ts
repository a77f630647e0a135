/** The failures that a channel reports. No message has a secret. */
import type { ChannelFailure } from 'substrat/channel'

export function mailFailure(message: string, permanent: boolean, retryAfterMs?: number): ChannelFailure {
  const failure = { permanent, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  return Object.assign(new Error(message), { failure })
}

/** A certificate that does not fit stays wrong until a person corrects it. */
export function isCertificateError(error: unknown): boolean {
  const { code, message = '' } = Object(error) as { code?: unknown; message?: string }
  return /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO_/.test(String(code)) || /certificate/i.test(message)
}
