/** Splits a long reply into messages that the platform takes. */

/** Prefers the end of a paragraph, then of a line, then of a word. A surrogate pair stays whole. */
export function partsOf(text: string, charactersMax: number, partsMax: number): string[] {
  const parts: string[] = []
  let rest = text.trim()
  while (rest !== '' && parts.length < partsMax) {
    const end = rest.length <= charactersMax ? rest.length : endOfPart(rest, charactersMax)
    parts.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  if (rest === '') return parts
  const notice = `… (${rest.length} more characters are left out here)`
  const last = parts.pop() as string
  return [...parts, `${last.slice(0, wholeEnd(last, charactersMax - notice.length))}${notice}`]
}

function endOfPart(text: string, max: number): number {
  for (const separator of ['\n\n', '\n', ' ']) {
    const at = text.lastIndexOf(separator, max)
    if (at > max / 2) return at
  }
  return wholeEnd(text, max)
}

function wholeEnd(text: string, max: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(max - 1)) ? max - 1 : max
}
