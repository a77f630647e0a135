/** The agents that wait for a person, by the kind of their request, with the buttons that answer it. */
import { useEffect } from 'preact/hooks'
import type { CorruptAgent, ShownAgent } from '../api/types.js'
import { dateText } from '../model/time.js'
import { type Need, needOf } from '../model/words.js'
import { Icon } from '../parts/icons.js'
import { Prose, Words } from '../parts/text.js'
import { mail, readMail } from '../state/mail.js'
import { needs, showMoreNeeds } from '../state/needs.js'
import { agentLink } from '../state/router.js'
import { useStore } from '../state/store.js'
import { NeedCard } from './need-card.js'

const SECTIONS: { need: Need; title: string }[] = [
  { need: 'approval', title: 'Approvals' },
  { need: 'question', title: 'Questions' },
  { need: 'result', title: 'Results from elsewhere' },
  { need: 'interrupted', title: 'Interrupted' },
  { need: 'failed', title: 'Failed' },
]

export function NeedsView() {
  const found = useStore(needs)
  if (found === undefined)
    return (
      <p class="empty" role="status">
        Reading the agents…
      </p>
    )
  const { shown, damaged, more } = found
  return (
    <div class="column">
      <h1>Needs you</h1>
      {shown.length === 0 && damaged.length === 0 && <AllClear />}
      {SECTIONS.map(({ need, title }) => (
        <Section key={need} title={title} agents={shown.filter((agent) => needOf(agent) === need)} />
      ))}
      {damaged.length > 0 && <Damaged agents={damaged} />}
      {more > 0 && (
        <button type="button" class="plain" onClick={showMoreNeeds}>
          Show more ({more})
        </button>
      )}
      <MailToYou />
    </div>
  )
}

function AllClear() {
  return (
    <div class="empty">
      <Icon name="check" />
      <p>No agent waits for you.</p>
    </div>
  )
}

function Section({ title, agents }: { title: string; agents: readonly ShownAgent[] }) {
  if (agents.length === 0) return null
  return (
    <section aria-label={title}>
      <h2>
        {title} <span class="count">{agents.length}</span>
      </h2>
      {agents.map((shown) => (
        <NeedCard key={shown.agent.id} shown={shown} />
      ))}
    </section>
  )
}

function Damaged({ agents }: { agents: readonly CorruptAgent[] }) {
  return (
    <section aria-label="Damaged">
      <h2>
        Damaged <span class="count">{agents.length}</span>
      </h2>
      {agents.map(({ id, path, error }) => (
        <article key={id} class="card need tone-bad" data-card tabIndex={-1} aria-label={path ?? id}>
          <h3>
            <Words text={path ?? id} />
          </h3>
          <p>
            <Words text={error.message} />
          </p>
          <p class="hint">
            Look at the damage: <code>substrat doctor {id}</code>
          </p>
        </article>
      ))}
    </section>
  )
}

function MailToYou() {
  const messages = useStore(mail)
  useEffect(() => void readMail(), [])
  if (messages.length === 0) return null
  return (
    <section aria-label="Messages to you">
      <h2>
        Messages to you <span class="count">{messages.length}</span>
      </h2>
      {messages.map(({ message_id: id, from, from_path: path, kind, content, created_at: at }) => (
        <article key={id} class="card" data-card tabIndex={-1} aria-label={`Message from ${path}`}>
          <header>
            <a href={agentLink(from)}>
              <Words text={path} />
            </a>
            <span class="hint">
              {kind} · {dateText(at)}
            </span>
          </header>
          <Prose text={content} />
        </article>
      ))}
      <p class="hint">
        Take them from the inbox: <code>substrat inbox operator --take</code>
      </p>
    </section>
  )
}
