/**
 * What an agent's program is told. Its own store has the conversation; what the store may lack is said here.
 *
 * Invariant: what a person decided is told until the program is known to have taken it: as an answer while its session
 * waits for one, else in words, with the prompt that goes on with the turn.
 */
import type { WaitAnswer } from '../../provider/contract.js'
import type { SessionRecord } from '../../session/records.js'
import { promptOf, promptRecords, type Readable } from './history.js'

/**
 * What it is asked, and where it has lost the conversation that too. `hasLaunched`: it was launched for that before, and may
 * have it from then, also where it has said nothing since.
 */
export function programPrompt(session: Readable, hasLaunched: boolean): string {
  const { isSeedDue, seed } = session.state
  const asked = hasLaunched ? recoveryPrompt(session) : withDecision(session, promptOf(session))
  const record = isSeedDue && seed !== null ? session.recordAt(seed) : undefined
  const told = record?.kind === 'session.seeded' ? session.text(record.content) : ''
  return told === '' ? asked : `${told}\n\n${asked}`
}

/** What it is told when a turn of it was interrupted: substrat cannot know how far it came. */
export function recoveryPrompt(session: Readable): string {
  const asked = promptOf(session)
  // An interrupted recovery prompt is asked again as it is, not quoted within another.
  const [record] = promptRecords(session)
  if (record?.kind === 'message.user' && record.origin === 'continuation') return withDecision(session, asked)
  const which = session.state.run?.repeats === undefined ? 'Your previous turn' : 'An earlier turn of yours'
  const told = [
    `${which} was interrupted before its reply was recorded; some of its work may be done already.`,
    'Look at what is done, and go on from there. The turn was:',
    '',
    asked,
  ]
  return withDecision(session, told.join('\n'))
}

/** The decision of the open or latest run that may be news to its program; undefined where there is none. */
export function decisionOf(session: Readable): SessionRecord<'wait.answered'> | undefined {
  const at = session.state.run?.answer ?? null
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'wait.answered' ? record : undefined
}

function withDecision(session: Readable, asked: string): string {
  const record = decisionOf(session)
  return record === undefined ? asked : `${asked}\n\n${decisionWords(record, session.text(record.content))}`
}

/** Nobody knows whether it was told, or has done it: so it is to look, where the answer to an open question is to act. */
function decisionWords({ decision, asks }: SessionRecord<'wait.answered'>, said: string): string {
  const calls = asks.map(({ tool, input }) => `- ${tool} ${JSON.stringify(input)}`).join('\n')
  // A program makes its results itself: `decide` takes none for it.
  const [about, rest] = DECISIONS[decision as WaitAnswer['decision']]
  const words = said.trim() === '' ? [] : [`The person said: ${said.trim()}`]
  return [`${about}\n${calls}`, ...rest, ...words].join('\n\n')
}

const DECISIONS: Record<WaitAnswer['decision'], [string, string[]]> = {
  approve: [
    'During that turn a person was asked for permission, and granted it, once, for this:',
    ['Look whether it is done already. Where it is not, do it now, exactly as it is above.'],
  ],
  deny: [
    'During that turn a person was asked for permission, and denied it for this:',
    ['Do not do it, nor the same in another way: go on without it.'],
  ],
  input: ['During that turn a person was asked this, and answered it:', []],
}
