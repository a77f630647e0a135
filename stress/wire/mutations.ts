/**
 * Changes that servers and gateways make to the events of an answer. A valid mutation leaves the same answer. After another one the reader may
 * refuse the answer, but must not change it without a word.
 */
import fc from 'fast-check'
import type { Sent } from './sent.js'

export interface Mutation {
  kind: keyof typeof MUTATIONS
  at: number
  with: number
}

/** The losses and gains of a mutated answer that no reader can know. */
export interface Damage {
  /** The reader may refuse the answer. */
  mayFail: boolean
  /** Pieces have changed their order, or come twice. */
  isTextMoved: boolean
  /** The calls are interleaved, and begin in any order. */
  isMixed: boolean
  /** Parts have no names of their own, so that two equal parts may be one. */
  areNamesShared: boolean
  /** The server reported an error. */
  hasError: boolean
}

interface State extends Damage {
  events: Sent[]
}
type Mutate = (state: State, at: number, value: number) => void

type Json = Record<string, unknown>

const UNKNOWN_EVENTS = [
  { type: 'ping' },
  { type: 'response.new_thing.delta', delta: 'no text', item_id: 'x', output_index: 0 },
  { type: 'keepalive', sequence_number: 3 },
]

/** They leave the same answer. */
const VALID = {
  'a new kind of event': (state, at, value) => {
    const event = UNKNOWN_EVENTS[value % UNKNOWN_EVENTS.length] as object
    insert(state, at, { role: 'frame', event })
  },
  'new fields': (state, at) => {
    edit(state, at, (event) => {
      for (const parent of objectsIn(event)) parent.new_field = { nested: ['x', 1, null] }
    })
  },
  'fields that are null': (state, at) => {
    edit(state, at, (event) => {
      for (const parent of objectsIn(event))
        for (const field of ['refusal', 'audio', 'annotations', 'logprobs', 'usage', 'service_tier'])
          if (!(field in parent)) parent[field] = null
    })
  },
  'a sequence number': (state) => {
    for (const [n] of state.events.entries())
      edit(state, n, (event) => {
        event.sequence_number = n
      })
  },
  'the end twice': (state, at) => {
    const n = pick(state, at, ({ role }) => role === 'end' || role === 'frame')
    if (n !== undefined) insert(state, n, state.events[n] as Sent)
  },
} satisfies Record<string, Mutate>

const DAMAGING = {
  'cut off': (state, at) => {
    state.events.splice(at % state.events.length)
  },
  'two events exchanged': (state, at) => {
    const n = at % state.events.length
    const [a, b] = state.events.slice(n, n + 2)
    // No reader can see the order of two pieces of one part, nor what comes after the end.
    if (a === undefined || b === undefined || b.role === 'mark') return
    if (a.part === b.part && a.role === 'piece' && b.role === 'piece') return
    // Without names of its own, a piece that comes before its call began belongs to another one.
    if (state.areNamesShared && (isOfCall(a) || isOfCall(b))) return
    state.events.splice(n, 2, b, a)
    state.isTextMoved = true
  },
  'an event twice': (state, at) => {
    const n = at % state.events.length
    const sent = state.events[n] as Sent
    if (isPieceOfCall(sent)) return
    insert(state, n, sent)
    state.isTextMoved = true
  },
  'no event that begins, completes or ends': (state, at, value) => {
    const roles = ['frame', 'start', 'stop', 'end', 'mark']
    const n = pick(state, at + value, ({ role }) => roles.includes(role))
    if (n !== undefined) state.events.splice(n, 1)
  },
  'a wrong type': (state, at, value) => {
    edit(state, at, (event) => {
      const places = objectsIn(event).flatMap((parent) =>
        Object.keys(parent)
          .filter((field) => CONTENT.includes(field) && parent[field] !== null)
          .map((field) => ({ parent, field })),
      )
      const place = places[value % Math.max(places.length, 1)]
      if (place !== undefined) place.parent[place.field] = [5, true, [5]][value % 3]
    })
  },
  'one index for all': (state) => {
    editAll(state, (parent) => {
      for (const field of ['index', 'output_index']) if (field in parent) parent[field] = 0
    })
  },
  'no index': (state) => {
    editAll(state, (parent) => {
      for (const field of ['index', 'output_index']) delete parent[field]
    })
  },
  'no ids': (state) => {
    editAll(state, (parent) => {
      for (const field of ['id', 'call_id', 'item_id']) delete parent[field]
    })
  },
  'one id for all': (state) => {
    editAll(state, (parent) => {
      for (const field of ['id', 'call_id', 'item_id'])
        if (typeof parent[field] === 'string') parent[field] = 'x'
    })
  },
  'an error': (state, at, value) => {
    const n = at % state.events.length
    const errors = [
      { error: { message: 'boom' } },
      { type: 'error', error: { type: 'api_error', message: 'boom' } },
    ]
    insert(state, n, { role: 'frame', event: errors[value % 2] as object })
  },
} satisfies Record<string, Mutate>

