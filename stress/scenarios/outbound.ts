/** Turns with the setting `notify`: each event leaves once, or more often with the same id, or is dropped by a rule. */
import { existsSync, readFileSync } from 'node:fs'
import type { SessionRecord } from '../../src/session/records.js'
import { HomeView } from '../support/home-view.js'
import { pathBeside } from '../support/lab.js'
import { type Broken, replyIsKept, takenOnce } from '../support/promises.js'
import { withAgent } from './homes.js'
import { exits } from './promises.js'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

/** The events that targets have taken are in a file beside the home: no crash takes them back. */
const OUTSIDE = `"\${SUBSTRAT_LAB_BESIDE:-$SUBSTRAT_HOME.}outside"`
const ON = ['completed', 'interrupted', 'failed', 'waiting']

const TAKES = { name: 'takes', on: ON, run: ['sh', '-c', `cat >> ${OUTSIDE}`] }
/** Notes each event, but takes it only at the second attempt. The echo of dash would change its escapes. */
const FAILS = {
  name: 'fails',
  on: ON,
  run: [
    'sh',
    '-c',
    `event=$(cat); grep -qF "$event" ${OUTSIDE}; s=$?; printf "%s\\n" "$event" >> ${OUTSIDE}; exit $s`,
  ],
}
const NEVER = { name: 'never', on: ON, run: ['false'], tries: 1 }

type Target = typeof TAKES | typeof NEVER

const SENDS = ['send', 'a', '--key', 'k', 'hello']

export const OUTBOUND: Scenario[] = [
  outboundScenario('send-outbound', [TAKES], { argv: SENDS, message: 'hello' }),
  outboundScenario('send-outbound-fails', [FAILS], { argv: SENDS, message: 'hello' }),
  outboundScenario('send-outbound-dropped', [NEVER, TAKES], { argv: SENDS, message: 'hello' }),
  outboundScenario('deliver-outbound', [TAKES], {
    argv: ['deliver', '--all'],
    message: 'hello',
    // The sender dies after the target has taken the event, before that is recorded.
    prepare: (stage) => stage.killedBefore('log.append', 3, SENDS),
  }),
]

interface Notifying {
  argv: string[]
  message: string
  prepare?(stage: Stage): Promise<void>
}

function outboundScenario(name: string, targets: Target[], { argv, message, prepare }: Notifying): Scenario {
  const reply = `echo: ${message}`
  return {
    name,
    argv,
    programs: 'short',
    async prepare(stage) {
      await stage.do('config', 'set', 'notify', JSON.stringify(targets))
      await withAgent(stage)
      await prepare?.(stage)
      return undefined
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('a'), message, reply),
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *always(home) {
      for (const target of targets) yield* leftInOrder(HomeView.read(home), target)
    },
    *finally(home) {
      yield* takenOnce(home.agent('a'), message, reply)
      for (const target of targets) yield* endedOnce(home, target)
    },
  }
}

const CAUSES = { 'run.completed': 'completed', 'run.interrupted': 'interrupted' } as const

/**
 * An event is queued in the batch that causes it. Nothing leaves before it is in the log, and the events of an agent leave in
 * their order. A record of a delivery is true.
 */
function* leftInOrder(home: HomeView, { name }: Target): Broken {
  const records = home.agent('a')?.records ?? []
  const queued = queuedFor(records, name)
  for (const [kind, event] of Object.entries(CAUSES)) {
    const caused = records.filter((record) => record.kind === kind).length
    const count = queued.filter((record) => record.event === event).length
    if (caused !== count) yield `${caused} records ${kind} queue as many events for ${name}, not ${count}`
  }
  const ids = queued.map(({ outbound_id }) => outbound_id)
  const left = [...new Set(idsOutside(home.path))].filter((id) => ids.includes(id))
  if (JSON.stringify(left) !== JSON.stringify(ids.filter((id) => left.includes(id))))
    yield `the events for ${name} leave in their order`
  const known = records.flatMap((record) => (record.kind === 'outbound.queued' ? [record.outbound_id] : []))
  for (const id of idsOutside(home.path))
    if (!known.includes(id)) yield `the event ${id}, which has left, is in the log`
  for (const record of records)
    if (
      record.kind === 'outbound.sent' &&
      ids.includes(record.outbound_id) &&
      !left.includes(record.outbound_id)
    )
      yield `the event ${record.outbound_id}, which was sent, has left`
}

/** Each event was sent or dropped, once. */
function* endedOnce(home: HomeView, { name }: Target): Broken {
  const records = home.agent('a')?.records ?? []
  for (const { outbound_id: id } of queuedFor(records, name)) {
    const ends = records.filter(
      (record) =>
        (record.kind === 'outbound.sent' || record.kind === 'outbound.dropped') && record.outbound_id === id,
    )
    if (ends.length !== 1) yield `the event ${id} for ${name} has one end, not ${ends.length}`
    const [end] = ends
    if (end?.kind !== 'outbound.dropped') continue
    const isByRule = name === NEVER.name ? end.reason === 'attempts' : end.reason === 'superseded'
    if (!isByRule && end.reason !== 'superseded') yield `an event for ${name} is not dropped: ${end.reason}`
  }
}

function queuedFor(records: SessionRecord[], target: string): SessionRecord<'outbound.queued'>[] {
  return records.filter(
    (record): record is SessionRecord<'outbound.queued'> =>
      record.kind === 'outbound.queued' && record.target === target,
  )
}

function idsOutside(home: string): string[] {
  const file = pathBeside(home, 'outside')
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  // A killed program may leave a part of its last line.
  return lines.slice(0, -1).flatMap((line) => /^\{"id":"([0-9a-f-]+)"/.exec(line)?.[1] ?? [])
}
