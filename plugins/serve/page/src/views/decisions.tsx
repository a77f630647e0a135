/** The form by which a person gives the result of a call. */
import { inputText } from 'substrat/entries'
import { call } from '../api/client.js'
import type { Wait } from '../api/types.js'
import { useAction } from '../parts/action.js'
import { useFocusHandover } from '../parts/focus.js'
import { useMay } from '../state/right.js'
import { Asks } from './asks.js'

export interface Props {
  agentId: string
  wait: Wait
}

/** The result of a call that another system computes. Only the holder of the resume token can give it. */
export function ResultForm({ agentId, wait }: Props) {
  const { run, isBusy } = useAction()
  const form = useFocusHandover<HTMLFormElement>()
  const mayGive = useMay('answer')
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
  if (!mayGive) return <Asks wait={wait} />
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
