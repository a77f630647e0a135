/** The models and modes of an agent, as far as its provider has a list of them. */
import type { Commands } from '../../shared/src/face/commands.js'
import type { Choice } from './protocol.js'

/** The provider options that are a mode, and their values. The providers check them. */
const MODES: Record<string, { option: string; values: string[] }> = {
  'claude-code': {
    option: 'permission_mode',
    values: ['default', 'acceptEdits', 'plan', 'auto', 'dontAsk', 'bypassPermissions'],
  },
  codex: { option: 'sandbox', values: ['read-only', 'workspace-write', 'danger-full-access'] },
}

/** An API that lists its models slowly does not delay a session for longer. */
const MODELS_MS = 2000

interface Shown {
  agent: { provider: string; model: string | null }
  options: Record<string, string>
}

export class Choices {
  /** By provider. A provider without a list has no models. */
  private readonly models = new Map<string, Promise<Choice['values']>>()

  constructor(private readonly commands: Commands) {}

  /** `onLate` receives all choices if the models come after the answer. */
  async of(shown: Shown, onLate: (choices: Choice[]) => void): Promise<Choice[]> {
    const modes = modesOf(shown)
    const loading = this.modelsOf(shown.agent.provider)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), MODELS_MS)
    })
    const models = await Promise.race([loading, late])
    clearTimeout(timer)
    if (models !== undefined) return [...modelChoice(shown, models), ...modes]
    void loading.then((found) => onLate([...modelChoice(shown, found), ...modes]))
    return modes
  }

  private modelsOf(provider: string): Promise<Choice['values']> {
    const known = this.models.get(provider) ?? this.load(provider)
    this.models.set(provider, known)
    return known
  }

  private async load(provider: string): Promise<Choice['values']> {
    try {
      const { models } = await this.commands.result<{ models: { id: string }[] }>([
        'models',
        provider,
        '--json',
      ])
      return models.map(({ id }) => ({ value: id, name: id }))
    } catch {
      return []
    }
  }
}

/** The arguments of `substrat set` that make this choice. Undefined if the agent does not have it. */
export function settingOf({ agent }: Shown, choice: string, value: string): string[] | undefined {
  if (choice === 'model') return [`--model=${value}`]
  const mode = MODES[agent.provider]
  return choice === 'mode' && mode !== undefined ? [`--option=${mode.option}=${value}`] : undefined
}

function modelChoice({ agent: { model } }: Shown, models: Choice['values']): Choice[] {
  if (model === null || models.length === 0) return []
  const values = models.some(({ value }) => value === model)
    ? models
    : [{ value: model, name: model }, ...models]
  return [{ id: 'model', name: 'Model', current: model, values }]
}

function modesOf({ agent: { provider }, options }: Shown): Choice[] {
  const mode = MODES[provider]
  if (mode === undefined) return []
  const { option, values } = mode
  const current = options[option] ?? ''
  const named = values.map((value) => ({ value, name: value }))
  const unset = { value: '', name: 'as the program is configured' }
  return [{ id: 'mode', name: 'Mode', current, values: current === '' ? [unset, ...named] : named }]
}
