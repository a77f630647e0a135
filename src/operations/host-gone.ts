/** `recover --host-gone`: a person declares that the processes of a host are dead, because no other host can check them. */
import { refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { SubstratError, shellWord } from '../errors.js'
import { hostName, ownIdentity } from '../host/identity.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import type { GoneHost } from '../storage/store.js'

/** The shortest part of a host id that names a host. */
const ID_CHARACTERS_MIN = 8

/** On return, every kernel boot of that host that a log of this home names is durably declared gone. */
export function declareHostGone({ store, caller, reporter }: Context, word: string): void {
  refuseInTool(caller, 'declare a host gone')
  const own = ownIdentity()
  const known = store.agentIds().flatMap((id) => {
    const state = readableState(store, id)
    return state === undefined ? [] : hostsIn(state)
  })
  // The command may be a repetition: the logs may no longer name the host.
  const declared = store.hosts.all()
  const others = [...known, ...declared].filter(({ kernel_boot_id }) => kernel_boot_id !== own.kernel_boot_id)
  const found = others.filter((host) => isNamed(host, word))
  const isOwn = isNamed({ host_id: own.host_id ?? '', host_name: hostName() }, word)
  if (found.length === 0) throw isOwn ? ownHostError(word) : unknownHostError(word, others)
  const ids = [...new Set(found.map(({ host_id }) => host_id))]
  if (ids.length > 1) throw ambiguousError(word, ids)
  const boots = new Map(found.map((host) => [host.kernel_boot_id, host]))
  for (const host of boots.values()) store.hosts.declare(host)
  reporter.note(`the processes of host ${word} count as dead`)
}

/** The hosts of the run's process and of every recorded program. */
function hostsIn({ run, warm }: State): GoneHost[] {
  const [runBoot = ''] = run?.boot_id.split('/') ?? []
  const groups = [
    run?.process,
    ...(run?.calls.map(({ group }) => group) ?? []),
    ...(run?.servers ?? []),
    ...(run?.left?.groups ?? []),
    warm?.group,
  ]
  const places = [{ kernel_boot_id: runBoot, host_id: run?.host_id }, ...groups]
  return places.flatMap((place) => {
    if (place?.host_id === undefined) return []
    const { kernel_boot_id, host_id } = place
    const host_name = (host_id === run?.host_id ? run.host_name : undefined) ?? null
    return [{ kernel_boot_id, host_id, host_name }]
  })
}

function isNamed({ host_id, host_name }: Omit<GoneHost, 'kernel_boot_id'>, word: string): boolean {
  return host_name === word || (word.length >= ID_CHARACTERS_MIN && host_id.startsWith(word))
}

function ownHostError(word: string): SubstratError {
  return new SubstratError('USAGE', `${word} is this host, whose processes substrat checks itself`, {
    hint: 'recover it: substrat recover --all',
    facts: { host: word },
  })
}

function unknownHostError(word: string, others: GoneHost[]): SubstratError {
  const labels = [...new Set(others.map(({ host_name, host_id }) => host_name ?? host_id))]
  return new SubstratError('USAGE', `no agent of this home has run on the host ${JSON.stringify(word)}`, {
    hint:
      labels.length === 0
        ? 'every agent has run on this host only: substrat recover --all'
        : `name one of these hosts: ${labels.map(shellWord).join(', ')}`,
    facts: { host: word },
  })
}

function ambiguousError(word: string, ids: string[]): SubstratError {
  return new SubstratError('USAGE', `${ids.length} hosts have the name ${word}`, {
    hint: `name one of them by its id: ${ids.join(', ')}`,
    facts: { host: word },
  })
}
