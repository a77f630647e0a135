/** The sentences about a message that is not delivered because an earlier turn is parked, and how later messages can go on. */
import { readableTime } from '../../clock.js'
import { wordOf } from '../../dispatch/outcome.js'
import { decisionCommands } from '../../dispatch/turn-obstacle.js'
import { asksOf } from '../../dispatch/view.js'
import { shellWord } from '../../errors.js'
import type { Session } from '../../session/session.js'
import type { Run, Wait } from '../../session/state.js'
import type { MessageRequest } from './request.js'
import { parkedThing } from './superseded.js'

export function parkedBehindTexts(
  session: Session,
  run: Run,
  wait: Wait,
  ifWaiting: MessageRequest['ifWaiting'],
): [what: string, how: string] {
  const { state, mailIds } = session
  const record = session.recordAt(wait.at)
  const asks = asksOf(session, wait) ?? []
  const queued = mailIds.length
  const behind =
    queued === 0 ? '' : `; ${queued} ${queued === 1 ? 'message is' : 'messages are'} queued behind it`
  const what = `the message was not delivered: ${earlierTurn(run)} is waiting since ${readableTime(record.ts)}: ${parkedThing(wait, asks)}${behind}`
  const word = wordOf(state)
  const tools = [...new Set(asks.map(({ tool }) => tool))].join(',')
  const ways = [
    wait.kind === 'not_before'
      ? `continue it then: substrat resume ${word}`
      : `decide it: ${decisionCommands(word, wait)}`,
    '--if-waiting queue stores it behind that turn',
    // Only a turn that waited before the command is replaced, and that was tried already.
    ...(ifWaiting === 'supersede' ? [] : ['--if-waiting supersede replaces that turn']),
    ...(wait.kind === 'approval' && tools !== ''
      ? [`substrat set ${word} --allow ${shellWord(tools)} lets later turns run without this approval`]
      : []),
  ]
  return [what, `so that messages go on: ${ways.join('; ')}`]
}

/** The same for the log, whose readers may be in another time zone. */
export function parkedBehindCause(session: Session, run: Run, wait: Wait): string {
  return `${earlierTurn(run)} is waiting: ${parkedThing(wait, asksOf(session, wait) ?? [])}`
}

function earlierTurn({ run_id, key }: Run): string {
  return `an earlier turn (${run_id.slice(0, 8)}${key === null ? '' : `, key ${JSON.stringify(key)}`})`
}
