/** The rows of the recovery table as logs that a crash can leave. Their transcripts are in test/cases. */
import { randomUUID } from 'node:crypto'
import { ownIdentity } from '../../src/host/identity.js'
import type { Provider } from '../../src/provider/contract.js'
import { type PluginFacts, ProviderRegistry } from '../../src/provider/registry.js'
import type { ProcessGroup } from '../../src/schema/types.js'
import { deriveId } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'

import { beginning, replied } from '../support/sessions.js'
import { agent, hang } from '../support/turns.js'

export interface RecoveryCase {
  /** The file of its transcript. */
  name: string
  /** The crash that leaves this log. */
  story: string
  provider: 'scripted' | 'exec' | 'agent' | 'gone'
  /** The inspection by the provider `agent`. */
  inspect?: () => unknown
  /** Batches after session.created. */
  before: (run: string, session: Session) => NewRecord[][]
  continuesTurn: boolean
  /** Default `stop`. */
  unknownTool?: 'stop' | 'continue'
  /** Ids of mail whose files are in the inbox. */
  inbox?: string[]
}

export const DELIVERED = '6f1c7d52-97a5-4a38-9d0e-0f3b1c2d4e5f'
export const PENDING = '7f1c7d52-97a5-4a38-9d0e-0f3b1c2d4e5f'

const own = ownIdentity()
const elsewhere = randomUUID()

/** A dead process group of this boot and pid namespace. */
function group(over: Partial<ProcessGroup> = {}): ProcessGroup {
  const { kernel_boot_id, pid_namespace } = own
  return { process_group: 2 ** 22 + 1, start_time: 1, kernel_boot_id, pid_namespace, ...over }
}

function launched(run: string, over?: Partial<ProcessGroup>): NewRecord {
  return { kind: 'provider.started', run_id: run, ...group(over) }
}

const asked = (run: string): NewRecord => ({ kind: 'model.requested', run_id: run })
const state = (run: string): NewRecord => ({ kind: 'provider.state', run_id: run, state: btoa('native-1') })

const PAST = '2001-01-01T00:00:00.000Z'
const FUTURE = '2999-01-01T00:00:00.000Z'

/** One response of a model, with a call of each of `tools`. */
function calling(run: string, session: Session, ...tools: string[]): NewRecord[][] {
  const calls = tools.map((name, index) => ({ call_id: `c${index + 1}`, name, input: {} }))
  return [
    [...beginning(session, run, 'fix it'), asked(run)],
    [replied(run, 'I will look.'), { kind: 'model.responded', run_id: run, stop: 'tool_calls', calls }],
  ]
}

const toolStarted = (run: string, call_id: string, tool: string): NewRecord => ({
  kind: 'tool.started',
  run_id: run,
  call_id,
  tool,
  ...(tool === 'shell' ? { group: group() } : {}),
})

const toolFinished = (run: string, call_id: string, tool: string): NewRecord => ({
  kind: 'tool.finished',
  run_id: run,
  call_id,
  tool,
  content: 'done',
  is_error: false,
})

/** A run that waits for approval of its only call. */
function deferred(run: string, session: Session): NewRecord[][] {
  const tool = 'await_external'
  return [
    ...calling(run, session, tool),
    [toolStarted(run, 'c1', tool)],
    [{ kind: 'tool.deferred', run_id: run, call_id: 'c1', tool, content: 'the build' }],
  ]
}

function awaiting(run_id: string, deadline_at: string): NewRecord[] {
  const token_id = deriveId(run_id, 'token')
  const asks = [{ call_id: 'c1', tool: 'await_external', input: {} }]
  const wait = 'tool_result'
  return [
    { kind: 'token.minted', run_id, token_id, hash: 'a'.repeat(64), expires_at: deadline_at, wait },
    { kind: 'run.waiting', run_id, wait, asks, token_id, deadline_at },
    { kind: 'session.suspended', reason: 'idle' },
  ]
}

function parked(run: string, session: Session, deadline_at: string): NewRecord[][] {
  const token_id = deriveId(run, 'token')
  return [
    ...calling(run, session, 'write_file'),
    [
      { kind: 'token.minted', run_id: run, token_id, hash: 'a'.repeat(64), expires_at: deadline_at },
      {
        kind: 'run.waiting',
        run_id: run,
        wait: 'approval',
        asks: [{ call_id: 'c1', tool: 'write_file', input: {} }],
        token_id,
        deadline_at,
      },
      { kind: 'session.suspended', reason: 'idle' },
    ],
  ]
}

