/** The promises about an idle home after any sequence: acknowledgements, deliveries, answers and decisions. */

import { OPERATOR } from '../../src/format.js'
import { limits } from '../../src/limits.js'
import { isOver } from '../../src/session/durations.js'
import { rebasedField } from '../../src/session/fold/clock.js'
import type { SessionRecord } from '../../src/session/records.js'
import { accountsOf } from '../schedules/account.js'
import { groupBy } from '../tree/seen.js'
import { checkAcknowledged } from './acknowledged.js'
import { checkAnswers } from './answers.js'
import type { Person } from './person.js'
import type { Done, Story } from './story.js'
import type { AgentInWorld, Taken, World } from './world.js'

export function* judge(story: Story, world: World, person: Person): Iterable<string> {
  const done = story.steps.flatMap((step) => step.done)
  yield* deliveredOnce(world, person)
  yield* sentToThem(world, done)
  yield* checkAcknowledged(world, story)
  yield* checkAnswers(world)
  yield* inOrder(world, done)
  for (const agent of world.agents) {
    yield* goneOnWith(agent)
    yield* recordsInOrder(agent)
    for (const { name, faults } of accountsOf(agent.records))
      for (const fault of faults)
        yield `each slot is accounted for once: ${name} of ${agent.state.path}: ${fault}`
  }
}

const BY_ITSELF = ['process_exit', 'process_restart', 'shutdown', 'program_killed']

/** An interrupted turn continues unless the user ended it. After a bound of attempts without progress it stops. */
function* goneOnWith({ state, fates }: AgentInWorld): Iterable<string> {
  for (const [run, { status, reason, attempts }] of fates)
    if (status === 'interrupted' && BY_ITSELF.includes(reason ?? '') && attempts < limits.barrenAttemptsMax)
      yield `an interrupted turn continues: run ${run} of ${state.path} did not, after ${attempts} attempts`
}

function* deliveredOnce({ agents }: World, { contents }: Person): Iterable<string> {
  const mails = agents.flatMap(({ taken }) => taken.filter(({ isDirect }) => !isDirect))
  for (const [id, found] of groupBy(mails, ({ message_id }) => message_id))
    if (found.length > 1) yield `a message is delivered once: ${id} came ${found.length} times`
  for (const { state, taken } of agents) {
    for (const [id, found] of groupBy(
      taken.filter((each) => each.id !== undefined),
      (each) => each.id as string,
    )) {
      // Also holds for a repeated key, after any outcome of the first turn: the fuzzer never passes --retry.
      if (found.length > 1)
        yield `a message is recorded once: #${id} was recorded ${found.length} times by ${state.path}`
    }
    for (const { id, content } of taken)
      if (id !== undefined && contents.get(id) !== content)
        yield `the content of a message does not change: #${id} has changed`
  }
}

/** A message arrives at the agent that the user sent it to, and at no other. */
function* sentToThem({ agents }: World, done: Done[]): Iterable<string> {
  for (const { command, words } of done) {
    if (command.action.do !== 'send' || words.message === undefined) continue
    const id = words.message.id
    for (const { state, taken } of agents)
      if (state.path !== command.action.at && taken.some((each) => each.id === id))
        yield `a message goes to its recipient: #${id} is in ${state.path}`
  }
}

interface Place {
  from: number
  to: number
}

/**
 * Messages from one sender to one recipient: if the first send ended before the second began, the first message arrives
 * first. This includes the direct messages of the user, which the fuzzer never sends with `--first`.
 */
function* inOrder({ agents }: World, done: Done[]): Iterable<string> {
  const places = new Map(agents.flatMap(sendPlaces))
  const steps = new Map(
    done.flatMap(({ command: { action }, words, told }) => {
      if (action.do !== 'send' || words.message == null || words.message.key !== null) return []
      // A direct message enters the log in its command, also if its turn fails.
      const isInLine =
        action.how === 'direct' || (['queue', 'notification'].includes(action.how) && told.status === 0)
      const step = Number(words.message.id.split('x')[0])
      return isInLine ? [[words.message.id, { from: step, to: step }] as const] : []
    }),
  )
  for (const { state, taken } of agents) {
    const mails = taken.filter(({ kind }) => kind === 'request' || kind === 'notification')
    for (const [from, ofSender] of groupBy(mails, (mail) => mail.from)) {
      const placeOf = (mail: Taken): Place | undefined =>
        from === OPERATOR ? steps.get(mail.id ?? '') : places.get(mail.message_id)
      const placed = ofSender.flatMap((mail) =>
        placeOf(mail) === undefined ? [] : [{ mail, place: placeOf(mail) as Place }],
      )
      for (const [index, later] of placed.entries())
        for (const earlier of placed.slice(0, index))
          if (later.place.to < earlier.place.from)
            yield `messages are first-in-first-out per sender: ${later.mail.id} was sent before ${earlier.mail.id} and came after it, to ${state.path}`
    }
  }
}

/** For each message id, the sender's records before and after the send. Scheduled messages are left out. */
function sendPlaces({ records, text }: AgentInWorld): [string, Place][] {
  const begun = new Map<string, number>()
  return records.flatMap((record): [string, Place][] => {
    if (record.kind === 'tool.started') begun.set(record.call_id, record.seq)
    if (record.kind !== 'tool.finished' || record.is_error) return []
    const place = { from: begun.get(record.call_id) ?? record.seq, to: record.seq }
    return [...text(record).matchAll(/sent as ([0-9a-f-]{36})/g)].map(([, id]) => [id as string, place])
  })
}

/** Within one log: each token and each interruption is recorded at most once, in order. */
function* recordsInOrder({ state, records }: AgentInWorld): Iterable<string> {
  const minted = new Map<string, SessionRecord<'token.minted'>>()
  const ended = new Set<string>()
  const interrupted = new Set<string>()
  for (const record of records) {
    if (record.kind === 'token.minted') minted.set(record.token_id, record)
    if (record.kind === 'clock.set_back')
      for (const [id, token] of minted) minted.set(id, rebasedField(token, 'expires_at', record.clock))
    if (record.kind === 'token.consumed') {
      const { token_id, clock } = record
      const token = minted.get(token_id)
      if (token === undefined || ended.has(token_id))
        yield `a token is used once, while it is valid: ${token_id} of ${state.path}`
      else if (clock !== undefined && isOver(token.expires_at, token.clock, clock))
        yield `a token is not used after it expired: ${token_id} of ${state.path}`
    }
    if (record.kind === 'token.consumed' || record.kind === 'token.revoked') ended.add(record.token_id)
    if (record.kind !== 'run.interrupted') continue
    if (interrupted.has(record.run_id)) yield `a run is interrupted once: ${record.run_id} of ${state.path}`
    interrupted.add(record.run_id)
  }
}
