/**
 * A message that a later version of substrat has written. It may change what the messages after it mean, so no mail of its
 * inbox is delivered, as no command acts on a log with an unknown record.
 */
import { SubstratError } from '../errors.js'
import type { UnknownMessage } from './inbox.js'

type Unknown = Pick<UnknownMessage, 'path' | 'unknown'>

export function unknownMailError(unknown: Unknown[]): SubstratError | undefined {
  const [first] = unknown
  if (first === undefined) return undefined
  const others = unknown.length === 1 ? '' : ` (and ${unknown.length - 1} more)`
  return new SubstratError(
    'UNKNOWN_FORMAT',
    `${unknownText(first)}${others}; nothing was delivered or removed`,
    {
      hint: 'use the version of substrat that wrote it, or a newer one',
      facts: { paths: unknown.map(({ path }) => path) },
    },
  )
}

export function unknownText({ path, unknown }: Unknown): string {
  return `${path}: this program does not know ${unknown}`
}