const MUTATIONS: Record<string, Mutate> = { ...VALID, ...DAMAGING }

const SHARING = ['one index for all', 'no index', 'no ids', 'one id for all']

/** The fields in which an answer is. */
const CONTENT = [
  'content',
  'text',
  'delta',
  'arguments',
  'partial_json',
  'name',
  'id',
  'call_id',
  'item_id',
  'input',
  'index',
  'output_index',
  'finish_reason',
  'stop_reason',
  'status',
  'thinking',
  'signature',
  'encrypted_content',
  'reasoning_content',
  'tool_calls',
  'item',
  'message',
  'output',
]

const one = (kinds: object): fc.Arbitrary<Mutation> =>
  fc.record({ kind: fc.constantFrom(...Object.keys(kinds)), at: fc.nat(60), with: fc.nat(60) })

export const mutations: fc.Arbitrary<Mutation[]> = fc.oneof(
  fc.array(one(VALID), { maxLength: 2 }),
  fc.array(one(MUTATIONS), { minLength: 1, maxLength: 3 }),
)

export function mutate(events: Sent[], all: Mutation[]): State {
  const state: State = {
    events: structuredClone(events),
    mayFail: all.some(({ kind }) => kind in DAMAGING),
    isTextMoved: false,
    isMixed: false,
    areNamesShared: all.some(({ kind }) => SHARING.includes(kind)),
    hasError: false,
  }
  for (const { kind, at, with: value } of all)
    if (state.events.length > 0) (MUTATIONS[kind] as Mutate)(state, at, value)
  // After the end, an error may be overlooked.
  const error = state.events.findIndex(({ event }) => typeof event === 'object' && 'error' in event)
  const before = state.events.slice(0, Math.max(error, 0))
  state.hasError =
    error !== -1 && !before.some(({ role }) => role === 'mark' || role === 'end' || role === 'whole')
  return state
}

function isPieceOfCall(sent: Sent): boolean {
  return sent.role === 'piece' && isOfCall(sent)
}

function isOfCall({ event }: Sent): boolean {
  return /tool_calls|tool_use|function_call|partial_json/.test(JSON.stringify(event))
}

function insert({ events }: State, at: number, sent: Sent): void {
  // Nothing follows the last event.
  const mark = events.findIndex(({ role }) => role === 'mark')
  const end = mark === -1 ? events.length : mark
  // A later mutation of the event does not change its model.
  events.splice(at % (end + 1), 0, clone(sent))
}

function pick({ events }: State, at: number, is: (sent: Sent) => boolean): number | undefined {
  const all = [...events.keys()].filter((n) => is(events[n] as Sent))
  return all[at % Math.max(all.length, 1)]
}

function edit({ events }: State, at: number, change: (event: Json) => void): void {
  const { event } = events[at % events.length] as Sent
  if (typeof event === 'object') change(event as Json)
}

function editAll(state: State, change: (parent: Json) => void): void {
  for (const { event } of state.events)
    if (typeof event === 'object') for (const parent of objectsIn(event as Json)) change(parent)
}

/** The objects of an event, without the inputs of calls, which are the model's. */
function objectsIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn)
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).filter(([field]) => !['input', 'new_field', 'error'].includes(field))
  return [value as Json, ...inner.flatMap(([, field]) => objectsIn(field))]
}

function clone(sent: Sent): Sent {
  return structuredClone(sent)
}
