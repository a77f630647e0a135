/** From an action to the words of a command, on one home: places become agents, tokens the ones that were told there. */
import { openForRead } from '../../src/session/open-for-read.js'
import type { State } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Host, Told } from './host.js'
import { messageOf, type Program } from './program.js'
import { type Action, PLACES, type Place } from './steps.js'

/** All of the tree, but what a person is to be asked about. */
const ALLOWED = [
  'spawn_agent',
  'send_message',
  'broadcast',
  'complete',
  'poke',
  'remind_me',
  'cancel_reminder',
  'gate',
  'ungate',
  'permit_turn',
  'subscribe',
  'unsubscribe',
  'shell',
].join(',')

const FITS: Partial<Record<Action['do'], (state: State) => boolean>> = {
  decide: isAsking,
  rotate: isAsking,
  cancel: isAsking,
  resume: ({ hold, recovery }) => hold || recovery.interruption !== null,
  ungate: ({ gate }) => gate.isGated,
  retry: ({ run }) => run?.status === 'failed' || run?.status === 'cancelled',
}

function isAsking({ run }: State): boolean {
  return run?.status === 'open' && run.wait !== null
}

type Sending = Extract<Action, { do: 'send' }>

/** The message that a command brings. */
export interface Brought {
  id: string
  content: string
  key: string | null
}

export interface Words {
  argv: string[]
  /** Whom it is about; undefined where nobody is there. */
  agentId: string | undefined
  message: Brought | undefined
}

/** What those who give the commands know of a home besides what is on its disk. */
export class Person {
  /** Every message that was written, by its id. */
  readonly contents = new Map<string, string>()
  /** By agent, the secrets that were told, the latest last. */
  private readonly secrets = new Map<string, string[]>()
  private readonly keyed = new Map<Place, Brought>()

  constructor(private readonly host: Pick<Host, 'home' | 'workspace' | 'pace'>) {}

  private get home(): string {
    return this.host.home
  }

  /** `id` is that of the messages in it. */
  words(given: Action, id: string): Words {
    const action = this.aimed(given)
    const agentId = 'at' in action && typeof action.at === 'string' ? this.agentAt(action.at) : undefined
    const message = this.messageIn(action, id)
    return { argv: [...this.argvOf(action, id, agentId, message?.content), '--json'], agentId, message }
  }

  /** What only an agent in some state can be asked is asked of one that is, where there is one. */
  private aimed(action: Action): Action {
    const fits = FITS[action.do]
    const store = FileStore.openForRead(this.home)
    if (fits === undefined || store === undefined || !('at' in action)) return action
    const states = store.agentIds().flatMap((id) => openForRead(store, id)?.state ?? [])
    const paths = states
      .filter((state) => state.state !== 'terminated' && fits(state))
      .map(({ path }) => path)
    const [first = action.at] = paths.sort()
    return paths.includes(action.at as string) ? action : ({ ...action, at: first } as Action)
  }

  /** Keeps what was told: secrets of tokens. */
  hear({ stdout, stderr }: Told): void {
    for (const [, agent, secret] of stderr.matchAll(/agent (\S+) waits for a decision; token (st_\S+)/g))
      this.learn(agent as string, secret as string)
    for (const text of [stdout, ...stdout.split('\n')]) {
      const { agent, wait } = parsed(text)
      if (typeof agent?.id === 'string' && typeof wait?.token === 'string') this.learn(agent.id, wait.token)
    }
  }

  agentAt(place: string): string | undefined {
    try {
      return resolveAgent(FileStore.openForRead(this.home), place)
    } catch {
      return undefined
    }
  }

  stateOf(agentId: string | undefined): State | undefined {
    const store = FileStore.openForRead(this.home)
    if (store === undefined || agentId === undefined || !store.hasAgent(agentId)) return undefined
    return openForRead(store, agentId)?.state
  }

  /** The one that opens the wait of now, where it was told. */
  secretFor(agentId: string | undefined): string | undefined {
    const wanted = this.stateOf(agentId)?.run?.wait?.resume_token_id
    return this.told(agentId).find((secret) => wanted != null && secret.startsWith(`st_${wanted}_`))
  }

  /** Of the right form, for the right wait. */
  private forgedFor(agentId: string | undefined): string | undefined {
    const wanted = this.stateOf(agentId)?.run?.wait?.resume_token_id
    return wanted == null ? undefined : `st_${wanted}_${'x'.repeat(32)}`
  }

  private told(agentId: string | undefined): string[] {
    return this.secrets.get(agentId ?? '') ?? []
  }

  private learn(agentId: string, secret: string): void {
    const known = this.told(agentId)
    if (!known.includes(secret)) this.secrets.set(agentId, [...known, secret])
  }

  private messageIn(action: Action, id: string): Brought | undefined {
    if (action.do === 'spawn') return this.written(id, action.prompt)
    if (action.do !== 'send') return undefined
    const key = keyOf(action)
    const earlier = key === 'again' ? this.keyed.get(action.at) : undefined
    if (earlier !== undefined) return earlier
    const { turnTimeout, program } = action
    const message = this.written(
      id,
      turnTimeout ? { ...program, delay: 10 * this.host.pace.turnTimeoutMs } : program,
    ) as Brought
    if (key === 'none') return message
    const keyed = { ...message, key: `key ${id}` }
    this.keyed.set(action.at, keyed)
    return keyed
  }

