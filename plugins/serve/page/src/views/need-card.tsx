/** One agent that waits for a person: what it asks, and the buttons that answer. */
import { useState } from 'preact/hooks'
import { WHY_STOPPED } from 'substrat/reasons'
import { call } from '../api/client.js'
import type { ShownAgent } from '../api/types.js'
import { agoText, dateText, limitText, withLocalTimes } from '../model/time.js'
import { lookOf, nameOf, needOf } from '../model/words.js'
import { ActionButton } from '../parts/action.js'
import { Badge } from '../parts/badge.js'
import { Confirm, type Question } from '../parts/dialog.js'
import { Prose, Words } from '../parts/text.js'
import { tell, tellError } from '../state/notes.js'
import { useMay } from '../state/right.js'
import { agentLink } from '../state/router.js'
import { AnswerForm } from './answer.js'
import { ApprovalForm } from './approval.js'
import { BudgetForm } from './budget.js'
import { ResultForm } from './decisions.js'

export function NeedCard({ shown }: { shown: ShownAgent }) {
  const { agent } = shown
  const need = needOf(shown)
  return (
    <article
      class={`card need tone-${toneOf(need)}`}
      data-card
      tabIndex={-1}
      aria-label={`${nameOf(agent)}: ${need}`}
    >
      <header>
        <h3>
          <a href={agentLink(agent.id)}>
            <Words text={nameOf(agent)} />
          </a>
        </h3>
        <Badge look={lookOf(agent)} />
        <time class="hint" dateTime={agent.updated_at} title={dateText(agent.updated_at)}>
          {agoText(agent.updated_at)}
        </time>
      </header>
      <Task shown={shown} />
      <Request shown={shown} />
    </article>
  )
}

const PROMPT_CHARACTERS = 300

/** The message that led to the request, and the directory in which the agent works. */
function Task({ shown: { agent, prompt } }: { shown: ShownAgent }) {
  return (
    <dl class="task">
      {prompt !== null && (
        <div>
          <dt>Message</dt>
          <dd>
            <Words
              text={prompt.length > PROMPT_CHARACTERS ? `${prompt.slice(0, PROMPT_CHARACTERS)}…` : prompt}
            />
          </dd>
        </div>
      )}
      <div>
        <dt>Workspace</dt>
        <dd>
          <Words text={agent.workspace} />
        </dd>
      </div>
    </dl>
  )
}

function toneOf(need: string): string {
  return need === 'interrupted' || need === 'failed' ? 'bad' : 'wait'
}

/** What the agent asks, with the forms and buttons. The view of the agent shows it too. */
export function Request({ shown }: { shown: ShownAgent }) {
  const { wait } = shown
  // What the reader began to decide belongs to one wait: the next one begins with an empty form.
  const key = wait?.token_id ?? `${shown.run?.id} ${shown.agent.last_seq}`
  switch (needOf(shown)) {
    case 'approval':
      return wait === null ? null : <ApprovalForm key={key} agentId={shown.agent.id} wait={wait} />
    case 'question':
      return wait === null ? null : <AnswerForm key={key} agentId={shown.agent.id} wait={wait} />
    case 'result':
      return wait === null ? null : <ResultForm key={key} agentId={shown.agent.id} wait={wait} />
    case 'limit':
      return <Limit shown={shown} />
    case 'interrupted':
      return <Interrupted shown={shown} />
    default:
      return <Failed shown={shown} />
  }
}

function Limit({ shown: { agent, wait, trouble } }: { shown: ShownAgent }) {
  const mayControl = useMay('all')
  const when = wait?.not_before
  return (
    <>
      <p>
        <Words text={withLocalTimes(trouble ?? 'The provider limits this agent.')} />
        {when != null && (
          <>
            {' '}
            <time dateTime={when} title={dateText(when)}>
              {limitText(when)}
            </time>
          </>
        )}
      </p>
      {wait?.kind === 'budget' && <BudgetForm key={wait.token_id} agentId={agent.id} wait={wait} />}
      {mayControl && wait?.kind !== 'budget' && (
        <div class="buttons">
          <ResumeButton id={agent.id} />
          <CancelButton id={agent.id} />
        </div>
      )}
    </>
  )
}

