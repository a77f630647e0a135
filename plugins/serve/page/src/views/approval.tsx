/** The forms by which a person approves the calls of an agent, changes their arguments, or denies them. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import { Problem } from '../api/problem.js'
import type { PendingCalls, Wait } from '../api/types.js'
import { ActionButton, useAction } from '../parts/action.js'
import { useFocusHandover } from '../parts/focus.js'
import { tellError } from '../state/notes.js'
import { useMay } from '../state/right.js'
import { Asks } from './asks.js'
import type { Props } from './decisions.js'

/** The token id ties a decision to the wait that the reader sees: a decision about an older one is refused. */
function tied(wait: Wait): { token_id?: string } {
  return wait.token_id === null ? {} : { token_id: wait.token_id }
}

/** The calls with their whole arguments. Undefined until the answer, and for a wait that is over. */
function usePending({ agentId, wait }: Props): PendingCalls | undefined {
  const [pending, setPending] = useState<PendingCalls>()
  useEffect(() => {
    const gone = new AbortController()
    void call('showPending', { agent: agentId, signal: gone.signal }).then(setPending, () => undefined)
    return () => gone.abort()
  }, [agentId, wait.token_id])
  return pending?.token_id === wait.token_id ? pending : undefined
}

export function ApprovalForm({ agentId, wait }: Props) {
  const [form, setForm] = useState<'deny' | 'edit'>()
  const pending = usePending({ agentId, wait })
  const mayDecide = useMay('answer')
  const onBack = (): void => setForm(undefined)
  if (form === 'edit' && pending !== undefined)
    return <EditForm agentId={agentId} pending={pending} onBack={onBack} />
  return (
    <>
      {pending === undefined ? <Asks wait={wait} /> : <Asks wait={wait} asks={pending.calls} />}
      {!mayDecide ? null : form === 'deny' ? (
        <DenyForm agentId={agentId} wait={wait} onBack={onBack} />
      ) : (
        <Choice agentId={agentId} wait={wait} canEdit={pending?.can_be_edited === true} onForm={setForm} />
      )}
    </>
  )
}

function Choice({
  agentId,
  wait,
  canEdit,
  onForm,
}: Props & { canEdit: boolean; onForm: (form: 'deny' | 'edit') => void }) {
  const buttons = useFocusHandover<HTMLDivElement>()
  // The arguments of a call, and the right of later calls.
  const mayChoose = useMay('all')
  return (
    <div class="buttons" ref={buttons}>
      <ActionButton
        look="primary"
        request={() => call('approveCalls', { agent: agentId, body: tied(wait) })}
        done="Approved"
      >
        Approve
      </ActionButton>
      {canEdit && mayChoose && (
        <button type="button" class="plain" onClick={() => onForm('edit')}>
          Edit…
        </button>
      )}
      {mayChoose && (
        <ActionButton
          request={() => call('approveCalls', { agent: agentId, body: { ...tied(wait), always: true } })}
          done="Approved, and allowed from the next turn on"
        >
          Always allow
        </ActionButton>
      )}
      <button type="button" class="plain" onClick={() => onForm('deny')}>
        Deny…
      </button>
    </div>
  )
}

interface EditProps {
  agentId: string
  pending: PendingCalls
  onBack: () => void
}

/** A field for each argument. A text is shown as it is, any other value as JSON. */
function EditForm({ agentId, pending, onBack }: EditProps) {
  const form = useFocusHandover<HTMLFormElement>()
  const { run, isBusy } = useAction()
  const approve = (event: Event): void => {
    event.preventDefault()
    try {
      const edits = editsOf(pending, new FormData(form.current ?? undefined))
      const body = { token_id: pending.token_id as string, ...(edits.length === 0 ? {} : { edits }) }
      const done = edits.length === 0 ? 'Approved' : 'Approved with your arguments'
      void run(() => call('approveCalls', { agent: agentId, body }), done)
    } catch (error) {
      tellError(error)
    }
  }
  return (
    <form class="decision" ref={form} onSubmit={approve}>
      {pending.calls.map(({ call_id: id, tool, input }, at) => (
        <fieldset key={id}>
          <legend>{tool}</legend>
          {Object.entries(input).map(([name, value]) => (
            <div key={name}>
              <label for={`edit-${agentId}-${at}-${name}`}>{name}</label>
              <textarea
                id={`edit-${agentId}-${at}-${name}`}
                name={`${at} ${name}`}
                rows={Math.min(12, textOf(value).split('\n').length + 1)}
                spellcheck={false}
                defaultValue={textOf(value)}
              />
            </div>
          ))}
        </fieldset>
      ))}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={isBusy}>
          Approve these arguments
        </button>
        <GoBack onBack={onBack} />
      </div>
    </form>
  )
}

/** The calls that the person changed. Throws for a value that is not JSON. */
function editsOf({ calls }: PendingCalls, data: FormData): { call_id: string; input: Input }[] {
  return calls.flatMap(({ call_id, input }, at) => {
    const fields = Object.entries(input).map(([name, value]): [string, unknown] => {
      // A form sends line breaks as CRLF.
      const text = String(data.get(`${at} ${name}`) ?? '').replaceAll('\r\n', '\n')
      if (text === textOf(value)) return [name, value]
      return [name, typeof value === 'string' ? text : parsed(name, text)]
    })
    const isChanged = fields.some(([name, value]) => value !== input[name])
    return isChanged ? [{ call_id, input: Object.fromEntries(fields) }] : []
  })
}

type Input = Record<string, unknown>

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem(`${name} is not valid JSON`, 'USAGE', 400, 'correct it, or go back')
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

function DenyForm({ agentId, wait, onBack }: Props & { onBack: () => void }) {
  const [reason, setReason] = useState('')
  const { run, isBusy } = useAction()
  const form = useFocusHandover<HTMLFormElement>()
  const field = useRef<HTMLInputElement>(null)
  // The attribute autofocus works only once in the life of a page.
  useLayoutEffect(() => field.current?.focus(), [])
  const deny = (event: Event): void => {
    event.preventDefault()
    const body = { ...tied(wait), ...(reason.trim() === '' ? {} : { reason }) }
    void run(() => call('denyCalls', { agent: agentId, body }), 'Denied')
  }
  return (
    <form class="decision" ref={form} onSubmit={deny}>
      <label for={`reason-${agentId}`}>Reason, which the agent reads (optional)</label>
      <input
        id={`reason-${agentId}`}
        ref={field}
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <div class="buttons">
        <button type="submit" class="danger" aria-disabled={isBusy}>
          Deny
        </button>
        <GoBack onBack={onBack} />
      </div>
    </form>
  )
}

function GoBack({ onBack }: { onBack: () => void }) {
  return (
    <button type="button" class="plain" onClick={onBack}>
      Go back
    </button>
  )
}