  private written(id: string, program: Program | null): Brought | undefined {
    if (program === null) return undefined
    const content = messageOf(id, program, (each, text) => this.contents.set(each, text))
    return { id, content, key: null }
  }

  private argvOf(
    action: Action,
    id: string,
    agentId: string | undefined,
    content: string | undefined,
  ): string[] {
    switch (action.do) {
      case 'spawn':
        return this.spawnOf(action, content)
      case 'send':
        return this.sendOf(action, content as string)
      case 'decide':
        return this.decisionOf(action, agentId)
      case 'rotate':
        return ['token', 'rotate', action.at]
      case 'suspend':
        return ['suspend', action.at, ...(action.hold ? ['--hold'] : [])]
      case 'cancel':
      case 'terminate':
      case 'remove':
        return [action.do, action.at, ...(action.recursive ? ['--recursive'] : [])]
      case 'fork':
        return ['fork', action.at, '--name', `f${id}`]
      case 'set':
        return ['set', action.at, '--model', `m${id}`]
      case 'deliver':
        return ['deliver', action.at ?? '--all']
      case 'recover':
        return ['recover', '--all', '--continue', action.continues]
      case 'wait':
        return ['wait', ...action.at, '--timeout', '20s']
      case 'prune':
        return ['prune', '--older-than', '1h']
      case 'look':
        return action.with === 'show' || action.with === 'log' ? [action.with, action.at] : [action.with]
      default:
        return [action.do, action.at]
    }
  }

  private spawnOf({ at, ifExists }: Extract<Action, { do: 'spawn' }>, prompt: string | undefined): string[] {
    const place = placeOf(at)
    return [
      'spawn',
      ...(prompt === undefined ? [] : [prompt]),
      '--name',
      place.name,
      ...(place.parent === undefined ? [] : ['--parent', place.parent]),
      ...[
        '--provider',
        'fuzz',
        '--workspace',
        this.host.workspace,
        '--allow',
        ALLOWED,
        '--if-exists',
        ifExists,
      ],
    ]
  }

  private sendOf(action: Sending, content: string): string[] {
    const { at, how, drains, ifWaiting, turnTimeout } = action
    const keyed = keyOf(action) === 'none' ? [] : ['--key', this.keyed.get(at)?.key as string]
    const timed = turnTimeout ? ['--turn-timeout', `${this.host.pace.turnTimeoutMs}ms`] : []
    const rest = [...keyed, ...timed, ...(drains ? [] : ['--no-drain'])]
    switch (how) {
      case 'direct':
        return ['send', at, content, '--if-waiting', ifWaiting, ...rest]
      case 'queue':
        return ['send', at, content, '--queue', ...rest]
      case 'notification':
        return ['send', at, content, '--kind', 'notification', ...rest]
      case 'later':
        return ['send', at, content, '--not-before', `${this.host.pace.laterMs}ms`, ...rest]
      case 'from_parent':
      case 'from_sibling': {
        const from = how === 'from_parent' ? placeOf(at).parent : siblingOf(at)
        return ['send', at, content, ...(from === undefined ? ['--queue'] : ['--from', from]), ...rest]
      }
    }
  }

  private decisionOf(
    { at, decision, by }: Extract<Action, { do: 'decide' }>,
    agentId: string | undefined,
  ): string[] {
    const canBeSaid = decision === 'approve' || decision === 'deny'
    if (by === 'machine' && canBeSaid) return [decision, at]
    const secret = this.secretFor(agentId)
    const others = [...this.secrets].filter(([id]) => id !== agentId).flatMap(([, secrets]) => secrets)
    const given = {
      token: secret,
      machine: secret,
      old: this.told(agentId).findLast((told) => told !== secret),
      foreign: others.at(-1),
      forged: this.forgedFor(agentId),
      malformed: undefined,
    }[by]
    const words = {
      approve: ['--approve'],
      deny: ['--deny'],
      input: ['--input', 'this one'],
      result: ['--result', `${this.host.workspace}/notes.txt`],
    }
    return ['resume', at, '--token', given ?? 'st_none', ...words[decision]]
  }
}

function placeOf(at: string): { name: string; parent: string | undefined } {
  const names = at.split('/')
  return {
    name: names.at(-1) as string,
    parent: names.length === 1 ? undefined : names.slice(0, -1).join('/'),
  }
}

/** A key is of its sender; what is sent again with it is the same request. */
function keyOf({ how, key }: Sending): Sending['key'] {
  return how === 'direct' || how === 'queue' ? key : 'none'
}

function siblingOf(at: Place): string | undefined {
  const { parent } = placeOf(at)
  return PLACES.find((other) => other !== at && placeOf(other).parent === parent)
}

interface Result {
  agent?: { id?: unknown }
  wait?: { token?: unknown } | null
}

function parsed(text: string): Result {
  try {
    return (JSON.parse(text) as Result | null) ?? {}
  } catch {
    return {}
  }
}
