/** The hint of a command names its flags. A client of the server has fields of a request instead. */
import { FaceError } from '../../shared/src/face/face-error.js'

const SAME_COMMAND = /\b(?:run|repeat) the same (?:command|substrat [a-z]+)( again)?/g
/** A flag at the end, with its value if it has one. */
const FLAG = /--([a-z][a-z-]*)(?: (\w+))?$/

/** `fields`: those of the request. Flags in a whole command of the hint stay, as do flags without a field. */
export function withFields(thrown: unknown, fields: readonly string[]): unknown {
  if (!(thrown instanceof FaceError) || thrown.hint === null) return thrown
  const { code, message, facts, hint } = thrown
  return FaceError.of({ code, message, facts, hint: fieldHint(hint, fields) })
}

function fieldHint(hint: string, fields: readonly string[]): string {
  return hint
    .replaceAll(SAME_COMMAND, 'repeat the request')
    .split('; ')
    .map((part) => (/\bsubstrat [a-z]/.test(part) ? part : partInFields(part, fields)))
    .join('; ')
}

function partInFields(part: string, fields: readonly string[]): string {
  return part.replace(FLAG, (flag, name: string, value: string | undefined) => {
    const field = name.replaceAll('-', '_')
    if (!fields.includes(field)) return flag
    return `"${field}": ${value === undefined ? 'true' : JSON.stringify(value)}`
  })
}
