/** The simulated user, with the user's knowledge of a home: messages, keys and token secrets. */
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { openHome } from '../../src/storage/open.js'
import { resolveAgent } from '../../src/tree/names.js'
import type { Host, Told } from './host.js'
import { messageOf, type Program } from './program.js'
import type { Action } from './steps.js'
import { isTimed, keyOf, wordsOf } from './words.js'

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

type Deciding = Extract<Action, { do: 'decide' }>

/** The message that a command sends. */
export interface Brought {
  id: string
  content: string
  key: string | null
}

export interface Words {
  argv: string[]
  /** The agent that the command names; undefined if it does not exist. */
  agentId: string | undefined
  /** Whether that agent has a turn that was cut short and is not continued yet. */
  hasInterruptedTurn: boolean
  message: Brought | undefined
}

export class Person {
  /** The content of every message written, by its id. */
  readonly contents = new Map<string, string>()
  /** The token secrets printed so far, by agent; the latest last. */
  private readonly secrets = new Map<string, string[]>()
  /** By agent: an agent that took the name of another never had its keys. */
  private readonly keyed = new Map<string, Brought>()

  constructor(private readonly host: Pick<Host, 'home' | 'workspace' | 'pace'>) {}

  private get home(): string {
    return this.host.home
  }

  /** `id` becomes the id of the message in the action. */
  words(given: Action, id: string): Words {
    const action = this.aim(given)
    const agentId = 'at' in action && typeof action.at === 'string' ? this.agentAt(action.at) : undefined
    const message = this.messageIn(action, id, agentId)
    const { workspace, pace } = this.host
    const token = action.do === 'decide' ? this.tokenBy(action.by, agentId) : undefined
    const facts = { id, content: message?.content, key: message?.key ?? null, workspace, pace, token }
    const hasInterruptedTurn = this.stateOf(agentId)?.recovery.interruption != null
    return { argv: [...wordsOf(action, facts), '--json'], agentId, hasInterruptedTurn, message }
  }

  /** If an action needs an agent in a certain state, it goes to one in that state, if there is one. */
  private aim(action: Action): Action {
    const fits = FITS[action.do]
    const store = openHome(this.home)
    if (fits === undefined || store === undefined || !('at' in action)) return action
    const states = store.agentIds().flatMap((id) => openForRead(store, id)?.state ?? [])
    const paths = states
      .filter((state) => state.state !== 'terminated' && fits(state))
      .map(({ path }) => path)
    const [first = action.at] = paths.sort()
    return paths.includes(action.at as string) ? action : ({ ...action, at: first } as Action)
  }

  /** Remembers the token secrets in a command's output. */
  hear({ stdout, stderr }: Told): void {
    for (const [, agent, secret] of stderr.matchAll(/agent (\S+) waits for a decision; token (st_\S+)/g))
      this.learn(agent as string, secret as string)
    for (const text of [stdout, ...stdout.split('\n')]) {
      const { agent, wait } = parse(text)
      if (typeof agent?.id === 'string' && typeof wait?.token === 'string') this.learn(agent.id, wait.token)
    }
  }

  private agentAt(place: string): string | undefined {
    try {
      return resolveAgent(openHome(this.home), place)
    } catch {
      return undefined
    }
  }

  private stateOf(agentId: string | undefined): State | undefined {
    const store = openHome(this.home)
    if (store === undefined || agentId === undefined || !store.hasAgent(agentId)) return undefined
    return openForRead(store, agentId)?.state
  }

  private learn(agentId: string, secret: string): void {
    const known = this.secrets.get(agentId) ?? []
    if (!known.includes(secret)) this.secrets.set(agentId, [...known, secret])
  }

  private messageIn(action: Action, id: string, agentId: string | undefined): Brought | undefined {
    if (action.do === 'spawn') return this.write(id, action.prompt)
    if (action.do !== 'send') return undefined
    const key = keyOf(action)
    const to = agentId ?? action.at
    const earlier = key === 'again' ? this.keyed.get(to) : undefined
    if (earlier !== undefined) return earlier
    const { program } = action
    // Past the turn's time limit, but soon enough for the messages queued behind it.
    const late = { delay: 2 * this.host.pace.turnTimeoutMs, rounds: program.rounds ?? [] }
    const message = this.write(id, isTimed(action) ? late : program) as Brought
    if (key === 'none') return message
    const keyed = { ...message, key: `key ${id}` }
    this.keyed.set(to, keyed)
    return keyed
  }

  private write(id: string, program: Program | null): Brought | undefined {
    if (program === null) return undefined
    const content = messageOf(id, program, (each, text) => this.contents.set(each, text))
    return { id, content, key: null }
  }

  private tokenBy(by: Deciding['by'], agentId: string | undefined): string | undefined {
    const wanted = this.stateOf(agentId)?.run?.wait?.resume_token_id
    const told = this.secrets.get(agentId ?? '') ?? []
    const good = told.find((secret) => wanted != null && secret.startsWith(`st_${wanted}_`))
    switch (by) {
      case 'token':
      case 'machine':
        return good
      case 'old':
        return told.findLast((secret) => secret !== good)
      case 'foreign':
        return [...this.secrets].findLast(([id]) => id !== agentId)?.[1].at(-1)
      case 'forged':
        return wanted == null ? undefined : `st_${wanted}_${'x'.repeat(32)}`
      case 'malformed':
        return undefined
    }
  }
}

interface Result {
  agent?: { id?: unknown }
  wait?: { token?: unknown } | null
}

function parse(text: string): Result {
  try {
    return (JSON.parse(text) as Result | null) ?? {}
  } catch {
    return {}
  }
}