function limited(run: string, session: Session, not_before: string): NewRecord[][] {
  const error = { type: 'rate_limit' as const, message: 'too many requests' }
  return [
    [...beginning(session, run, 'fix it'), asked(run)],
    [
      { kind: 'model.failed', run_id: run, error, retry_in_ms: null },
      { kind: 'run.waiting', run_id: run, wait: 'not_before', not_before, why: error.message },
      { kind: 'session.suspended', reason: 'idle' },
    ],
  ]
}

const inFlight: RecoveryCase['before'] = (run, session) => [
  beginning(session, run, 'build it'),
  [launched(run)],
  [state(run)],
]

export const CASES: RecoveryCase[] = [
  {
    name: 'A-never-ran',
    story: 'spawned without a prompt, then killed before its clean exit',
    provider: 'scripted',
    before: () => [],
    continuesTurn: false,
  },
  {
    name: 'A-refused',
    story: 'a turn was refused, and the command was killed before its exit',
    provider: 'scripted',
    before: () => [
      [
        {
          kind: 'turn.refused',
          cause: 'authentication',
          code: 'PROVIDER_MISCONFIGURED',
          message: 'no API key: set ANTHROPIC_API_KEY',
          command: 'substrat send',
          key: 'n1',
        },
      ],
    ],
    continuesTurn: true,
  },
  {
    name: 'A-not-at-rest',
    story: 'killed between two turns of one command: the run has ended, and the session is still active',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [
        { kind: 'model.responded', run_id: run, stop: 'end' },
        replied(run, 'echo: hi'),
        { kind: 'run.completed', run_id: run },
      ],
    ],
    continuesTurn: true,
  },
  {
    name: 'B-mark',
    story:
      'spawned with a prompt, and killed before the provider was asked; the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => [beginning(session, run, 'hi')],
    continuesTurn: false,
  },
  {
    name: 'B-ask',
    story: 'killed between the start of a turn and the start of its program; the command continues the turn',
    provider: 'exec',
    before: (run, session) => [beginning(session, run, 'hi')],
    continuesTurn: true,
  },
  {
    name: 'C-mark',
    story: 'killed during inference; the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => [[...beginning(session, run, 'hi'), asked(run)]],
    continuesTurn: false,
  },
  {
    name: 'C-ask',
    story: 'killed during inference, twice; the command continues the turn',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [{ kind: 'run.resumed', run_id: run, boot_id: 'x', auto: true, attempt: 1 }, asked(run)],
    ],
    continuesTurn: true,
  },
  {
    name: 'C-reboot',
    story: 'the power failed during inference',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)].map((record) =>
        record.kind === 'run.started' ? { ...record, boot_id: `${elsewhere}/1/2/3` } : record,
      ),
    ],
    continuesTurn: false,
  },
  {
    name: 'C-retry',
    story: 'killed while backing off before a retry',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [
        {
          kind: 'model.failed',
          run_id: run,
          error: { type: 'overloaded', message: 'busy' },
          retry_in_ms: 2000,
        },
      ],
    ],
    continuesTurn: true,
  },
  {
    name: 'D-none-started',
    story: 'killed after a response with tool calls was recorded, and before the first tool started',
    provider: 'scripted',
    before: (run, session) => calling(run, session, 'read_file', 'shell'),
    continuesTurn: true,
  },
  {
    name: 'D-some-finished',
    story: 'killed between two tools; the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'read_file', 'read_file'),
      [toolStarted(run, 'c1', 'read_file')],
      [toolFinished(run, 'c1', 'read_file')],
    ],
    continuesTurn: false,
  },
  {
    name: 'D-deferred',
    story: 'killed after a tool left its result to come from elsewhere, and before the turn waited for it',
    provider: 'scripted',
    before: (run, session) => deferred(run, session),
    continuesTurn: true,
  },
  {
    name: 'D-deferred-mark',
    story: 'the same; the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => deferred(run, session),
    continuesTurn: false,
  },
  {
    name: 'E-await',
    story: 'killed after await_external started, and before its deferral: it runs again',
    provider: 'scripted',
    before: (run, session) => deferred(run, session).slice(0, -1),
    continuesTurn: true,
  },
  {
    name: 'E-stop',
    story: 'killed while a shell command ran; the settings leave the decision to a person',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'shell', 'read_file'),
      [toolStarted(run, 'c1', 'shell')],
    ],
    continuesTurn: true,
    unknownTool: 'stop',
  },
  {
    name: 'E-continue',
    story: 'killed while a shell command ran; the settings let the model check the outcome',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'shell', 'read_file'),
      [toolStarted(run, 'c1', 'shell')],
    ],
    continuesTurn: true,
    unknownTool: 'continue',
  },
  {
    name: 'E-continue-mark',
    story:
      'killed while a tool wrote a file; the model may check the outcome, but the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'write_file'),
      [toolStarted(run, 'c1', 'write_file')],
    ],
    continuesTurn: false,
    unknownTool: 'continue',
  },
  {
    name: 'E-reads',
    story: 'killed while a read-only tool ran: the tool runs again',
    provider: 'scripted',
    before: (run, session) => [...calling(run, session, 'read_file'), [toolStarted(run, 'c1', 'read_file')]],
    continuesTurn: true,
  },
  {
    name: 'E-foreign',
    story:
      'killed while a shell command ran in a container; recovery runs outside, and the command may still run',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'shell'),
      [
        {
          kind: 'tool.started',
          run_id: run,
          call_id: 'c1',
          tool: 'shell',
          group: group({ pid_namespace: '1' }),
        },
      ],
    ],
    continuesTurn: true,
    unknownTool: 'continue',
  },
  {
    name: 'F-ask',
    story: 'killed between the last tool result and the next request',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'read_file'),
      [toolStarted(run, 'c1', 'read_file')],
      [toolFinished(run, 'c1', 'read_file')],
    ],
    continuesTurn: true,
  },
  {
    name: 'F-mark',
    story: 'killed between the last tool result and the next request; the command does not continue the turn',
    provider: 'scripted',
    before: (run, session) => [
      ...calling(run, session, 'read_file'),
      [toolStarted(run, 'c1', 'read_file')],
      [toolFinished(run, 'c1', 'read_file')],
    ],
    continuesTurn: false,
  },
  {
    name: 'G-model',
    story:
      'the final response of a model is recorded, and its run is open: a program that records the two separately leaves this',
    provider: 'scripted',
    before: (run, session) => [
      [...beginning(session, run, 'hi'), asked(run)],
      [replied(run, 'hello'), { kind: 'model.responded', run_id: run, stop: 'end' }],
    ],
    continuesTurn: true,
  },
  {
    name: 'G-close',
    story: 'killed between the reply of a program and the end of its run, while releasing the provider',
    provider: 'exec',
    before: (run, session) => [beginning(session, run, 'hi'), [launched(run)], [replied(run, 'hello')]],
    continuesTurn: true,
  },
  {
    name: 'H-keep',
    story: 'waiting for approval with a valid token; the process has exited by design',
    provider: 'scripted',
    before: (run, session) => parked(run, session, FUTURE),
    continuesTurn: true,
  },
  {
    name: 'H-result',
    story: 'waiting for a result from elsewhere with a valid token',
    provider: 'scripted',
    before: (run, session) => [...deferred(run, session), awaiting(run, FUTURE)],
    continuesTurn: true,
  },
  {
    name: 'H-killed',
    story: 'waiting for approval, and killed before the session was suspended',
    provider: 'scripted',
    before: (run, session) => {
      const [first, second, third] = parked(run, session, FUTURE) as [NewRecord[], NewRecord[], NewRecord[]]
      return [first, second, third.slice(0, -1)]
    },
    continuesTurn: false,
  },
  {
    name: 'H-decided',
    story: 'approved, and killed before the tool started: no second approval is needed',
    provider: 'scripted',
    before: (run, session) => {
      const token_id = deriveId(run, 'token')
      return [
        ...parked(run, session, FUTURE),
        [
          { kind: 'session.activated', boot_id: 'x' },
          { kind: 'token.consumed', run_id: run, token_id, decision: 'approve', digest: 'd' },
          { kind: 'run.resumed', run_id: run, boot_id: 'x', auto: false, attempt: 1, token_id },
        ],
      ]
    },
    continuesTurn: true,
  },
  {
    name: 'H2-before',
    story: 'waiting for the end of a rate limit, which has not come',
    provider: 'scripted',
    before: (run, session) => limited(run, session, FUTURE),
    continuesTurn: true,
  },
  {
    name: 'H2-after',
    story: 'waiting for the end of a rate limit, which has passed',
    provider: 'scripted',
    before: (run, session) => limited(run, session, PAST),
    continuesTurn: true,
  },
  {
    name: 'I-deadline',
    story: 'waiting for approval past its deadline',
    provider: 'scripted',
    before: (run, session) => parked(run, session, PAST),
    continuesTurn: true,
  },
  {
    name: 'I-result',
    story: 'waiting for a result from elsewhere past its deadline',
    provider: 'scripted',
    before: (run, session) => [...deferred(run, session), awaiting(run, PAST)],
    continuesTurn: true,
  },
  {
    name: 'I-revoked',
    story: 'waiting for approval with a token that was revoked and not replaced',
    provider: 'scripted',
    before: (run, session) => [
      ...parked(run, session, FUTURE),
      [{ kind: 'token.revoked', run_id: run, token_id: deriveId(run, 'token'), reason: 'rotated' }],
    ],
    continuesTurn: true,
  },
  {
    name: 'I-missing',
    story: 'waiting for approval with a token that no record minted',
    provider: 'scripted',
    before: (run, session) =>
      parked(run, session, FUTURE).map((batch) => batch.filter(({ kind }) => kind !== 'token.minted')),
    continuesTurn: false,
  },
  {
    name: 'J-finished',
    story: 'killed while the program ran; the program finished, and its own store has the reply',
    provider: 'agent',
    inspect: async () => ({ outcome: 'finished', reply: 'built' }),
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-unfinished',
    story: 'killed while the program ran; its own store says that it did not finish',
    provider: 'agent',
    inspect: async () => ({ outcome: 'unfinished' }),
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-unknown',
    story: 'killed while the program ran; the program has no store of its own',
    provider: 'exec',
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-provider-gone',
    story: "killed while the program ran; the provider's plugin was uninstalled afterwards",
    provider: 'gone',
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-provider-broken',
    story: 'killed while the program ran; the provider throws an error when asked',
    provider: 'agent',
    inspect: () => {
      throw new Error('the store is locked')
    },
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-provider-garbage',
    story: 'killed while the program ran; the provider says that it finished, but gives no reply',
    provider: 'agent',
    inspect: async () => ({ outcome: 'finished' }),
    before: inFlight,
    continuesTurn: true,
  },
  {
    name: 'J-foreign',
    story:
      'killed while the program ran in a container; recovery runs outside, and the program may still run',
    provider: 'agent',
    inspect: async () => ({
      outcome: 'finished',
      reply: 'no provider is asked while its program may still run',
    }),
    before: (run, session) => [beginning(session, run, 'build it'), [launched(run, { pid_namespace: '1' })]],
    continuesTurn: true,
  },
  {
    name: 'J-reboot',
    story: 'the power failed while the program ran: its process group number now belongs to another process',
    provider: 'exec',
    before: (run, session) => [
      beginning(session, run, 'build it').map((record) =>
        record.kind === 'run.started' ? { ...record, boot_id: `${elsewhere}/1/2/3` } : record,
      ),
      [launched(run, { kernel_boot_id: elsewhere, process_group: process.pid })],
    ],
    continuesTurn: true,
  },
  {
    name: 'K',
    story: 'a delivered message still has its file in the inbox, beside a pending message',
    provider: 'scripted',
    before: (run, session) => {
      const [activated, started] = beginning(session, run, '') as [NewRecord, NewRecord]
      const mail: NewRecord = {
        kind: 'mail.delivered',
        run_id: run,
        message_id: DELIVERED,
        from: 'operator',
        mail_kind: 'request',
        content: 'hi',
        sent_at: '2026-01-01T00:00:00.000Z',
      }
      return [[activated, started, mail, asked(run)]]
    },
    inbox: [DELIVERED, PENDING],
    continuesTurn: true,
  },
]

/** Its inspection never ends. It is not a case, because settling it needs a fake clock. */
export const hanging = agent({ inspect: hang })

export function providersOf(inspect: RecoveryCase['inspect'] | Provider): ProviderRegistry {
  const provider = typeof inspect === 'object' ? inspect : agent({ create: async () => undefined, inspect })
  const registry = new ProviderRegistry((): PluginFacts[] => [])
  const { load } = registry
  registry.load = (name) => (name === 'agent' ? Promise.resolve(provider) : load.call(registry, name))
  return registry
}
