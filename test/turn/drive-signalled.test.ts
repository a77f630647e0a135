/** Turns whose program, tools or model received the same signal as substrat. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ModelEvent, ModelMessage, Provider } from '../../src/provider/contract.js'
import { exec } from '../../src/provider/exec.js'
import { providerFailure } from '../../src/provider/failure.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { Run } from '../../src/session/state.js'
import { newSession } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { serverThat } from '../support/toolboxes.js'
import { agent, FakeStop, model, runTurn, says, type TurnFacts, toolboxAt } from '../support/turns.js'

const SHUTDOWN = { status: 'interrupted', reason: 'shutdown' }
/** A person decides how it goes on. */
const UNDECIDED = { status: 'interrupted', reason: 'unknown_tool' }
let workspace: string
let session: Session

beforeEach(async () => {
  workspace = tempDirectory()
  const options = { command: '. ./end' }
  session = await newSession(tempStore(), { workspace, provider: 'exec', options })
})

/** `true`: the signal came before the failure; `late`: within a moment after it. */
function turn(provider: Provider, signalled: FakeStop['signalled'], facts: TurnFacts = {}): Promise<Run> {
  const stop = new FakeStop()
  stop.signalled = signalled
  return runTurn(session, provider, { stop, ...facts })
}

function programThat(script: string, signalled: FakeStop['signalled']): Promise<Run> {
  writeFileSync(join(workspace, 'end'), script)
  return turn(exec, signalled)
}

const failingAgent = (error: Error): Provider =>
  agent({
    create: async () => ({
      send: async function* () {
        yield { type: 'text', text: 'so far' }
        throw error
      },
      suspend: async () => null,
      stop: async () => undefined,
    }),
  })

/** Ends its turn normally, after its own tool may have `failed`. */
const agentWhoseTool = (failed: boolean): Provider =>
  agent({
    create: async () => ({
      send: async function* () {
        yield { type: 'tool_started', call_id: 'c', tool: 'bash', input: {} }
        yield { type: 'tool_finished', call_id: 'c', tool: 'bash', output: '', is_error: failed }
        yield { type: 'done', reply: 'that is all' }
      },
      suspend: async () => null,
      stop: async () => undefined,
    }),
  })

describe('an agent program', () => {
  test('whose own tool fails when the signal arrives has not ended its turn, even if it replies', async () => {
    expect(await turn(agentWhoseTool(true), true)).toMatchObject(SHUTDOWN)
    expect(await turn(agentWhoseTool(false), true)).toMatchObject({ status: 'completed' })
    expect(await turn(agentWhoseTool(true), false)).toMatchObject({ status: 'completed' })
  })

  const ends: [string, string][] = [
    ['dies of the signal', 'kill -TERM $$'],
    ['exits with the number of the signal', 'exit 143'],
    ['exits with another status', 'exit 1'],
  ]
  test.each(ends)(
    'that %s, just before or after the signal reaches substrat, leaves its turn interrupted',
    async (_, script) => {
      expect(await programThat(script, true)).toMatchObject(SHUTDOWN)
      expect(await programThat(script, 'late')).toMatchObject(SHUTDOWN)
    },
  )

  test('that replies in spite of the signal completes its turn', async () => {
    expect((await programThat('echo done', true)).status).toBe('completed')
  })

  test('whose stream breaks in some other way leaves its turn interrupted too', async () => {
    for (const type of ['crashed', 'unreachable', 'timeout', 'overloaded', 'invalid_response'] as const)
      expect(await turn(failingAgent(providerFailure(type, 'broken')), true)).toMatchObject(SHUTDOWN)
  })

  test('whose provider refuses the request fails its turn', async () => {
    for (const type of [
      'authentication',
      'misconfigured',
      'invalid',
      'overflow',
      'session_lost',
      'busy',
    ] as const) {
      const run = await turn(failingAgent(providerFailure(type, 'no')), true)
      expect(run).toMatchObject({ status: 'failed', error: { type } })
    }
  })

  test('that fails without a signal fails its turn', async () => {
    expect(await programThat('exit 1', false)).toMatchObject({ status: 'failed', error: { type: 'crashed' } })
  })
})

/** A model that calls the tool, and the results that it receives. */
function calling(name: string, input: object): { provider: Provider; heard: ModelMessage[] } {
  const heard: ModelMessage[] = []
  const provider = model((request) => {
    heard.push(...request.messages().filter(({ role }) => role === 'tool'))
    const call = { type: 'tool_call', call: { call_id: 'c', name, input } } as ModelEvent
    return heard.length > 0
      ? says({ type: 'text', text: 'done' }, { type: 'stop', reason: 'end' })
      : says(call, { type: 'stop', reason: 'tool_calls' })
  })
  return { provider, heard }
}

function results(): SessionRecord<'tool.finished'>[] {
  const all = [...session.records({ seq: 1, offset: 0 })]
  return all.filter(
    (record) => record.kind === 'tool.finished',
  ) as unknown as SessionRecord<'tool.finished'>[]
}

const KILLED = { command: 'printf half; kill -TERM $$' }
const FAILED = { command: 'printf half; exit 2' }

describe('a tool of a model', () => {
  test.each([
    ['is killed by the signal after substrat received it', KILLED, true],
    ['is killed by the signal a moment before substrat receives it', KILLED, 'late'],
    ['handles the signal and fails', FAILED, true],
  ] as const)('that %s has an unknown outcome, and the model is not asked', async (_, input, signalled) => {
    const { provider, heard } = calling('shell', input)
    expect(await turn(provider, signalled, { allow: ['shell'] })).toMatchObject(UNDECIDED)
    expect(heard).toEqual([])
    expect(results()).toMatchObject([
      {
        is_error: true,
        content: expect.stringMatching(/^Interrupted: .* is unknown\. Its output:\nhalf\n\[/),
      },
    ])
  })

  test('whose server dies of the signal in mid-call has an unknown outcome', async () => {
    const toolbox = toolboxAt(session, { servers: { notes: serverThat('well') } })
    const { provider, heard } = calling('notes__die', {})
    expect(await turn(provider, 'late', { allow: ['all'], toolbox })).toMatchObject(UNDECIDED)
    expect(heard).toEqual([])
    expect(results()[0]?.content).toMatch(/^Interrupted: /)
  })

  test.each([
    ['is killed', KILLED, /^half\n\[killed by SIGTERM\]$/],
    ['fails', FAILED, /^half\n\[exit status 2\]$/],
  ])(
    'that %s without a signal to substrat has a result, and the model receives it',
    async (_, input, said) => {
      const { provider, heard } = calling('shell', input)
      expect((await turn(provider, false, { allow: ['shell'] })).status).toBe('completed')
      expect(heard).toMatchObject([{ is_error: true, content: expect.stringMatching(said) }])
    },
  )

  test('that reads and fails has its usual result, because it is not a process', async () => {
    const { provider, heard } = calling('read_file', { path: 'nowhere' })
    expect((await turn(provider, true)).status).toBe('completed')
    expect(heard).toHaveLength(1)
  })
})

test('a model that is unreachable after the signal is asked again by the next command', async () => {
  const provider = model(() => {
    throw providerFailure('unreachable', 'connection refused')
  })
  expect(await turn(provider, true)).toMatchObject(SHUTDOWN)
})
