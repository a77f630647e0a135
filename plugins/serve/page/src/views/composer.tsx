import { useState } from 'preact/hooks'
import { OPTION_FIELDS } from '../model/message-options.js'
import { Icon } from '../parts/icons.js'
import { tell, tellError } from '../state/notes.js'
import { outboxOf } from '../state/outbox.js'
import { useStore } from '../state/store.js'

/** Writes a message to the agent. */
export function Composer({ agentId }: { agentId: string }) {
  const [outbox] = useState(() => outboxOf(agentId))
  const { text, state, options = {} } = useStore(outbox.draft)
  const send = async (event?: Event): Promise<void> => {
    event?.preventDefault()
    if (text.trim() === '') return
    try {
      await outbox.send()
      tell('Sent')
    } catch (error) {
      tellError(error)
    }
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send(event)
  }
  return (
    <form class="composer" onSubmit={send}>
      <label class="visually-hidden" for="composer">
        Message to the agent
      </label>
      <textarea
        id="composer"
        rows={2}
        placeholder="Write to the agent"
        readOnly={state !== 'writing'}
        value={text}
        onInput={(event) => outbox.write(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <button type="submit" class="primary" aria-disabled={state !== 'writing' || text.trim() === ''}>
        <Icon name="send" /> Send
      </button>
      <details class="fold options">
        <summary>Options</summary>
        {OPTION_FIELDS.filter(({ isSwitch }) => isSwitch).map(({ name, label, hint }) => (
          <label key={name} class="switch" title={hint}>
            <input
              type="checkbox"
              name={name}
              disabled={state !== 'writing'}
              checked={options[name] === 'true'}
              onChange={(event) => outbox.ask(name, event.currentTarget.checked ? 'true' : '')}
            />
            {label}: {hint}
          </label>
        ))}
        {OPTION_FIELDS.filter(({ isSwitch }) => !isSwitch).map(({ name, label, hint, isNumber }) => (
          <label key={name}>
            {label}
            <input
              name={name}
              inputMode={isNumber ? 'numeric' : 'text'}
              placeholder={hint}
              title={hint}
              readOnly={state !== 'writing'}
              value={options[name] ?? ''}
              onInput={(event) => outbox.ask(name, event.currentTarget.value)}
            />
          </label>
        ))}
      </details>
      <p class="hint" role="status">
        {state === 'sending' && 'Sending…'}
        {state === 'unknown' &&
          'The server does not answer. The message is sent again by itself, and delivered once.'}
      </p>
    </form>
  )
}
