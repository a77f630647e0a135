import { useState } from 'preact/hooks'
import { OPTION_FIELDS } from '../model/message-options.js'
import { Icon } from '../parts/icons.js'
import { tell, tellError } from '../state/notes.js'
import { outboxOf } from '../state/outbox.js'
import { useStore } from '../state/store.js'

/** Writes a message to the agent. */
export function Composer({ agentId }: { agentId: string }) {
  const [outbox] = useState(() => outboxOf(agentId))
  const { text, state, why, options = {} } = useStore(outbox.draft)
  const send = async (event?: Event): Promise<void> => {
    event?.preventDefault()
    if (text.trim() === '') return
    try {
      await outbox.send()
      tell('Sent')
    } catch (error) {
      // A refusal stays at the field; only what else went wrong needs a note.
      if (outbox.draft.value.state !== 'refused') tellError(error)
    }
  }
  const isFree = state === 'writing' || state === 'refused'
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
        readOnly={!isFree}
        value={text}
        onInput={(event) => outbox.write(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <button type="submit" class="primary" aria-disabled={!isFree || text.trim() === ''}>
        <Icon name="send" /> {state === 'refused' ? 'Send again' : 'Send'}
      </button>
      <details class="fold options">
        <summary>Options</summary>
        {OPTION_FIELDS.filter(({ isSwitch }) => isSwitch).map(({ name, label, hint }) => (
          <label key={name} class="switch" title={hint}>
            <input
              type="checkbox"
              name={name}
              disabled={!isFree}
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
              readOnly={!isFree}
              value={options[name] ?? ''}
              onInput={(event) => outbox.ask(name, event.currentTarget.value)}
            />
          </label>
        ))}
      </details>
      <p class="hint" role="status">
        {state === 'writing' && text !== '' && 'Ctrl+Enter sends it.'}
        {state === 'refused' && `Not sent: ${why ?? 'the server refused it.'} The text stays here.`}
        {state === 'sending' && 'Sending…'}
        {state === 'unknown' &&
          'The server does not answer. The message is sent again by itself, and delivered once.'}
      </p>
    </form>
  )
}
