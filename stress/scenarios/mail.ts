/**
 * Turns that write to other agents: each message is delivered once and answered once, and the reply reaches the sender.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HomeView } from '../support/home-view.js'
import { type Broken, nothingPending, replyIsKept, takenOnce } from '../support/promises.js'
import { calls, type FamilyScripts, withFamily } from './homes.js'
import { answeredByMail, exits, notifiedOnce } from './promises.js'
import type { FaultExtras, Scenario } from './scenario.js'

const TASK = { from: 'lead', to: 'kid', content: 'task', answer: 'kid did it' }
const KID = [{ say: TASK.answer }]

/** If the tool could not wait for the answer, it comes as a message. */
const LATER: FaultExtras = { later: /^lead: .*"asked":\["response from/ }

export const MAIL: Scenario[] = [
  leadScenario('send-mail', {
    lead: [calls(['send_message', { to: 'kid', content: 'task' }]), { say: 'all done' }],
    kid: KID,
  }),
  leadScenario(
    'send-mail-wait',
    {
      lead: [calls(['send_message', { to: 'kid', content: 'task', wait: true }]), { say: 'all done' }],
      kid: KID,
    },
    undefined,
    LATER,
  ),
  leadScenario(
    'send-broadcast',
    { lead: [calls(['broadcast', { content: 'note' }]), { say: 'all done' }] },
    (home) => notifiedOnce(home, 'kid', 'note'),
  ),
  leadScenario(
    'send-spawn-wait',
    {
      lead: [
        calls([
          'spawn_agent',
          { name: 'new', prompt: 'task', wait: true, options: { scenario: 'new.json' } },
        ]),
        { say: 'all done' },
      ],
    },
    (home) => answeredByMail(home, { ...TASK, to: 'new' }),
    LATER,
  ),
  leadScenario(
    'send-spawn',
    {
      lead: [
        calls(['spawn_agent', { name: 'new', prompt: 'task', options: { scenario: 'new.json' } }]),
        { say: 'all done' },
      ],
    },
    (home) => answeredByMail(home, { ...TASK, to: 'new' }),
  ),
  leadScenario(
    'send-complete',
    {
      lead: [calls(['send_message', { to: 'kid', content: 'task', wait: true }]), { say: 'all done' }],
      kid: [calls(['complete', { result: TASK.answer }])],
    },
    undefined,
    LATER,
  ),
  {
    ...leadScenario(
      'send-controls',
      {
        lead: [
          calls(['gate', { agent: 'kid' }], ['subscribe', { agent: 'kid', on: ['idle'], once: true }]),
          calls(['send_message', { to: 'kid', content: 'task' }], ['permit_turn', { agent: 'kid' }]),
          { say: 'all done' },
        ],
        kid: KID,
      },
      function* (home) {
        yield* answeredByMail(home, TASK)
        const { gate } = home.agent('kid')?.state ?? {}
        if (gate?.isGated !== true || gate.permits !== 0)
          yield 'a gated child had only the one permitted turn'
      },
    ),
    not: {
      faults:
        'a fault decides whether the parent receives its two messages in one turn or in two: both homes are right',
    },
  },
  sendingFrom(),
]

function leadScenario(
  name: string,
  scripts: FamilyScripts,
  always: (home: HomeView) => Broken = (home) => answeredByMail(home, TASK),
  faults: FaultExtras = {},
): Scenario {
  const argv = ['send', 'lead', '--key', 'k', 'go']
  return {
    name,
    faults,
    argv,
    prepare: (stage) => {
      writeFileSync(join(stage.workspace, 'new.json'), JSON.stringify({ responses: KID }))
      return withFamily(stage, scripts)
    },
    checkAcknowledged: (told, home) => replyIsKept(told, home.agent('lead'), 'go', 'all done'),
    next: { argv, check: (ended) => exits(ended, 0, 'all done\n') },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* takenOnce(home.agent('lead'), 'go', 'all done')
      yield* always(home)
      yield* nothingPending(home)
    },
  }
}

/** The operator sends as an agent: the reply goes to that agent's inbox. */
function sendingFrom(): Scenario {
  const argv = ['send', 'kid', '--from', 'lead', '--key', 'k', 'task']
  return {
    name: 'send-from',
    argv,
    prepare: (stage) => withFamily(stage, { kid: KID }),
    *checkAcknowledged(told, home) {
      if (/sent to kid/.test(told.stderr)) yield* storedOrTaken(home)
    },
    next: { argv, check: (ended) => exits(ended, 0) },
    afterwards: [{ argv: ['deliver', '--all'], check: (ended) => exits(ended, 0) }],
    *finally(home) {
      yield* answeredByMail(home, TASK)
      yield* nothingPending(home)
    },
  }
}

function* storedOrTaken(home: HomeView): Broken {
  const kid = home.agent('kid')
  const isTaken = kid?.records.some(
    (record) => record.kind === 'mail.delivered' && kid.text(record) === 'task',
  )
  if (kid?.pending.length !== 1 && isTaken !== true)
    yield 'an acknowledged message is in the inbox or in the log'
}
