/** The header of a message: its fields in order, the topmost first. Servers add fields at the top. */

export interface Field {
  /** In lower case. */
  name: string
  /** Unfolded: line ends are spaces. */
  value: string
}

/** No server passes on a longer header. */
const HEADER_BYTES_MAX = 256 * 1024

export function fieldsOf(raw: Buffer): Field[] {
  const head = raw.subarray(0, HEADER_BYTES_MAX).toString('utf8')
  const fields: Field[] = []
  for (const line of head.split(/\r?\n/)) {
    if (line === '') break
    const latest = fields.at(-1)
    if (/^[ \t]/.test(line)) {
      if (latest !== undefined) latest.value += ` ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    // A line that is not a field belongs to no field, and neither do the lines that continue it.
    const isField = colon > 0 && /^[!-9;-~]+[ \t]*$/.test(line.slice(0, colon))
    fields.push({
      name: isField ? line.slice(0, colon).trim().toLowerCase() : '',
      value: line.slice(colon + 1).trim(),
    })
  }
  return fields
}

export function valuesOf(fields: Field[], name: string): string[] {
  return fields.flatMap((field) => (field.name === name ? [field.value] : []))
}

export function firstValue(fields: Field[], name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value
}

/** Without comments. Undefined if a comment or a quoted string does not end. */
export function withoutComments(text: string): string | undefined {
  let depth = 0
  let isQuoted = false
  let rest = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    const isEscaped = character === '\\' && (isQuoted || depth > 0)
    const piece = isEscaped ? text.slice(at, at + 2) : character
    if (isEscaped) at += 1
    if (!isEscaped && character === '"' && depth === 0) isQuoted = !isQuoted
    if (!isEscaped && !isQuoted && character === '(') depth += 1
    if (depth === 0) rest += piece
    if (!isEscaped && !isQuoted && character === ')') {
      if (depth === 0) return undefined
      depth -= 1
      if (depth === 0) rest += ' '
    }
  }
  return depth > 0 || isQuoted ? undefined : rest
}
