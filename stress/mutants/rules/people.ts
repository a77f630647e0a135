/** The answers that a person gives at a terminal, and the messages that were refused without one. */
import type { Mutant } from '../mutant.js'

export const PEOPLE: Mutant[] = [
  {
    name: 'text that was typed before the question answers it',
    edits: [['await discardTyped()\n    const decision', 'const decision']],
    suites: ['terminal/asking#typed before'],
  },
  {
    name: 'a signal at the question is taken for later',
    edits: [['if (ctx.shutdown.requested !== undefined) throw stoppedWhileAsked(ctx, asked)', ';']],
    suites: ['terminal/asking#with Ctrl-C'],
  },
  {
    name: 'a question stays after another command has decided',
    edits: [['if (!isPending(store, asked)) gone.abort()', ';']],
    suites: ['terminal/asking#reply of the turn is printed'],
  },
  {
    name: 'a job in the background is asked',
    edits: [
      [
        "isGiven(this.argv, '--stream') || this.printsTokens || isInBackground()",
        "isGiven(this.argv, '--stream') || this.printsTokens",
      ],
    ],
    suites: ['terminal/asking#in the background'],
  },
  {
    name: 'a message behind a turn that waits is not refused on the record',
    edits: [["WAITING: 'waiting',", '']],
    suites: ['dispatch/refusal#refused on the record once for each key'],
  },
  {
    name: 'the decision about a turn ends the refusals of the messages behind it',
    edits: [["(cause === 'waiting' && !isNewTurn)", 'false']],
    suites: ['dispatch/refusal#repeated after the decision'],
  },
  {
    name: 'a refused key is forgotten when another message begins a turn',
    edits: [['return key === null ? [] : [{ ...refusal, past: true }]', 'return []']],
    suites: ['dispatch/refusal#also after other nights'],
  },
  {
    name: 'a command that cron repeats adds a refusal each time',
    edits: [
      [
        'if (isNewRefusal(session.state, record, clock.now())) session.append([record])',
        'session.append([record])',
      ],
    ],
    suites: ['dispatch/refusal#exits 8 each minute'],
  },
]
