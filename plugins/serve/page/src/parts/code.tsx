/** Text that keeps its lines and spaces. */
import { LONG, visibleText } from './visible-text.js'

export function Code({
  text,
  label = 'Code',
  language = '',
}: {
  text: string
  label?: string
  language?: string
}) {
  const shown =
    text.length > LONG ? `${text.slice(0, LONG)}\n… (${text.length - LONG} more characters)` : text
  return (
    <figure aria-label={label}>
      {language !== '' && <figcaption class="hint">{visibleText(language)}</figcaption>}
      <pre dir="auto">
        <code>{visibleText(shown)}</code>
      </pre>
    </figure>
  )
}
