/** Processes that a tool or tool server starts in their own session (`setsid`): which of them outlive the call and the turn. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ModelEvent, ToolCall } from '../../src/provider/contract.js'
import type { Session } from '../../src/session/session.js'
import { isAlive } from '../support/programs.js'
import { newSession } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { serverThat } from '../support/toolboxes.js'
import { FakeStop, model, runTurn, says, toolboxAt } from '../support/turns.js'
import { waitFor } from '../support/wait.js'

/** A call times out when the test says so. */
const times: AbortController[] = []
vi.mock('../../src/timeout-signal.js', () => ({
  timeoutSignal: () => {
    const time = new AbortController()
    times.push(time)
    return time.signal
  },
}))

let session: Session
let workspace: string

beforeEach(async () => {
  times.length = 0
  workspace = tempDirectory()
  session = await newSession(tempStore(), { workspace })
})

/** Starts a process outside of its shell's group, and writes its pid to a file. */
const apart = (file: string): string => `setsid sh -c 'echo $$ > ${file}; exec sleep 3600' &`
const WAIT = 'while :; do sleep 0.05; done'

/** A model that runs these commands in order. */
function runs(...commands: string[]) {
  return model((request) => {
    const command = commands[request.messages().filter(({ role }) => role === 'assistant').length]
    return says(
      ...(command === undefined ? END : [call(command), { type: 'stop', reason: 'tool_calls' } as const]),
    )
  })
}

const END: ModelEvent[] = [
  { type: 'text', text: 'done' },
  { type: 'stop', reason: 'end' },
]

function call(command: string): ModelEvent {
  return { type: 'tool_call', call: { call_id: 'c', name: 'shell', input: { command } } as ToolCall }
}

async function started(file: string): Promise<number> {
  const path = join(workspace, file)
  const text = (): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  await waitFor(() => text().endsWith('\n'), file)
  const pid = Number(text())
  onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')))
  return pid
}

describe('a process that a tool started in its own session', () => {
  test('survives a call that ended by itself', async () => {
    const run = await runTurn(session, runs(`${apart('left')} while [ ! -s left ]; do sleep 0.01; done`), {
      allow: ['shell'],
    })
    expect([run.status, isAlive(await started('left'))]).toEqual(['completed', true])
  })

  test('is killed when its call times out; a process of an earlier call survives', async () => {
    const commands = [
      `${apart('left')} while [ ! -s left ]; do sleep 0.01; done`,
      `${apart('apart')} ${WAIT}`,
    ]
    const turn = runTurn(session, runs(...commands), { allow: ['shell'] })
    const pids = [await started('left'), await started('apart')]
    times.at(-1)?.abort()
    expect((await turn).status).toBe('completed')
    await waitFor(() => !isAlive(pids[1] as number), 'its death')
    expect(isAlive(pids[0] as number)).toBe(true)
  })

  test.each(['cancelled', 'shutdown', 'turn_timeout'] as const)(
    'is killed when the turn is stopped: %s',
    async (why) => {
      const stop = new FakeStop()
      const turn = runTurn(session, runs(`${apart('apart')} ${WAIT}`), { allow: ['shell'], stop })
      const pid = await started('apart')
      stop.stop(why)
      await turn
      await waitFor(() => !isAlive(pid), 'its death')
    },
  )
})

describe('a process that a tool server started in its own session', () => {
  // A server that did not start would be killed at once, with all its processes.
  const { command, args, env } = serverThat('well')
  const script = `${apart('browser')} exec "$0" "$@"`
  const servers = { notes: { command: '/bin/sh', args: ['-c', script, command, ...args], env } }

  test('is killed with a turn that does not complete', async () => {
    const stop = new FakeStop()
    // The stop comes during a tool, so that the turn is in flight.
    const toolbox = toolboxAt(session, { servers })
    const turn = runTurn(session, runs(WAIT), { allow: ['shell'], stop, toolbox })
    const pid = await started('browser')
    stop.stop('cancelled')
    await turn
    await waitFor(() => !isAlive(pid), 'its death')
  })
})
