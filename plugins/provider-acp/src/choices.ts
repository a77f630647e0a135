/**
 * Selects the model and the mode of a session. Agents offer them as configuration options with a category; older
 * agents, as separate lists.
 */
import type { JsonObject } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import type { Bounds, Connection } from './connection.js'
import type { OpenSession } from './open.js'

/** A setting that the agent offers, and the request that changes it. */
interface Choice {
  current: string | undefined
  values: { value: string; name: string }[]
  method: string
  params(value: string): object
}

const NAMED_MAX = 20

/** Returns the selected value; undefined if none is wanted. */
export async function choose(
  connection: Connection,
  { sessionId, offer }: OpenSession,
  what: 'model' | 'mode',
  wanted: string | null | undefined,
  bounds: Bounds,
): Promise<string | undefined> {
  if (wanted === null || wanted === undefined || wanted.trim() === '') return undefined
  const choice = optionOf(offer, what) ?? (what === 'mode' ? modesOf(offer) : modelsOf(offer))
  if (choice === undefined) {
    throw failure(
      'misconfigured',
      `this agent does not let its client set the ${what}; set it in the agent's configuration or in --option command`,
    )
  }
  const { current, values, method, params } = choice
  const found = values.find(({ value }) => value === wanted) ?? values.find(({ name }) => name === wanted)
  if (found === undefined) {
    const named = values.slice(0, NAMED_MAX).map(({ value }) => value)
    const rest = values.length > named.length ? ` and ${values.length - named.length} more` : ''
    throw failure(
      'misconfigured',
      `the agent has no ${what} ${wanted}; use one of ${named.join(', ')}${rest}`,
    )
  }
  if (found.value !== current) await connection.ask(method, { sessionId, ...params(found.value) }, bounds)
  return found.value
}

/** The model that the agent uses for the session, if it names one. */
export function currentModel(offer: JsonObject): string | undefined {
  return (optionOf(offer, 'model') ?? modelsOf(offer))?.current
}

function optionOf(offer: JsonObject, what: string): Choice | undefined {
  const selects = objectsOf(offer.configOptions).filter(({ type }) => type === 'select')
  const option = selects.find(({ category }) => category === what) ?? selects.find(({ id }) => id === what)
  if (option === undefined) return undefined
  // The options can be in groups.
  const entries = objectsOf(option.options).flatMap((entry) =>
    entry.options === undefined ? [entry] : objectsOf(entry.options),
  )
  return {
    current: textOf(option.currentValue),
    values: namedChoices(entries, 'value'),
    method: 'session/set_config_option',
    params: (value) => ({ configId: option.id, value }),
  }
}

function modesOf(offer: JsonObject): Choice | undefined {
  const modes = objectOf(offer.modes)
  if (modes === undefined) return undefined
  return {
    current: textOf(modes.currentModeId),
    values: namedChoices(objectsOf(modes.availableModes), 'id'),
    method: 'session/set_mode',
    params: (modeId) => ({ modeId }),
  }
}

function modelsOf(offer: JsonObject): Choice | undefined {
  const models = objectOf(offer.models)
  if (models === undefined) return undefined
  return {
    current: textOf(models.currentModelId),
    values: namedChoices(objectsOf(models.availableModels), 'modelId'),
    method: 'session/set_model',
    params: (modelId) => ({ modelId }),
  }
}

function namedChoices(entries: JsonObject[], key: string): { value: string; name: string }[] {
  return entries.flatMap((entry) => {
    const value = textOf(entry[key])
    return value === undefined ? [] : [{ value, name: textOf(entry.name) ?? value }]
  })
}