function Interrupted({ shown: { agent, trouble, next } }: { shown: ShownAgent }) {
  const mayControl = useMay('all')
  return (
    <>
      <p>
        The turn was interrupted{trouble === null ? '' : ': '}
        {trouble !== null && <Words text={trouble} />}.
      </p>
      {mayControl && (
        <div class="buttons">
          <ResumeButton id={agent.id} look="primary" />
          {next?.includes('--reseed') === true && (
            <ActionButton
              request={() => call('resumeAgent', { agent: agent.id, body: { reseed: true } })}
              done="The agent continues in a new session"
            >
              Resume in a new session
            </ActionButton>
          )}
          <CancelButton id={agent.id} />
        </div>
      )}
      <Next command={next} />
    </>
  )
}

const FAILED_WORDS: Partial<Record<ShownAgent['agent']['shown_status'], string>> = {
  timed_out: 'The turn timed out',
  refused: 'A turn could not begin',
  cancelled: 'The turn was cancelled',
}

function Failed({ shown: { agent, trouble, reply, reply_is: part, next } }: { shown: ShownAgent }) {
  const mayControl = useMay('all')
  const cause = agent.shown_status === 'refused' ? (agent.refused?.at(-1)?.message ?? null) : trouble
  // Most are cancelled by the reader.
  const why = cause === WHY_STOPPED.cancelled || cause === null ? null : withLocalTimes(cause)
  return (
    <>
      <p>
        {FAILED_WORDS[agent.shown_status] ?? 'The turn failed'}
        {why === null ? '' : ': '}
        {why !== null && <Words text={why} />}.
      </p>
      {part === 'so_far' && reply !== null && <Prose text={reply} />}
      {mayControl && (
        <div class="buttons">
          {next?.startsWith('substrat compact') === true && (
            <ActionButton
              look="primary"
              request={() => call('compactConversation', { agent: agent.id })}
              done="The beginning of the conversation is a summary now: retry the turn"
            >
              Compact the conversation
            </ActionButton>
          )}
          {agent.shown_status !== 'refused' && (
            <ActionButton
              look={next?.startsWith('substrat retry') === true ? 'primary' : 'plain'}
              request={() => call('retryTurn', { agent: agent.id })}
              done="The turn runs again"
            >
              Retry
            </ActionButton>
          )}
          <a class="button plain" href={agentLink(agent.id)} onClick={goToComposer}>
            Write to it
          </a>
        </div>
      )}
      <Next command={next} />
    </>
  )
}

/** In the view of the agent, the link would lead nowhere. */
function goToComposer(event: Event): void {
  const composer = document.getElementById('composer')
  if (composer === null) return
  event.preventDefault()
  composer.focus()
}

function ResumeButton({ id, look = 'plain' }: { id: string; look?: 'primary' | 'plain' }) {
  return (
    <ActionButton look={look} request={() => call('resumeAgent', { agent: id })} done="The agent continues">
      Resume
    </ActionButton>
  )
}

function CancelButton({ id }: { id: string }) {
  const [question, setQuestion] = useState<Question>()
  const ask = (): void =>
    setQuestion({
      title: 'Cancel the turn?',
      text: 'The turn ends without a reply. The conversation stays.',
      confirm: 'Cancel the turn',
      isDangerous: true,
      onConfirm: () =>
        void call('cancelTurn', { agent: id }).then(() => tell('The turn is cancelled'), tellError),
    })
  return (
    <>
      <button type="button" class="plain" onClick={ask}>
        Cancel the turn
      </button>
      {question !== undefined && <Confirm question={question} onClose={() => setQuestion(undefined)} />}
    </>
  )
}

/** The command that `show` advises. */
function Next({ command }: { command: string | null }) {
  if (command === null) return null
  return (
    <p class="hint">
      At a terminal: <code>{command}</code>
    </p>
  )
}
