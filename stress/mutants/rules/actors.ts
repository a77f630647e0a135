/** The actor of a decision or a message: verified facts apart from claims. */
import type { Mutant } from '../mutant.js'

const SIGNED = ['command/actor']
const RECORDED = ['session/actor']

export const ACTORS: Mutant[] = [
  {
    name: 'a stolen signature is good for another command',
    edits: [['JSON.stringify([homeId, text, words])', 'JSON.stringify([homeId, text])']],
    suites: SIGNED,
  },
  {
    name: 'a stolen signature never expires',
    edits: [['Math.abs(clock.now() - said.at) > SIGNED_MS_MAX', 'false']],
    suites: SIGNED,
  },
  {
    name: 'the same user id on another machine is the reader',
    edits: [['uid === reader.uid && host_id === reader.host_id', 'uid === reader.uid']],
    suites: ['schema/actors'],
  },
  {
    name: 'a forged signature is believed',
    edits: [['if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined', '']],
    suites: SIGNED,
  },
  {
    name: 'a signature of another home is believed',
    edits: [
      ["createHmac('sha256', key)", "createHmac('sha256', 'k')"],
      ['JSON.stringify([homeId, text, words])', 'JSON.stringify([text, words])'],
    ],
    suites: SIGNED,
  },
  {
    name: 'programs of the command inherit the actor',
    edits: [['delete process.env[VARIABLE]', '']],
    suites: SIGNED,
  },
  {
    name: 'a claim may have several lines',
    edits: [['said.length === 0 ? {} : { claims: Object.fromEntries(said) }', '{ claims }']],
    suites: SIGNED,
  },
  {
    name: 'the process that stops a turn takes the place of the one who asked',
    edits: [
      [
        'if (record.actor !== undefined) return record',
        'if (record.actor !== undefined) return { ...record, actor: acting } as NewRecord',
      ],
    ],
    suites: RECORDED,
  },
  {
    name: 'an automatic continuation names the one who ran the command',
    edits: [['return !record.auto && record.token_id === undefined', 'return record.token_id === undefined']],
    suites: RECORDED,
  },
  {
    name: 'a claim makes its author the reader',
    edits: [
      ["if (claims === '' && isSame(actor, reader)) return YOU", 'if (isSame(actor, reader)) return YOU'],
    ],
    suites: ['schema/actors'],
  },
  {
    name: 'the second of two people does not learn who was first',
    edits: [["end === undefined ? '' : `: it ${endText(end, readerHere())}`", "''"]],
    suites: ['commands/actor'],
  },
  {
    name: 'a stop request loses its actor',
    edits: [['askedBy = asActor(by)', '']],
    suites: ['operations/stop-agent'],
  },
]
