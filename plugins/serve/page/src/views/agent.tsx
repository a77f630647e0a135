/** One agent: what it does now, its conversation or its timeline, and what a person can do with it. */
import { useEffect, useState } from 'preact/hooks'
import { contextText, GRANTED_BY, needsPerson } from 'substrat/words'
import { call } from '../api/client.js'
import type { ShownAgent } from '../api/types.js'
import { budgetText } from '../model/budget.js'
import { toldOf } from '../model/problem-words.js'
import { costText, dateText, shortCount } from '../model/time.js'
import { callText, lookOf, nameOf } from '../model/words.js'
import { ActionButton } from '../parts/action.js'
import { Badge } from '../parts/badge.js'
import { useHeadingFocus } from '../parts/focus.js'
import { NextStep } from '../parts/next-step.js'
import { Words } from '../parts/text.js'
import { visibleText } from '../parts/visible-text.js'
import { AgentFollower } from '../state/agent-log.js'
import { useMay } from '../state/right.js'
import { linkTo } from '../state/router.js'
import { useStore } from '../state/store.js'
import { title } from '../state/title.js'
import { Composer } from './composer.js'
import { Controls, isStopped } from './controls.js'
import { ConversationView } from './conversation.js'
import { PendingMail } from './mail.js'
import { Request } from './need-card.js'
import { Schedules } from './schedules.js'
import { TimelineView } from './timeline.js'

export function AgentView({ id, tab }: { id: string; tab: 'conversation' | 'timeline' }) {
  const [follower] = useState(() => new AgentFollower(id))
  useEffect(() => () => follower.stop(), [follower])
  const state = useStore(follower.state)
  const mayWrite = useMay('all')
  const agent = state !== undefined && 'shown' in state ? state.shown.agent : undefined
  const name = agent && `${nameOf(agent)}, ${lookOf(agent).word}`
  useEffect(() => void (name !== undefined && title.set(name)), [name])
  if (state === undefined)
    return (
      <p class="empty" role="status">
        Reading the agent…
      </p>
    )
  if ('problem' in state)
    return (
      <div class="empty" role="alert">
        <p>{toldOf(state.problem).text}</p>
        <NextStep parts={toldOf(state.problem).next} />
        <p>
          <a href={linkTo({ view: 'agents' })}>All agents</a>
        </p>
      </div>
    )
  const { shown, records, live } = state
  return (
    <div class="column agent">
      <AgentHead shown={shown} onChanged={() => follower.show()} />
      <nav class="tabs" aria-label="Views of the agent">
        <Tab id={id} tab="conversation" current={tab} word="Conversation" />
        <Tab id={id} tab="timeline" current={tab} word="Timeline" />
      </nav>
      {tab === 'timeline' ? (
        <TimelineView records={records} isRunning={shown.agent.status === 'running'} />
      ) : (
        <ConversationView
          agentId={id}
          records={records}
          live={live}
          isWhole={follower.isWhole}
          onEarlier={() => follower.readEarlier()}
        />
      )}
      {tab === 'conversation' && <PendingMail shown={shown} />}
      {isAsking(shown) && (
        <section
          class={`card need tone-${lookOf(shown.agent).tone}`}
          data-card
          tabIndex={-1}
          aria-label={nameOfCard(shown)}
        >
          <Request shown={shown} />
        </section>
      )}
      {mayWrite && shown.agent.state !== 'terminated' && tab === 'conversation' && (
        <Composer agentId={shown.agent.id} />
      )}
    </div>
  )
}

/** A turn that waits for the end of a limit needs nobody, but can be continued or cancelled. A cancelled one can run again. */
function isAsking({ agent }: ShownAgent): boolean {
  return needsPerson(agent) || agent.shown_status === 'limited' || agent.shown_status === 'cancelled'
}

function nameOfCard({ agent }: ShownAgent): string {
  if (needsPerson(agent)) return 'Needs you'
  return agent.shown_status === 'cancelled' ? 'Cancelled' : 'Waits'
}

