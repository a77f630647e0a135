/** The form by which a person raises a budget that is used up, or ends the turn that waits for it. */
import { useState } from 'preact/hooks'
import { call } from '../api/client.js'
import { ActionButton, useAction } from '../parts/action.js'
import { useFocusHandover } from '../parts/focus.js'
import { useMay } from '../state/right.js'
import type { Props } from './decisions.js'

export function BudgetForm({ agentId, wait }: Props) {
  const [amounts, setAmounts] = useState('')
  const { run, isBusy } = useAction()
  const form = useFocusHandover<HTMLFormElement>()
  const [mayAdd, mayEnd] = [useMay('all'), useMay('answer')]
  const decided = { agent: agentId, token_id: wait.token_id ?? undefined }
  const { agent, token_id } = decided
  const add = (event: Event): void => {
    event.preventDefault()
    void run(
      () => call('approveCalls', { agent, body: { token_id, add: amounts.trim() } }),
      'The turn goes on',
    )
  }
  const end = (
    <ActionButton request={() => call('denyCalls', { agent, body: { token_id } })} done="The turn has ended">
      End the turn
    </ActionButton>
  )
  if (!mayAdd) return mayEnd ? <div class="buttons">{end}</div> : null
  return (
    <form class="decision" ref={form} onSubmit={add}>
      <label for={`budget-${agentId}`}>Let the agent use this much more, such as tokens=200k</label>
      <input
        id={`budget-${agentId}`}
        name="amounts"
        value={amounts}
        onInput={(event) => setAmounts(event.currentTarget.value)}
      />
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Add
        </button>
        <ActionButton
          request={() => call('approveCalls', { agent, body: { token_id, once: true } })}
          done="The turn goes on"
        >
          Let this turn go on
        </ActionButton>
        {end}
      </div>
    </form>
  )
}
