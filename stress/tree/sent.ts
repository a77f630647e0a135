/** The messages sent by commands and by agents' tools, and the outcome that each sender saw. */
import { OPERATOR } from '../../src/format.js'
import type { AgentSeen } from '../support/home-view.js'
import type { Seen } from './seen.js'
import type { Entry } from './storm.js'

export interface Sent {
  /** Unique to the message. A broadcast has one content for all its copies. */
  content: string
  /** Agent ids, or `operator`. */
  from: string
  to: string
  /** `unknown`: the sender was killed before it saw an outcome. */
  fate: 'acknowledged' | 'refused' | 'unknown'
  /** The clock times between which it was sent. A tool also has the seqs of its call and its result. */
  begun: number
  ended: number
  seqs: [number, number] | null
  /** The order does not apply to it: it went straight into the log, or was scheduled. */
  isOutOfLine: boolean
}

export function allSent(seen: Seen, ledger: Entry[]): Sent[] {
  return [
    ...ledger.flatMap((entry) => sentByCommand(seen, entry)),
    ...seen.agents.flatMap((agent) => sentByTools(seen, agent)),
  ]
}

/** Acknowledged by the exit status, or by the printed id of a stored message. */
const NAMED = /as message [0-9a-f-]{36}/
/** Nothing is stored: no such agent, busy, refused. */
const REFUSED = [3, 4, 13]

function sentByCommand(seen: Seen, { operation, told, kills, begun, ended }: Entry): Sent[] {
  const { post } = operation
  if (post === undefined) return []
  const [from, to] = [seen.idOf(post.from), seen.idOf(post.to)]
  const isKnown = told.code === 0 || (!post.isDirect && NAMED.test(told.stderr))
  const isRefused = kills === 0 && (REFUSED as (number | null)[]).includes(told.code)
  const fate = isKnown ? 'acknowledged' : isRefused ? 'refused' : 'unknown'
  const isOutOfLine = post.isDirect || post.isDelayed
  return [
    {
      content: post.content,
      from: from ?? '?',
      to: to ?? '?',
      fate,
      begun,
      ended,
      seqs: null,
      isOutOfLine,
    },
  ]
}

interface Call {
  name: string
  input: { [key: string]: unknown }
  seq: number
  at: number
  result: { content: string; isError: boolean; seq: number; at: number } | null
}

export function callsOf({ records, text }: AgentSeen): Call[] {
  const calls = new Map<string, Call>()
  for (const record of records) {
    const at = Date.parse(record.ts)
    if (record.kind === 'model.responded') {
      for (const { call_id, name, input = {} } of record.calls ?? [])
        calls.set(call_id, { name, input, seq: record.seq, at, result: null })
    }
    const call = 'call_id' in record ? calls.get(record.call_id ?? '') : undefined
    if (call === undefined) continue
    if (record.kind === 'tool.started') Object.assign(call, { seq: record.seq, at })
    if (record.kind === 'tool.finished')
      call.result = { content: text(record), isError: record.is_error, seq: record.seq, at }
  }
  return [...calls.values()]
}

function sentByTools(seen: Seen, agent: AgentSeen): Sent[] {
  return callsOf(agent).flatMap((call) => sentBy(seen, agent, call))
}

function sentBy(seen: Seen, agent: AgentSeen, call: Call): Sent[] {
  const { name, input, result } = call
  const content = String(input.content)
  switch (name) {
    case 'send_message':
      return [sentOf(seen, agent, call, content, pathOf(agent, String(input.to)), fateOf(call))]
    case 'broadcast': {
      const lines = (result?.content ?? '').split('\n')
      const children = seen.agents.filter(({ state }) => state.parent === agent.state.id)
      return children.map(({ state }) => {
        const isSent = lines.some((line) => line.startsWith(`${state.path}: sent as `))
        return sentOf(seen, agent, call, content, state.path, isSent ? 'acknowledged' : 'unknown')
      })
    }
    case 'shell': {
      const [, to, said] = / send (\S+) '([^']+)'/.exec(String(input.command)) ?? []
      if (to === undefined || said === undefined) return []
      return [sentOf(seen, agent, call, said, to, fateOf(call))]
    }
    default:
      return []
  }
}

/** The error may belong to a repeated call, after a crash that followed the sending. */
function fateOf({ result }: Call): Sent['fate'] {
  return result !== null && !result.isError ? 'acknowledged' : 'unknown'
}

function sentOf(
  seen: Seen,
  { state }: AgentSeen,
  { seq, at, result }: Call,
  content: string,
  path: string,
  fate: Sent['fate'],
): Sent {
  const seqs: [number, number] = [seq, result?.seq ?? Number.POSITIVE_INFINITY]
  const ended = result?.at ?? Number.POSITIVE_INFINITY
  return {
    content,
    from: state.id,
    to: seen.idOf(path) ?? '?',
    fate,
    begun: at,
    ended,
    seqs,
    isOutOfLine: false,
  }
}

/** The path for a name that a scenario uses: see `family`. */
function pathOf({ state }: AgentSeen, word: string): string {
  const parent = state.path.split('/').slice(0, -1).join('/')
  if (word === 'parent') return parent === '' ? OPERATOR : parent
  return word.includes('/') || /^r\d+$/.test(word) ? word : `${state.path}/${word}`
}
