/** The agents that wait for a person, by the kind of their request, with the buttons that answer it. */
import type { CorruptAgent, ShownAgent } from '../api/types.js'
import { type Need, needOf } from '../model/words.js'
import { Icon } from '../parts/icons.js'
import { Words } from '../parts/text.js'
import { needs, showMoreNeeds } from '../state/needs.js'
import { useStore } from '../state/store.js'
import { MailToYou } from './mail.js'
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
