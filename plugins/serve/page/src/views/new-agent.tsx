/** Creates an agent, and with a first message starts its first turn. An error is shown at its field. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import { Problem } from '../api/problem.js'
import type { AnswerOf } from '../api/types.js'
import { bodyOf, type Field, fieldOf, OPTION } from '../model/new-agent.js'
import { type Told, toldOf } from '../model/problem-words.js'
import { NextStep } from '../parts/next-step.js'
import { visibleText } from '../parts/visible-text.js'
import { tell, tellError } from '../state/notes.js'
import { go } from '../state/router.js'

type Provider = AnswerOf<'listProviders'>['providers'][number]
type Wrong = Told & { field: Field | undefined }

export function NewAgentView() {
  const form = useRef<HTMLFormElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [wrong, setWrong] = useState<Wrong>()
  const [providers, setProviders] = useState<Provider[]>([])
  const [chosen, setChosen] = useState('')
  const models = useModels(chosen)
  useEffect(() => {
    call('listProviders').then(({ providers }) => setProviders(providers), tellError)
  }, [])
  // The reader is led to the first wrong field.
  useEffect(
    () => form.current?.querySelector<HTMLElement>('[aria-invalid=true], [role=alert]')?.focus(),
    [wrong],
  )
  const create = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    setBusy(true)
    setWrong(undefined)
    try {
      const made = await call('spawnAgent', { body: bodyOf(new FormData(form.current ?? undefined)) })
      tell('The agent is created')
      go({
        view: 'agent',
        id: typeof made.agent === 'string' ? made.agent : made.agent.id,
        tab: 'conversation',
      })
    } catch (error) {
      setBusy(false)
      if (!leadsToAgent(error)) setWrong({ ...toldOf(error), field: fieldOf(error) })
    }
  }
  const options = Object.entries(providers.find(({ name }) => name === chosen)?.options ?? {})
  const at = { wrong }
  return (
    <div class="column">
      <h1>New agent</h1>
      <form class="decision" ref={form} onSubmit={create} noValidate>
        {wrong !== undefined && wrong.field === undefined && (
          <div role="alert" tabIndex={-1}>
            <p class="error">{visibleText(wrong.text)}</p>
            <NextStep parts={wrong.next} />
          </div>
        )}
        <Labelled
          {...at}
          field="name"
          label="Name"
          hint="To address it, such as notes. Empty: it has only an id."
        >
          <input {...aria('name', wrong)} autocomplete="off" />
        </Labelled>
        <Labelled {...at} field="provider" label="Provider" hint={descriptionOf(providers, chosen)}>
          <select
            {...aria('provider', wrong)}
            value={chosen}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            <option value="">As the settings say</option>
            {providers
              .filter(({ kind }) => kind !== 'broken')
              .map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
          </select>
        </Labelled>
        <Labelled {...at} field="model" label="Model" hint="Empty: the default of the provider.">
          <input {...aria('model', wrong)} list="models" autocomplete="off" />
          <datalist id="models">
            {models.map(({ id, description }) => (
              <option key={id} value={id} label={description ?? undefined} />
            ))}
          </datalist>
        </Labelled>
        <Labelled
          {...at}
          field="workspace"
          label="Workspace"
          hint="Absolute path of its directory. Empty: that of the server."
        >
          <input {...aria('workspace', wrong)} autocomplete="off" spellcheck={false} />
        </Labelled>
        <Labelled
          {...at}
          field="instructions"
          label="Instructions"
          hint="Its system prompt. It reads them in each turn."
        >
          <textarea {...aria('instructions', wrong)} rows={2} />
        </Labelled>
        <Labelled
          {...at}
          field="prompt"
          label="First message"
          hint="Starts its first turn. Empty: it waits for a message."
        >
          <textarea {...aria('prompt', wrong)} rows={3} />
        </Labelled>
        <Labelled
          {...at}
          field="allow"
          label="Runs without approval"
          hint="Tools, separated by commas, such as write_file, shell(npm test*). Empty: it asks for each."
        >
          <input {...aria('allow', wrong)} autocomplete="off" spellcheck={false} />
        </Labelled>
        {options.length > 0 && (
          <details class="fold" open={wrong?.field === 'options'}>
            <summary>Options of {chosen}</summary>
            {wrong?.field === 'options' && <FieldError wrong={wrong} />}
            {options.map(([name, help]) => (
              <div key={`${chosen} ${name}`} class="field">
                <label for={`option-${name}`}>{name}</label>
                <input
                  id={`option-${name}`}
                  name={`${OPTION}${name}`}
                  autocomplete="off"
                  aria-describedby={`help-${name}`}
                />
                <p class="hint" id={`help-${name}`}>
                  {help}
                </p>
              </div>
            ))}
          </details>
        )}
        <div class="buttons">
          <button type="submit" class="primary" aria-disabled={isBusy}>
            {isBusy ? 'Creating…' : 'Create the agent'}
          </button>
          <a class="button plain" href="#/agents">
            Go back
          </a>
        </div>
      </form>
    </div>
  )
}

/** The agent is there, although its first turn could not begin: its own view says why. */
function leadsToAgent(error: unknown): boolean {
  if (!(error instanceof Problem) || typeof error.facts.agent_id !== 'string') return false
  if (error.code === 'NAME_TAKEN') return false
  tellError(error)
  go({ view: 'agent', id: error.facts.agent_id, tab: 'conversation' })
  return true
}

/** Empty if the provider has no list: any model can be typed. */
function useModels(provider: string): AnswerOf<'listProviderModels'>['models'] {
  const [models, setModels] = useState<AnswerOf<'listProviderModels'>['models']>([])
  useEffect(() => {
    setModels([])
    if (provider === '') return
    const gone = new AbortController()
    call('listProviderModels', { query: { provider }, signal: gone.signal }).then(
      ({ models }) => setModels(models),
      () => undefined,
    )
    return () => gone.abort()
  }, [provider])
  return models
}

function descriptionOf(providers: readonly Provider[], chosen: string): string {
  const { description = '', keys = [] } = providers.find(({ name }) => name === chosen) ?? {}
  if (chosen === '') return 'The setting "provider" of the home.'
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.${keys.length === 0 ? '' : ` Its key is in the environment of the server: ${keys.join(' or ')}.`}`
}

function aria(field: Field, wrong: Wrong | undefined) {
  const isWrong = wrong?.field === field
  return {
    id: `new-${field}`,
    name: field,
    'aria-invalid': isWrong ? ('true' as const) : undefined,
    'aria-describedby': `${isWrong ? `wrong-${field} ` : ''}hint-${field}`,
  }
}

function Labelled(props: {
  field: Field
  label: string
  hint: string
  wrong: Wrong | undefined
  children: ComponentChildren
}) {
  const { field, wrong } = props
  return (
    <div class="field">
      <label for={`new-${field}`}>{props.label}</label>
      {props.children}
      {wrong?.field === field && <FieldError wrong={wrong} />}
      <p class="hint" id={`hint-${field}`}>
        {props.hint}
      </p>
    </div>
  )
}

function FieldError({ wrong }: { wrong: Wrong }) {
  return (
    <div id={`wrong-${wrong.field}`}>
      <p class="error">{visibleText(wrong.text)}</p>
      <NextStep parts={wrong.next} />
    </div>
  )
}
