/** The models that Claude Code offers with its login. It lists them when a client initializes it, before any prompt. */
import type { CallOptions, ListedModel, ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { outputOf } from '../../shared/src/program/output-of.js'
import { parsedJson } from '../../shared/src/program/parse.js'
import { readSettings } from './settings.js'

const QUESTION = { type: 'control_request', request_id: 'models', request: { subtype: 'initialize' } }

export async function listModels(
  settings: ProviderSettings,
  { signal }: CallOptions,
): Promise<ListedModel[]> {
  const { command } = readSettings(settings)
  const stdout = await outputOf({
    name: command,
    argv: [command, '-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    cwd: settings.workspace,
    input: `${JSON.stringify(QUESTION)}\n`,
    isEnough: (text) => modelsIn(text) !== undefined,
    signal,
  })
  const models = modelsIn(stdout)
  if (models === undefined) throw failure('invalid_response', `${command} answered without a list of models`)
  return models.flatMap(({ value, description }) => {
    const [id, words] = [textOf(value), textOf(description)]
    return id === undefined ? [] : [{ id, ...(words !== undefined && { description: words }) }]
  })
}

function modelsIn(stdout: string): ReturnType<typeof objectsOf> | undefined {
  for (const line of stdout.split('\n').slice(0, -1)) {
    const message = objectOf(parsedJson(line))
    if (message?.type !== 'control_response') continue
    const models = objectOf(objectOf(message.response)?.response)?.models
    if (Array.isArray(models)) return objectsOf(models)
  }
  return undefined
}
