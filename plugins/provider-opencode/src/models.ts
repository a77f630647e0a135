/** The models that OpenCode itself lists: of its logins and its configuration in the workspace. */
import type { CallOptions, ListedModel, ProviderSettings } from 'substrat/provider'
import { outputOf } from '../../shared/src/program/output-of.js'
import { readSettings } from './settings.js'

export async function listModels(
  settings: ProviderSettings,
  { signal }: CallOptions,
): Promise<ListedModel[]> {
  // Only a turn needs a model.
  const { command } = readSettings({ ...settings, model: null })
  const name = `${command} models`
  const argv: [string, ...string[]] = ['/bin/sh', '-c', name]
  const stdout = await outputOf({ name, argv, cwd: settings.workspace, signal })
  return stdout.split('\n').flatMap((line) => {
    const id = line.trim()
    return /^[^\s/]+\/\S+$/.test(id) ? [{ id }] : []
  })
}
