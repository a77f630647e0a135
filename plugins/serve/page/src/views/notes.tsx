import { Icon } from '../parts/icons.js'
import { NextStep } from '../parts/next-step.js'
import { visibleText } from '../parts/visible-text.js'
import { dismiss, notes } from '../state/notes.js'
import { useStore } from '../state/store.js'

export function Notes() {
  const shown = useStore(notes)
  return (
    <div class="notes" role="log" aria-label="Messages" aria-live="polite">
      {shown.map(({ id, text, next, isError }) => (
        <div key={id} class={`note ${isError ? 'tone-bad' : 'tone-good'}`}>
          <Icon name={isError ? 'cross' : 'check'} />
          <div>
            <p>{visibleText(text)}</p>
            <NextStep parts={next} />
          </div>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  )
}
