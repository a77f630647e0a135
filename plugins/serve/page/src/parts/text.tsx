/**
 * Text that others wrote. It is always a text node, never markup. `dir="auto"` and CSS isolation keep its writing direction
 * inside its own box; other control characters become visible, so that a text cannot pretend to be another.
 */
import type { ComponentChildren } from 'preact'

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

/** One line of foreign text, such as a name. */
export function Words({ text }: { text: string }) {
  return <bdi>{visibleText(text).replaceAll('\n', ' ')}</bdi>
}

const LONG = 20_000

/** A foreign text of several lines. Fences of code keep their form. */
export function Prose({ text }: { text: string }) {
  const shown =
    text.length > LONG ? `${text.slice(0, LONG)}\n… (${text.length - LONG} more characters)` : text
  const parts = visibleText(shown).split(/^```[^\n]*$/m)
  return (
    <div class="prose" dir="auto">
      {parts.map((part, index) =>
        index % 2 === 1 ? (
          <Code key={index} text={part.trim()} />
        ) : (
          part.trim() !== '' && <p key={index}>{withCode(part.trim())}</p>
        ),
      )}
    </div>
  )
}

function withCode(text: string): ComponentChildren[] {
  return text
    .split(/`([^`\n]+)`/)
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}

export function Code({ text, label = 'Code' }: { text: string; label?: string }) {
  const shown =
    text.length > LONG ? `${text.slice(0, LONG)}\n… (${text.length - LONG} more characters)` : text
  return (
    <figure aria-label={label}>
      <pre dir="auto">
        <code>{visibleText(shown)}</code>
      </pre>
    </figure>
  )
}
