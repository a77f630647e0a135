/** Digests of all that a migration copies: two homes have the same content if these are equal. */
import { OPERATOR } from '../../format.js'
import { sha256Hex } from '../../start/hash.js'
import type { KeptThings } from '../../storage/open.js'
import type { Mail, Store, Unframed } from '../../storage/store.js'

interface Home {
  store: Store
  kept: KeptThings
}

/** The names of the things that are not the same in both. */
export function differences(source: Home, target: Home): string[] {
  const [one, other] = [digestsOf(source), digestsOf(target)]
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => one.get(name) !== other.get(name))
}

function digestsOf({ store, kept }: Home): Map<string, string> {
  const found = new Map<string, string>()
  const put = (name: string, bytes: Buffer | string): void => void found.set(name, sha256Hex(bytes))
  const putMail = (
    to: string,
    ids: string[],
    kind: string,
    read: (id: string) => Unframed | undefined,
  ): void => {
    for (const id of ids) put(`${kind} ${to}/${id}`, JSON.stringify(read(id)))
  }
  const { mail }: { mail: Mail } = store
  put('config', store.readConfig() ?? '')
  put('home', store.homeId)
  put(
    'gone hosts',
    JSON.stringify(
      store.hosts
        .all()
        .map(({ kernel_boot_id }) => kernel_boot_id)
        .sort(),
    ),
  )
  put('moves', JSON.stringify(kept.moves.map(({ agentId, moveId }) => `${agentId}.${moveId}`).sort()))
  for (const each of kept.removed) put(`removed agent ${each.agent_id}`, JSON.stringify(each))
  for (const { messageId, message, takenMs } of kept.taken)
    put(`taken message ${messageId}`, JSON.stringify([message, Math.floor(takenMs / 1000)]))
  putMail(OPERATOR, mail.ids(OPERATOR), 'message', (id) => mail.read(OPERATOR, id))
  putNames(store, null, put)
  for (const id of store.agentIds()) {
    const log = store.openLog(id)
    put(`log ${id}`, log?.read(0, log.size()) ?? '')
    log?.close()
    for (const blob of store.upkeep.blobNames(id))
      put(`blob ${id}/${blob}`, store.readBlob(id, { blob, bytes: 0 }))
    const index = store.keys.open(id)
    put(`keys ${id}`, index?.entries() ?? '')
    index?.close()
    putMail(id, mail.ids(id), 'message', (messageId) => mail.read(id, messageId))
    putMail(id, mail.idsToReturn(id), 'returned message', (messageId) => mail.readToReturn(id, messageId))
    putNames(store, id, put)
  }
  return found
}

function putNames(store: Store, parentId: string | null, put: (name: string, text: string) => void): void {
  const names = store.names(parentId)
  const ids = names.entries().flatMap(({ agentId }) => agentId ?? [])
  const entries = [...new Set(ids)].map((id) => [id, names.nameOf(id)]).sort()
  if (entries.length > 0) put(`names below ${parentId ?? 'the home'}`, JSON.stringify(entries))
}
