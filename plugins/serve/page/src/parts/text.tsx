/**
 * Text that others wrote. It is always text nodes, never markup. `dir="auto"` and CSS isolation keep its writing direction inside
 * its own box; control characters become visible.
 */
import { useMemo, useState } from 'preact/hooks'
import { countText } from '../model/time.js'
import { tell } from '../state/notes.js'
import { Code } from './code.js'
import { Markdown } from './markdown.js'
import { LONG, visibleText } from './visible-text.js'

/** One line of foreign text, such as a name. */
export function Words({ text }: { text: string }) {
  return <bdi>{visibleText(text).replaceAll('\n', ' ')}</bdi>
}

/** A foreign text of several lines, whose Markdown is drawn. */
export function Prose({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  const left = text.length - LONG
  const drawn = useMemo(() => <Markdown text={visibleText(text.slice(0, LONG))} />, [text])
  if (isWhole) return <Plain text={text} />
  return (
    <div class="prose" dir="auto">
      {drawn}
      {left > 0 && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          Show {countText(left)} more characters, as plain text
        </button>
      )}
    </div>
  )
}

/** A foreign text of several lines, as it is. */
export function Plain({ text }: { text: string }) {
  return (
    <div class="prose" dir="auto">
      <p>{visibleText(text)}</p>
    </div>
  )
}

/** Copies the text as it was written, before its Markdown was drawn. Without a clipboard, the text is there to be selected. */
export function CopyButton({ text }: { text: string }) {
  const [isShown, setShown] = useState(false)
  const copy = (): void => {
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    written.then(
      () => tell('Copied'),
      () => setShown(true),
    )
  }
  return (
    <>
      <button type="button" class="copy" onClick={copy}>
        Copy
      </button>
      {isShown && <Code text={text} label="Text to copy" />}
    </>
  )
}
