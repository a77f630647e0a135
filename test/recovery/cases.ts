/** The rows of the recovery table as logs that a crash can leave. Their transcripts are in test/cases. */
import { randomUUID } from 'node:crypto'
import type { Provider } from '../../src/provider/contract.js'
import { type PluginFacts, ProviderRegistry } from '../../src/provider/registry.js'
import type { NewRecord, ProcessGroup } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { ownIdentity } from '../../src/storage/identity.js'
import { reply } from '../../src/turn/step.js'
import { beginning } from '../support/sessions.js'
import { agent, hang } from '../support/turns.js'

export interface RecoveryCase {
  /** The file of its transcript. */
  name: string
  /** How a crash gets there. */
  story: string
  provider: 'scripted' | 'exec' | 'agent' | 'gone'
  /** Of the provider `agent`. */
  inspect?: () => unknown
  /** Batches after session.created. */
  before: (run: string, session: Session) => NewRecord[][]
  goesOn: boolean
}

const own = ownIdentity()
const elsewhere = randomUUID()

/** A group that is gone: of this boot and namespace, but of no living process. */
function group(over: Partial<ProcessGroup> = {}): ProcessGroup {
  const { kernel_boot_id, pid_namespace } = own
  return { process_group: 2 ** 22 + 1, start_time: 1, kernel_boot_id, pid_namespace, ...over }
}

function launched(run: string, over?: Partial<ProcessGroup>): NewRecord {
  return { kind: 'provider.started', run_id: run, ...group(over) }
}

const asked = (run: string): NewRecord => ({ kind: 'model.requested', run_id: run })
const state = (run: string): NewRecord => ({ kind: 'provider.state', run_id: run, state: btoa('native-1') })

const inFlight: RecoveryCase['before'] = (run, session) => [
  beginning(session, run, 'build it'),
  [launched(run)],
  [state(run)],
]

export const CASES: RecoveryCase[] = [
  {
    name: 'A-never-ran',
    story: 'spawned without a prompt, and killed before the clean end',
    provider: 'scripted',
    before: () => [],
    goesOn: false,
  },
  {
    name: 'A-not-at-rest',
    story: 'a turn is over; killed between two turns of one command, before the session came to rest',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [
        { kind: 'model.responded', run_id: run, stop: 'end' },
        reply(run, 'echo: hi'),
        { kind: 'run.completed', run_id: run },
      ],
    ],
    goesOn: true,
  },
  {
    name: 'B-mark',
    story: 'spawned with a prompt, and killed before its provider was asked; the caller does not go on',
    provider: 'scripted',
    before: (run, session) => [beginning(session, run, 'hi')],
    goesOn: false,
  },
  {
    name: 'B-ask',
    story: 'killed between the start of a turn and its program; the caller goes on',
    provider: 'exec',
    before: (run, session) => [beginning(session, run, 'hi')],
    goesOn: true,
  },
  {
    name: 'C-mark',
    story: 'killed in mid-inference; the caller does not go on',
    provider: 'scripted',
    before: (run, session) => [[...beginning(session, run, 'hi'), asked(run)]],
    goesOn: false,
  },
  {
    name: 'C-ask',
    story: 'killed in mid-inference, twice; the caller goes on',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [{ kind: 'run.resumed', run_id: run, boot_id: 'x', auto: true, attempt: 1 }, asked(run)],
    ],
    goesOn: true,
  },
  {
    name: 'C-reboot',
    story: 'the power failed in mid-inference',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)].map((record) =>
        record.kind === 'run.started' ? { ...record, boot_id: `${elsewhere}/1/2/3` } : record,
      ),
    ],
    goesOn: false,
  },
  {
    name: 'G-close',
    story: 'killed between the reply of a program and the end of its run, while the provider let go',
    provider: 'exec',
    before: (run, session) => [beginning(session, run, 'hi'), [launched(run)], [reply(run, 'hello')]],
    goesOn: true,
  },
  {
    name: 'J-finished',
    story: 'killed while the program ran; it finished all the same, and its own store has the reply',
    provider: 'agent',
    inspect: async () => ({ outcome: 'finished', reply: 'built' }),
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-unfinished',
    story: 'killed while the program ran; its own store says that it did not finish',
    provider: 'agent',
    inspect: async () => ({ outcome: 'unfinished' }),
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-unknown',
    story: 'killed while the program ran; it has no store of its own',
    provider: 'exec',
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-provider-gone',
    story: 'killed while the program ran; the plugin of the provider was uninstalled since',
    provider: 'gone',
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-provider-broken',
    story: 'killed while the program ran; the provider throws when it is asked',
    provider: 'agent',
    inspect: () => {
      throw new Error('the store is locked')
    },
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-provider-garbage',
    story: 'killed while the program ran; the provider says that it finished, but not with which reply',
    provider: 'agent',
    inspect: async () => ({ outcome: 'finished' }),
    before: inFlight,
    goesOn: true,
  },
  {
    name: 'J-foreign',
    story: 'killed while the program ran in a container, which may still run it; recovered outside',
    provider: 'agent',
    inspect: async () => ({ outcome: 'finished', reply: 'nobody is asked while it may still run' }),
    before: (run, session) => [beginning(session, run, 'build it'), [launched(run, { pid_namespace: '1' })]],
    goesOn: true,
  },
  {
    name: 'J-reboot',
    story: 'the power failed while the program ran: its process group means others now',
    provider: 'exec',
    before: (run, session) => [
      beginning(session, run, 'build it').map((record) =>
        record.kind === 'run.started' ? { ...record, boot_id: `${elsewhere}/1/2/3` } : record,
      ),
      [launched(run, { kernel_boot_id: elsewhere, process_group: process.pid })],
    ],
    goesOn: true,
  },
]

/** Inspected for ever; not a case, because nobody waits for its transcript. */
export const hanging = agent({ inspect: hang })

export function providersOf(inspect: RecoveryCase['inspect'] | Provider): ProviderRegistry {
  const provider = typeof inspect === 'object' ? inspect : agent({ create: async () => undefined, inspect })
  const registry = new ProviderRegistry((): PluginFacts[] => [])
  const { load } = registry
  registry.load = (name) => (name === 'agent' ? Promise.resolve(provider) : load.call(registry, name))
  return registry
}
