/**
 * Bundles that another home made. Their agents bring their settings: the tools that need no approval, and the program of an
 * `exec` agent.
 *
 * This home made a bundle if it has each agent, and the log in the bundle is the beginning of that agent's log here. No other
 * author can know these bytes without having them from this home, so nothing in the bundle needs to be believed.
 */
import { messagesOf } from '../../dispatch/arrive.js'
import type { BundledFiles } from '../../files/bundle.js'
import type { NamedOptions } from '../../schema/message.js'
import { recordAt } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { isUnfinished } from '../../session/status.js'
import { BytesLog, type Store } from '../../storage/store.js'
import { type ImportRequest, textIn } from './imported-log.js'

/** Throws what `confirm` throws. Writes nothing. `states`: the agents as they would be imported. */
export async function confirmForeign(
  store: Store,
  bundle: BundledFiles,
  states: State[],
  { confirm, workspace }: Pick<ImportRequest, 'confirm' | 'workspace'>,
): Promise<void> {
  if (confirm === undefined || isOfThisHome(store, bundle)) return
  await confirm(
    states.map((state) => whatRuns(state, workspace ?? state.workspace, rightsAlong(state, bundle))),
  )
}

function isOfThisHome(store: Store, { logs }: BundledFiles): boolean {
  return [...logs].every(([id, bytes]) => {
    const log = store.openLog(id)
    try {
      return log !== undefined && log.size() >= bytes.length && log.read(0, bytes.length).equals(bytes)
    } finally {
      log?.close()
    }
  })
}

/** The rights of its unfinished turn, and of the messages that a move brings along. */
function rightsAlong(state: State, { logs, blobs }: BundledFiles): string[] {
  const { id, moved, run } = state
  const ofRun = run !== null && isUnfinished(state) ? run.allow : []
  const bytes = logs.get(id)
  const record =
    moved === undefined || bytes === undefined
      ? undefined
      : recordAt(new BytesLog(state.path, bytes), moved.at)
  if (record?.kind !== 'session.moved') return ofRun
  const messages = messagesOf(textIn(blobs.get(id) as Map<string, Buffer>, record.content)) as NamedOptions[]
  return [...ofRun, ...messages.flatMap(({ allow }) => allow ?? [])]
}

function whatRuns(
  { path, provider_name, allow: own, options }: State,
  workspace: string,
  along: string[],
): string {
  const allow = [...new Set([...own, ...along])]
  const set = Object.entries(options).map(([name, value]) => `${name}=${value}`)
  const allowed = allow.length === 0 ? [] : [`--allow ${allow.join(',')}`]
  return `${path}: ${[`provider ${provider_name}`, ...set, ...allowed, `in ${workspace}`].join('; ')}`
}
