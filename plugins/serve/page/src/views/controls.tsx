/** What a person can do with an agent. What ends something asks first. */
import { useState } from 'preact/hooks'
import { call, type Operation } from '../api/client.js'
import type { ShownAgent } from '../api/types.js'
import { useAction } from '../parts/action.js'
import { Confirm, type Question } from '../parts/dialog.js'
import { useMay } from '../state/right.js'

interface Control {
  id: string
  word: string
  isFor: (shown: ShownAgent) => boolean
  question: Omit<Question, 'onConfirm'>
  request: (agent: string, option: boolean) => Promise<unknown>
  done: string
}

const isOpen = ({ run, agent }: ShownAgent): boolean => run?.status === 'open' || agent.status !== 'idle'

/** A stopped process cannot end its turn. `holder` alone does not say whether it is stopped. */
export const isStopped = ({ holder, next }: ShownAgent): boolean =>
  holder !== null && next === `kill -CONT ${holder.pid}`

const CONTROLS: Control[] = [
  {
    id: 'cancelTurn',
    word: 'Force cancel',
    isFor: isStopped,
    question: {
      title: 'Kill the process and cancel the turn?',
      text: 'The process that runs the turn is stopped. It is killed, and the turn ends without a reply. The conversation stays.',
      confirm: 'Force cancel',
      isDangerous: true,
    },
    request: (agent) => call('cancelTurn', { agent, body: { force: true } }),
    done: 'The process is killed, and the turn is cancelled',
  },
  {
    id: 'cancelTurn',
    word: 'Cancel the turn',
    isFor: (shown) => isOpen(shown) && !isStopped(shown),
    question: {
      title: 'Cancel the turn?',
      text: 'The turn ends without a reply. The conversation stays.',
      confirm: 'Cancel the turn',
      option: 'Also those of the agents below it',
      isDangerous: true,
    },
    request: (agent, recursive) => call('cancelTurn', { agent, body: { recursive } }),
    done: 'The turn is cancelled',
  },
  {
    id: 'suspendAgent',
    word: 'Suspend',
    isFor: (shown) => !shown.hold && !isStopped(shown),
    question: {
      title: 'Suspend the agent?',
      text: 'It stops after its current step. Resume continues the turn.',
      confirm: 'Suspend',
      option: 'Hold it: start no new turn until it is resumed',
    },
    request: (agent, hold) => call('suspendAgent', { agent, body: { hold } }),
    done: 'The agent is suspended',
  },
  {
    id: 'resumeAgent',
    word: 'Resume',
    isFor: ({ hold, agent }) => hold || agent.status.startsWith('interrupted'),
    question: {
      title: 'Resume the agent?',
      text: 'It continues an interrupted turn and can start new ones.',
      confirm: 'Resume',
    },
    request: (agent) => call('resumeAgent', { agent }),
    done: 'The agent continues',
  },
  {
    id: 'gateAgent',
    word: 'Gate',
    isFor: ({ gate }) => !gate.gated,
    question: {
      title: 'Gate the agent?',
      text: 'It starts no turn until it is ungated. A running turn ends first.',
      confirm: 'Gate',
    },
    request: (agent) => call('gateAgent', { agent }),
    done: 'The agent is gated',
  },
  {
    id: 'ungateAgent',
    word: 'Ungate',
    isFor: ({ gate }) => gate.gated,
    question: { title: 'Ungate the agent?', text: 'It can start turns again.', confirm: 'Ungate' },
    request: (agent) => call('ungateAgent', { agent }),
    done: 'The agent can start turns',
  },
  {
    id: 'terminateAgent',
    word: 'Terminate',
    isFor: () => true,
    question: {
      title: 'Terminate the agent?',
      text: 'It ends permanently. Its log stays.',
      confirm: 'Terminate',
      option: 'Also the agents below it',
      isDangerous: true,
    },
    request: (agent, recursive) => call('terminateAgent', { agent, body: { recursive } }),
    done: 'The agent is terminated',
  },
] satisfies (Control & { id: Operation })[]

export function Controls({ shown, onChanged }: { shown: ShownAgent; onChanged: () => void }) {
  const [asked, setAsked] = useState<Control>()
  const { isBusy, run } = useAction()
  const mayControl = useMay('all')
  if (shown.agent.state === 'terminated' || !mayControl) return null
  const start = async (control: Control, option: boolean): Promise<void> => {
    await run(() => control.request(shown.agent.id, option), control.done)
    onChanged()
  }
  return (
    <div class="buttons controls">
      {CONTROLS.filter(({ isFor }) => isFor(shown)).map((control) => (
        <button
          key={control.word}
          type="button"
          class={control.id === 'terminateAgent' ? 'plain risky' : 'plain'}
          aria-disabled={isBusy}
          onClick={() => setAsked(control)}
        >
          {control.word}
        </button>
      ))}
      {asked !== undefined && (
        <Confirm
          question={{ ...asked.question, onConfirm: (option) => void start(asked, option) }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  )
}
