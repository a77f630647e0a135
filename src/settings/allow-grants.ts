/** The tools that the setting `allow` lets every agent use without approval. */
import type { Grant } from '../schema/output.js'
import type { Store } from '../storage/store.js'
import { parseNames } from './setting-kinds.js'
import { Settings } from './settings.js'

/** None for settings that cannot be used: then no turn begins, and `check` says why. */
export function allowGrants(store: Store | undefined): Grant[] {
  const { value, source } = Settings.readLeniently(store, () => undefined).get('allow')
  const by = source === 'environment' ? 'environment' : 'setting'
  return parseNames(value).map((entry) => ({ entry, by }))
}
