/**
 * The prompt for an agent program. The program's own store has the conversation; the prompt adds what the store may lack.
 *
 * Invariant: a person's decision is repeated until the program is known to have received it. While its native session waits
 * for an answer, the decision is that answer; otherwise the prompt that continues the turn has it in words.
 */
import type { WaitAnswer } from '../../provider/contract.js'
import type { SessionRecord } from '../../session/records.js'
import { promptOf, promptRecords, type Readable } from './prompt-records.js'

/**
 * The turn's prompt, preceded by the conversation if the program has lost it. `hasLaunched`: the program was launched for
 * this turn before, and may have received the prompt even if it reported nothing. `history`: for a program without a memory. A
 * seed that is due has the same conversation.
 */
export function programPrompt(
  session: Readable,
  hasLaunched: boolean,
  history: () => string | undefined = () => undefined,
): string {
  const { isSeedDue, seed } = session.state
  const asked = hasLaunched ? recoveryPrompt(session) : withDecision(session, promptOf(session))
  const record = isSeedDue && seed !== null ? session.recordAt(seed) : undefined
  const told = record?.kind === 'session.seeded' ? session.text(record.content) : (history() ?? '')
  return told === '' ? asked : `${told}\n\n${asked}`
}

/** The prompt after an interruption: substrat cannot know how far the program got. */
export function recoveryPrompt(session: Readable): string {
  const asked = promptOf(session)
  // An interrupted recovery prompt is repeated as it is, not quoted in another one.
  const [record] = promptRecords(session)
  if (record?.kind === 'message.user' && record.origin === 'continuation') return withDecision(session, asked)
  const which = session.state.run?.repeats === undefined ? 'Your previous turn' : 'An earlier turn of yours'
  const told = [
    `${which} was interrupted before its reply was recorded; some of its work may be done already.`,
    'Check what is done, then continue from there. The prompt was:',
    '',
    asked,
  ]
  return withDecision(session, told.join('\n'))
}

/** The open or latest run's decision, if the program may not have received it yet. */
export function decisionOf(session: Readable): SessionRecord<'wait.answered'> | undefined {
  const at = session.state.run?.answer ?? null
  const record = at === null ? undefined : session.recordAt(at)
  return record?.kind === 'wait.answered' ? record : undefined
}

function withDecision(session: Readable, asked: string): string {
  const record = decisionOf(session)
  return record === undefined ? asked : `${asked}\n\n${decisionWords(record, session.text(record.content))}`
}

/** The program may have received the decision and acted on it already. So the words ask it to check first. */
function decisionWords({ decision, asks }: SessionRecord<'wait.answered'>, said: string): string {
  const calls = asks.map(({ tool, input }) => `- ${tool} ${JSON.stringify(input)}`).join('\n')
  // Never `result`: `decide` refuses a result for a program, which runs its tools itself.
  const [about, rest] = DECISIONS[decision as WaitAnswer['decision']]
  const words = said.trim() === '' ? [] : [`The person said: ${said.trim()}`]
  return [`${about}\n${calls}`, ...rest, ...words].join('\n\n')
}

const DECISIONS: Record<WaitAnswer['decision'], [string, string[]]> = {
  approve: [
    'During that turn a person was asked for permission, and granted it once, for this:',
    ['Check whether it is done already. If not, do it now, exactly as shown above.'],
  ],
  deny: [
    'During that turn a person was asked for permission, and denied it for this:',
    ['Do not do it, in this or any other way. Continue without it.'],
  ],
  input: ['During that turn a person was asked this, and answered:', []],
}
