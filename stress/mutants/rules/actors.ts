/** The actor of a decision or a message: verified facts apart from claims. */
import type { Mutant } from '../mutant.js'

const SIGNED = ['command/actor']
const RECORDED = ['session/actor']

export const ACTORS: Mutant[] = [
  {
    name: 'a forged signature is believed',
    edits: [['if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined', '']],
    suites: SIGNED,
  },
  {
    name: 'a signature of another home is believed',
    edits: [
      ["createHmac('sha256', key).update(`${homeId}\\n${said}`)", "createHmac('sha256', 'k').update(said)"],
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
    edits: [['`${verifiedText(actor)} (claims to ${claims})`', 'verifiedText(actor, reader)']],
    suites: ['schema/actors'],
  },
  {
    name: 'the second of two people does not learn who was first',
    edits: [["made === undefined ? '' : `: it ${DECIDED[made.decision]}${madeText(made)}`", "''"]],
    suites: ['commands/actor'],
  },
  {
    name: 'a stop request loses its actor',
    edits: [['askedBy = asActor(by)', '']],
    suites: ['operations/stop-agent'],
  },
]
