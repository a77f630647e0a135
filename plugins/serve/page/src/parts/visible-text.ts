/** Control characters become visible, so that a text cannot pretend to be another. */

/** Longer texts are cut. */
export const LONG = 20_000

/** Bidirectional controls reorder what surrounds them, and the other controls are invisible. Tabs and line feeds are text. */
function isHidden(code: number): boolean {
  return (
    (code < 0x20 && code !== 0x09 && code !== 0x0a) ||
    HIDDEN.some(([first, last]) => code >= first && code <= last)
  )
}

const HIDDEN: [number, number][] = [
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
  [0xfeff, 0xfeff],
]

export function visibleText(text: string): string {
  if (!hasHidden(text)) return text
  return Array.from(text.replaceAll('\r\n', '\n'), (char) => {
    const code = char.codePointAt(0) ?? 0
    if (!isHidden(code)) return char
    // Unicode has pictures of the first controls.
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `⟨${code.toString(16)}⟩`
  }).join('')
}

function hasHidden(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (isHidden(text.charCodeAt(index))) return true
  return false
}
