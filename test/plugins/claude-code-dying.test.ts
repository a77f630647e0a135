/** The ways in which claude can end, or not end, during a turn. */
import { readdirSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { AgentEvent } from '../../src/provider/contract.js'
import { processesWith } from '../support/processes.js'
import { recordedHost } from '../support/programs.js'
import { tempDirectory } from '../support/temp.js'
import { GRACE_MS, holdTimers } from '../support/time.js'
import {
  answersGiven,
  claude,
  endGrandchild,
  failureIn,
  firstTurn,
  newHost,
  newSession,
  replyIn,
  settings,
  started,
  stateIn,
  textIn,
  turn,
  typesOf,
} from './claude-code/support.js'

describe('a claude that is killed', () => {
  test.each([['die before the id'], ['die after the id'], ['die in mid-text'], ['die with half a line']])(
    '(%s) makes the turn fail as crashed, and its session is known',
    async (prompt) => {
      const died = await firstTurn(prompt)
      expect(failureIn(died)).toMatchObject({ type: 'crashed', message: expect.stringContaining('SIGKILL') })
      expect(await claude.inspect(stateIn(died), settings())).toMatchObject({ outcome: 'unfinished' })
      const restored = await claude.restore(stateIn(died), settings(), newHost())
      expect(replyIn(await turn(restored, 'hello'))).toBe('echo: hello []')
    },
  )

  test('under a wrapper that exits with status 0 ended early, and its session is known', async () => {
    const died = await firstTurn('exit 0 in mid-text')
    expect(failureIn(died)).toMatchObject({
      type: 'crashed',
      ended_early: true,
      message: expect.stringContaining('exited 0'),
    })
    expect(await claude.inspect(stateIn(died), settings())).toMatchObject({ outcome: 'unfinished' })
  })

  test('after its result has replied', async () => {
    expect(replyIn(await firstTurn('die after the result'))).toBe('echo: hello []')
  })

  test('after it stored its reply, but before its result, has replied', async () => {
    expect(replyIn(await firstTurn('die after the reply was kept'))).toBe('kept, and never said')
  })
})

describe('a claude that does not end', () => {
  test('after its result is killed with its whole process group', async () => {
    const { host, runId } = recordedHost()
    const done = await turn(await newSession(settings(), { ...host, tools: null }), 'hang after the result')
    expect(replyIn(done)).toBe('echo: hello []')
    expect(processesWith(`SUBSTRAT_RUN=${runId}`)).toEqual([])
  })

  test('and ignores the interrupt and SIGTERM is killed soon after the turn is stopped', async () => {
    const { host, runId } = recordedHost()
    const controller = new AbortController()
    const session = await newSession(settings(), { ...host, tools: null })
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'text') controller.abort()
    }
    const stopped = await turn(session, 'never end', { signal: controller.signal, onEvent })
    expect(typesOf(stopped)).not.toContain('done')
    expect(stopped.error).toBeDefined()
    expect(processesWith(`SUBSTRAT_RUN=${runId}`)).toEqual([])
  })

  test('is dead after its session is stopped in the middle of a turn', async () => {
    const { host, runId } = recordedHost()
    const session = await newSession(settings(), { ...host, tools: null })
    let stopping: Promise<void> | undefined
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'text') stopping ??= session.stop()
    }
    const stopped = await turn(session, 'be slow', { onEvent })
    await stopping
    expect(stopped.error).toBeDefined()
    expect(processesWith(`SUBSTRAT_RUN=${runId}`)).toEqual([])
  })

  test('is interrupted first, so that it stores its text', async () => {
    const controller = new AbortController()
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'text') controller.abort()
    }
    holdTimers(GRACE_MS)
    const stopped = await turn(await newSession(), 'be slow', { signal: controller.signal, onEvent })
    expect(stopped.events.at(-1)?.type).not.toBe('done')
    expect(answersGiven()).toEqual([{ subtype: 'interrupt' }])
  })

  test('because a grandchild holds its stdout does not delay the turn', async () => {
    onTestFinished(endGrandchild)
    const failed = await firstTurn('leave a grandchild with stdout')
    expect(failureIn(failed)).toMatchObject({
      type: 'crashed',
      message: 'claude exited 3 before the end of its turn: it went wrong',
    })
  })
})

describe('output of claude', () => {
  test('can be invalid, of a later version, or contain U+2028', async () => {
    const done = await firstTurn('say garbage')
    expect(replyIn(done)).toBe('one\u2028line é')
    expect(textIn(done)).toContain('one\u2028line\u2029of\rtext')
  })

  test('can have lines of 10 MB, of which the log gets a bounded part', async () => {
    const done = await firstTurn('say a lot')
    expect(replyIn(done)).toBe('echo: hello []')
    const [call, result] = done.events.filter(({ type }) => type.startsWith('tool_'))
    expect(call).toMatchObject({ type: 'tool_started', tool: 'Read' })
    expect(result).toMatchObject({
      type: 'tool_finished',
      output: expect.stringContaining('characters left out'),
    })
    expect(JSON.stringify(done.events).length).toBeLessThan(100_000)
  })
})

test.each([['hello'], ['die after the id'], ['die before the id'], ['use the tool']])(
  'no private file is left after a turn (%s)',
  async (prompt) => {
    const temporary = tempDirectory()
    const before = process.env.TMPDIR
    process.env.TMPDIR = temporary
    onTestFinished(() => {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    })
    await turn(await newSession(settings({}, { instructions: 'be brief' })), prompt)
    expect(started().instructions_file).toContain(temporary)
    expect(readdirSync(temporary)).toEqual([])
  },
)
