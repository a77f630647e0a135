/**
 * The kept servers of a home that leaves. In the target, a process whose SUBSTRAT_HOME names the source counts as another home's, so
 * a turn there would start a second program beside it.
 */
import { keptServerError, killServerProcesses } from '../../provider/kept-server.js'
import { placeOfGroup } from '../../provider/other-host.js'
import { openForRead } from '../../session/load.js'
import type { Store } from '../../storage/store.js'

const GRACE_MS = 1000

/** `home`: the address under which they run. The home has closed, so no record says that they ended: the next turn finds them gone. */
export async function endKeptServers(store: Store, home: string): Promise<void> {
  for (const id of store.agentIds()) {
    const state = openForRead(store, id)?.state
    const warm = state?.warm
    // A server of another host runs until its idle time is over, and a turn on this host is refused.
    if (state === undefined || warm === undefined || placeOfGroup(store, state, warm.group) !== 'here')
      continue
    const outcome = await killServerProcesses(home, warm, GRACE_MS)
    if (outcome !== 'killed' && outcome !== 'gone') throw keptServerError(state)
  }
}
