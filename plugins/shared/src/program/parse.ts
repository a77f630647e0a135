/**
 * Parses another program's JSON, unless it has so many parts that parsing would exhaust the memory: `[{},{},…` takes
 * 20 times its bytes.
 */

/** About a hundred times as many as any program's line has. */
const PARTS_MAX = 500_000

/** Throws if the text is not JSON or has too many parts. */
export function parseJson(text: string): unknown {
  if (text.length > PARTS_MAX && hasMoreParts(text, PARTS_MAX))
    throw new RangeError('JSON with too many parts')
  return JSON.parse(text)
}

/** Undefined instead of an error. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b]

/** Counts a part for each bracket, brace and comma outside of strings. */
function hasMoreParts(text: string, partsMax: number): boolean {
  let parts = 0
  for (let at = 0; at < text.length && parts <= partsMax; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at + 1)
    else if (code === COMMA || code === BRACKET || code === BRACE) parts += 1
  }
  return parts > partsMax
}

function endOfString(text: string, from: number): number {
  let at = from
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}
