/** The catalog of models that Codex offers with the login and the configuration of this agent. */
import type { CallOptions, ListedModel, ProviderSettings } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { outputOf } from '../../shared/src/program/output-of.js'
import { parsedJson } from '../../shared/src/program/parse.js'
import { directLaunch } from './native.js'
import { readSettings } from './settings.js'

export async function listModels(
  settings: ProviderSettings,
  { signal }: CallOptions,
): Promise<ListedModel[]> {
  const own = readSettings(settings)
  const { command, env } = directLaunch(own.command, settings.workspace, process.env)
  const name = `${own.command.join(' ')} debug models`
  const argv: [string, ...string[]] = [
    ...command,
    'debug',
    'models',
    ...own.config.flatMap((value) => ['-c', value]),
  ]
  const stdout = await outputOf({ name, argv, cwd: settings.workspace, env, signal })
  const catalog = objectOf(parsedJson(stdout))
  if (!Array.isArray(catalog?.models)) throw failure('invalid_response', `${name} printed no list of models`)
  return objectsOf(catalog.models).flatMap(({ slug, description, visibility }) => {
    const [id, words] = [textOf(slug), textOf(description)]
    // Hidden ones are for codex itself.
    if (id === undefined || visibility === 'hide') return []
    return [{ id, ...(words !== undefined && { description: words }) }]
  })
}
