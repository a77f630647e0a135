/** Turns an action into the words of a command. */
import type { Pace } from './pace.js'
import type { Place } from './places.js'
import type { Action } from './steps.js'

/** The facts that the words need in addition to the action. */
export interface Facts {
  /** The name of each thing that the action creates. */
  id: string
  content: string | undefined
  key: string | null
  workspace: string
  pace: Pace
  /** The token that the action asks for; undefined if none is known. */
  token: string | undefined
}

/** All tools of the tree, except those that need the operator's approval. */
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

export type Sending = Extract<Action, { do: 'send' }>

/** Each command that may run a turn prints the tokens of its waits, also those of other agents, so that the person knows them. */
export function wordsOf(action: Action, facts: Facts): string[] {
  return TURNS.includes(action.do)
    ? [...plainWordsOf(action, facts), '--print-token']
    : plainWordsOf(action, facts)
}

const TURNS: Action['do'][] = ['spawn', 'send', 'decide', 'deliver', 'recover', 'wait', 'resume', 'retry']

function plainWordsOf(action: Action, facts: Facts): string[] {
  switch (action.do) {
    case 'spawn':
      return spawnOf(action, facts)
    case 'send':
      return sendOf(action, facts)
    case 'decide':
      return decisionOf(action, facts)
    case 'rotate':
      return ['token', 'rotate', action.at]
    case 'suspend':
      return ['suspend', action.at, ...(action.hold ? ['--hold'] : [])]
    case 'cancel':
    case 'terminate':
    case 'remove':
      return [action.do, action.at, ...(action.recursive ? ['--recursive'] : [])]
    case 'fork':
      return ['fork', action.at, '--name', `f${facts.id}`]
    case 'set':
      return ['set', action.at, '--model', `m${facts.id}`]
    case 'schedule': {
      const rules = ['--overlap', action.overlap, '--missed', action.missed]
      // It ends, so that the home becomes idle. Another rule replaces it.
      const until = ['--until', `${2 * facts.pace.laterMs}ms`]
      return [
        'schedule',
        'add',
        action.at,
        'every 30m',
        'slot',
        '--name',
        's',
        '--tz',
        'UTC',
        ...until,
        ...rules,
      ]
    }
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

function spawnOf(
  { at, ifExists }: Extract<Action, { do: 'spawn' }>,
  { content, workspace }: Facts,
): string[] {
  const { name, parent } = placeOf(at)
  const below = parent === undefined ? [] : ['--parent', parent]
  const settings = ['--provider', 'fuzz', '--workspace', workspace, '--allow', ALLOWED]
  const prompt = content === undefined ? [] : [content]
  return ['spawn', ...prompt, '--name', name, ...below, ...settings, '--if-exists', ifExists]
}

function sendOf(action: Sending, facts: Facts): string[] {
  const { at, how, drains, ifWaiting } = action
  const { content = '', key, pace } = facts
  const keyed = key === null ? [] : ['--key', key]
  const timed = isTimed(action) ? ['--turn-timeout', `${pace.turnTimeoutMs}ms`] : []
  const rest = [...keyed, ...timed, ...(drains ? [] : ['--no-drain'])]
  switch (how) {
    case 'direct':
      return ['send', at, content, '--if-waiting', ifWaiting, ...rest]
    case 'queue':
      return ['send', at, content, '--queue', ...rest]
    case 'notification':
      return ['send', at, content, '--kind', 'notification', ...rest]
    case 'later':
      return ['send', at, content, '--not-before', `${pace.laterMs}ms`, ...rest]
    case 'from_parent':
    case 'from_sibling': {
      const from = how === 'from_parent' ? placeOf(at).parent : siblingOf(at, pace.places)
      return ['send', at, content, ...(from === undefined ? ['--queue'] : ['--from', from]), ...rest]
    }
  }
}

/** The operator at the machine needs no token, and can decide even if the secret is lost. */
function decisionOf(
  { at, decision, by }: Extract<Action, { do: 'decide' }>,
  { token, workspace }: Facts,
): string[] {
  const canBeSaid = decision === 'approve' || decision === 'deny'
  if (by === 'machine' && canBeSaid) return [decision, at]
  if ((by === 'machine' || by === 'token') && token === undefined) return [canBeSaid ? decision : 'deny', at]
  const words = {
    approve: ['--approve'],
    deny: ['--deny'],
    input: ['--input', 'this one'],
    result: ['--result', `${workspace}/notes.txt`],
  }
  return ['resume', at, '--token', token ?? 'st_none', ...words[decision]]
}

function placeOf(at: string): { name: string; parent: string | undefined } {
  const names = at.split('/')
  return {
    name: names.at(-1) as string,
    parent: names.length === 1 ? undefined : names.slice(0, -1).join('/'),
  }
}

/** Messages delivered as one turn get the time limit of the first. */
export function isTimed({ how, turnTimeout }: Sending): boolean {
  return turnTimeout && how !== 'notification'
}

/** A key belongs to its sender. The same key again is the same request. */
export function keyOf({ how, key }: Sending): Sending['key'] {
  return how === 'direct' || how === 'queue' ? key : 'none'
}

function siblingOf(at: Place, places: readonly Place[]): string | undefined {
  const { parent } = placeOf(at)
  return places.find((other) => other !== at && placeOf(other).parent === parent)
}
