import { visibleText } from './visible-text.js'

/** What to do after an error: words and commands in turn. */
export function NextStep({ parts }: { parts: readonly string[] }) {
  if (parts.join('') === '') return null
  return (
    <p class="hint">
      {parts.map((part, index) =>
        index % 2 === 1 ? <code key={index}>{visibleText(part)}</code> : visibleText(part),
      )}
    </p>
  )
}