function Tab(props: { id: string; tab: 'conversation' | 'timeline'; current: string; word: string }) {
  return (
    <a
      href={linkTo({ view: 'agent', id: props.id, tab: props.tab })}
      aria-current={props.tab === props.current ? 'page' : undefined}
    >
      {props.word}
    </a>
  )
}

function AgentHead(props: { shown: ShownAgent; onChanged: () => void }) {
  const { shown } = props
  const { agent, topic, doing, hold, gate, grants, context, usage, budgets } = shown
  const heading = useHeadingFocus()
  return (
    <header class="agent-head">
      <div class="agent-title">
        <h1 ref={heading}>
          <Words text={nameOf(agent)} />
        </h1>
        <Badge look={lookOf(agent)} />
        {hold && agent.shown_status !== 'held' && (
          <Badge look={{ word: 'on hold', tone: 'calm', icon: 'stop' }} />
        )}
        {gate.gated && agent.shown_status !== 'gated' && (
          <Badge look={{ word: 'gated', tone: 'calm', icon: 'stop' }} />
        )}
      </div>
      {topic !== null && (
        <p class="agent-subtitle">
          <Words text={topic} />
        </p>
      )}
      <dl class="facts">
        <Fact
          name="Provider"
          value={agent.model === null ? agent.provider : `${agent.provider} · ${agent.model}`}
        />
        <Fact name="Workspace" value={agent.workspace} />
        {context !== 'all' && <Fact name="Context" value={contextText(context)} />}
        {usage !== null && (
          <Fact
            name="Tokens"
            value={`${shortCount(usage.input_tokens)} in, ${shortCount(usage.output_tokens)} out${usage.cost_usd === undefined ? '' : `, ${costText(usage.cost_usd)}`}`}
          />
        )}
        {(budgets ?? []).map((use) => (
          <Fact
            key={`${use.agent_id} ${use.unit} ${use.per}`}
            name="Budget"
            value={budgetText(use, agent.path)}
          />
        ))}
        {agent.inbox > 0 && <Fact name="Inbox" value={`${agent.inbox} pending`} />}
        {doing.length > 0 && (
          <Fact name="Now" value={doing.map(({ tool, input }) => callText(tool, input)).join('; ')} />
        )}
      </dl>
      {isStopped(shown) && (
        <p class="error" role="status">
          <Words text={shown.trouble ?? 'its process is stopped'} />. To continue it, run at a terminal:{' '}
          <code>{shown.next}</code>. To end the turn, use “Force cancel”.
        </p>
      )}
      {grants.length > 0 && <Grants shown={shown} onChanged={props.onChanged} />}
      <Schedules shown={shown} onChanged={props.onChanged} />
      <Controls shown={shown} onChanged={props.onChanged} />
    </header>
  )
}

/** The tools that the agent uses without approval, with what allowed each. No button takes back those of the setting. */
function Grants({ shown: { agent, grants }, onChanged }: { shown: ShownAgent; onChanged: () => void }) {
  const mayRevoke = useMay('all')
  return (
    <details class="fold grants">
      <summary>Runs without approval: {grants.length}</summary>
      <ul>
        {grants.map(({ entry, by, since }) => (
          <li key={`${by} ${entry}`}>
            <code>{visibleText(entry)}</code>
            <span class="hint">
              {GRANTED_BY[by]}
              {since !== undefined && `, ${dateText(since)}`}
            </span>
            {mayRevoke && agent.state !== 'terminated' && since !== undefined && (
              <ActionButton
                label={`Revoke ${entry}`}
                request={() =>
                  call('setAgent', { agent: agent.id, body: { disallow: [entry] } }).then(onChanged)
                }
                done="Revoked: from its next turn on, the agent asks again"
              >
                Revoke
              </ActionButton>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Words text={value} />
      </dd>
    </div>
  )
}
