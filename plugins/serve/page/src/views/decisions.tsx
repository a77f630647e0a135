/** The forms by which a person decides about a waiting turn. */
import { useRef, useState } from 'preact/hooks'
import { call, newKey } from '../api/client.js'
import type { Wait } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { inputText } from '../model/words.js'
import { ActionButton, useAction } from '../parts/action.js'
import { Code, Words } from '../parts/text.js'

interface Props {
  agentId: string
  wait: Wait
}

/** The token id ties a decision to the wait that the reader sees: a decision about an older one is refused. */
function tied(wait: Wait): { token_id?: string } {
  return wait.token_id === null ? {} : { token_id: wait.token_id }
}

export function ApprovalForm({ agentId, wait }: Props) {
  const [isDenying, setDenying] = useState(false)
  return (
    <>
      <Asks wait={wait} />
      {isDenying ? (
        <DenyForm agentId={agentId} wait={wait} onBack={() => setDenying(false)} />
      ) : (
        <div class="buttons">
          <ActionButton
            look="primary"
            request={() => call('approveCalls', { agent: agentId, body: tied(wait) })}
            done="Approved"
          >
            Approve
          </ActionButton>
          <ActionButton
            request={() => call('approveCalls', { agent: agentId, body: { ...tied(wait), always: true } })}
            done="Approved, and allowed from the next turn on"
          >
            Always allow
          </ActionButton>
          <button type="button" class="plain" onClick={() => setDenying(true)}>
            Deny…
          </button>
        </div>
      )}
    </>
  )
}

function DenyForm({ agentId, wait, onBack }: Props & { onBack: () => void }) {
  const [reason, setReason] = useState('')
  const { run, isBusy } = useAction()
  const field = useRef<HTMLInputElement>(null)
  const deny = (event: Event): void => {
    event.preventDefault()
    const body = { ...tied(wait), ...(reason.trim() === '' ? {} : { reason }) }
    void run(() => call('denyCalls', { agent: agentId, body }), 'Denied')
  }
  return (
    <form class="decision" onSubmit={deny}>
      <label for={`reason-${agentId}`}>Reason, which the agent reads (optional)</label>
      <input
        id={`reason-${agentId}`}
        ref={field}
        autofocus
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <div class="buttons">
        <button type="submit" class="danger" aria-disabled={isBusy}>
          Deny
        </button>
        <button type="button" class="plain" onClick={onBack}>
          Go back
        </button>
      </div>
    </form>
  )
}

export function AnswerForm({ agentId, wait }: Props) {
  const [text, setText] = useState('')
  // Made once per answer: if the connection is lost, the same answer can be sent again.
  const key = useRef(newKey())
  const { run, isBusy } = useAction()
  const answer = (event: Event): void => {
    event.preventDefault()
    if (text.trim() === '') return
    void run(() => call('answerQuestion', { agent: agentId, body: { text }, key: key.current }), 'Answered')
  }
  const change = (value: string): void => {
    key.current = newKey()
    setText(value)
  }
  return (
    <form class="decision" onSubmit={answer}>
      <Asks wait={wait} />
      <label for={`answer-${agentId}`}>Your answer</label>
      <textarea
        id={`answer-${agentId}`}
        rows={2}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Answer
        </button>
      </div>
    </form>
  )
}

/** The result of a call that another system computes. Only the holder of the resume token can give it. */
export function ResultForm({ agentId, wait }: Props) {
  const { run, isBusy } = useAction()
  const form = useRef<HTMLFormElement>(null)
  const give = (event: Event): void => {
    event.preventDefault()
    const data = new FormData(form.current ?? undefined)
    const text = (name: string): string => String(data.get(name) ?? '')
    const body = {
      decision: 'result' as const,
      token: text('token'),
      text: text('result'),
      failed: data.has('failed'),
      ...(text('call') === '' ? {} : { call_id: text('call') }),
    }
    void run(() => call('resumeAgent', { agent: agentId, body }), 'The agent has the result')
  }
  return (
    <form class="decision" ref={form} onSubmit={give}>
      <Asks wait={wait} />
      {wait.asks.length > 1 && (
        <>
          <label for={`call-${agentId}`}>Call</label>
          <select id={`call-${agentId}`} name="call">
            {wait.asks.map(({ call_id: id, tool, input }) => (
              <option key={id} value={id ?? ''}>
                {tool} {inputText(input).slice(0, 60)}
              </option>
            ))}
          </select>
        </>
      )}
      <label for={`token-${agentId}`}>Resume token</label>
      <input id={`token-${agentId}`} name="token" type="password" autocomplete="off" required />
      <label for={`result-${agentId}`}>Result</label>
      <textarea id={`result-${agentId}`} name="result" rows={2} />
      <label class="check">
        <input type="checkbox" name="failed" /> The call failed
      </label>
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Give the result
        </button>
      </div>
    </form>
  )
}

/** The calls, or the question. */
function Asks({ wait }: { wait: Wait }) {
  return (
    <div class="asks">
      {wait.asks.map(({ tool, input }, index) => (
        <div key={index} class="ask">
          {wait.kind === 'input' ? (
            <p class="question">
              <Words text={inputText(input)} />
            </p>
          ) : (
            <>
              <p class="ask-tool">
                <Words text={tool} />
              </p>
              <Code text={longInput(input)} label={`Input of ${tool}`} />
            </>
          )}
        </div>
      ))}
      {wait.deadline_at !== null && (
        <p class="hint">
          Decide before{' '}
          <time dateTime={wait.deadline_at}>
            {dateText(wait.deadline_at)} ({agoText(wait.deadline_at)})
          </time>
        </p>
      )}
    </div>
  )
}

/** One text as it is; several fields one below the other. */
function longInput(input: Record<string, unknown>): string {
  const fields = Object.entries(input)
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return only[1]
  return fields
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`)
    .join('\n')
}
