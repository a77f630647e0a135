/** Messages that are pending: those to the reader, and those to an agent. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import type { Mail, ShownAgent } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { ActionButton } from '../parts/action.js'
import { Confirm } from '../parts/dialog.js'
import { useFocusHandover } from '../parts/focus.js'
import { Prose, Words } from '../parts/text.js'
import { mail, readMail, takeMail } from '../state/mail.js'
import { tell, tellError } from '../state/notes.js'
import { useMay } from '../state/right.js'
import { agentLink } from '../state/router.js'
import { useStore } from '../state/store.js'

export function MailToYou() {
  const messages = useStore(mail)
  const [isAsking, setAsking] = useState(false)
  const mayClear = useMay('all')
  // The connection sign shows a failure, and the next snapshot causes another reading.
  useEffect(() => void readMail().catch(() => undefined), [])
  if (messages.length === 0) return null
  const clear = (): void =>
    void takeMail(messages.map(({ message_id: id }) => id)).then(() => tell('Cleared'), tellError)
  return (
    <section aria-label="Messages to you">
      <h2>
        Messages to you <span class="count">{messages.length}</span>
      </h2>
      {messages.map((message) => (
        <MailCard key={message.message_id} message={message} />
      ))}
      {mayClear && (
        <div class="buttons">
          <button type="button" class="plain" onClick={() => setAsking(true)}>
            Clear all
          </button>
        </div>
      )}
      {isAsking && (
        <Confirm
          question={{
            title: 'Clear all messages?',
            text: 'They leave the inbox. What agents wrote stays in their conversations.',
            confirm: 'Clear all',
            onConfirm: clear,
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  )
}

function MailCard({
  message: { message_id: id, from, from_path: path, kind, content, created_at: at },
}: {
  message: Mail
}) {
  const buttons = useFocusHandover<HTMLDivElement>()
  const mayClear = useMay('all')
  return (
    <article class="card" data-card tabIndex={-1} aria-label={`Message from ${path}`}>
      <header>
        <a href={agentLink(from)}>
          <Words text={path} />
        </a>
        <span class="hint">
          {kind} · {dateText(at)}
        </span>
      </header>
      <Prose text={content} />
      {mayClear && (
        <div class="buttons" ref={buttons}>
          <a class="button plain" href={agentLink(from)}>
            Write to it
          </a>
          <ActionButton
            label={`Clear the message from ${path}`}
            request={() => takeMail([id])}
            done="Cleared"
          >
            Clear
          </ActionButton>
        </div>
      )}
    </article>
  )
}

/** The messages that an agent has not received yet. A turn delivers them. */
export function PendingMail({ shown }: { shown: ShownAgent }) {
  const { agent } = shown
  const [messages, setMessages] = useState<readonly Mail[]>([])
  useEffect(() => {
    const gone = new AbortController()
    if (agent.inbox === 0) setMessages([])
    else
      void call('listMail', { agent: agent.id, signal: gone.signal }).then(
        ({ messages }) => setMessages(messages),
        () => undefined,
      )
    return () => gone.abort()
  }, [agent.id, agent.inbox, agent.last_seq])
  const now = useTimeOf(messages)
  const mayDeliver = useMay('all')
  if (messages.length === 0) return null
  const isDue = messages.some(({ not_before: at }) => at === null || Date.parse(at) <= now)
  return (
    <section aria-label="Pending messages">
      {messages.map(({ message_id: id, from_path: path, content, created_at: at, not_before: due }) => (
        <article
          key={id}
          class="message from-you pending"
          aria-label={`Pending message from ${nameOf(path)}`}
        >
          <header>
            <Words text={nameOf(path)} />
            <time class="hint" dateTime={at} title={dateText(at)}>
              pending since {dateText(at)}
            </time>
          </header>
          <Prose text={content} />
          {due !== null && (
            <p class="hint">
              Not before {dateText(due)} ({agoText(due)})
            </p>
          )}
        </article>
      ))}
      {whenDelivered(shown, isDue) ??
        (mayDeliver && (
          <div class="buttons end">
            <ActionButton
              request={() => call('resumeAgent', { agent: agent.id })}
              done="The agent has the message"
            >
              Deliver
            </ActionButton>
          </div>
        ))}
    </section>
  )
}

const TIMER_MS_MAX = 86_400_000

/** Now. The caller is drawn again when the next message is due, because no record says that. */
function useTimeOf(messages: readonly Mail[]): number {
  const [, redraw] = useState(0)
  const now = Date.now()
  const waits = messages.map(({ not_before: at }) => Date.parse(at ?? '') - now).filter((ms) => ms > 0)
  const first = Math.min(TIMER_MS_MAX, ...waits)
  useEffect(() => {
    if (waits.length === 0) return
    const timer = setTimeout(() => redraw((count) => count + 1), first + 1)
    return () => clearTimeout(timer)
  })
  return now
}

function nameOf(path: string): string {
  return path === 'operator' ? 'you' : path
}

/** Undefined if the reader can deliver them now. */
function whenDelivered({ agent, hold, gate }: ShownAgent, isDue: boolean) {
  const why = hold
    ? 'Delivered after the agent is resumed: it is on hold.'
    : gate.gated
      ? 'Delivered after the agent is ungated.'
      : agent.status !== 'idle'
        ? 'Delivered after the turn that is open now.'
        : isDue
          ? undefined
          : 'Delivered by the first substrat deliver after its time.'
  return why === undefined ? undefined : <p class="hint">{why}</p>
}
