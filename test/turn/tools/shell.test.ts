import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import type { LaunchedProgram } from '../../../src/provider/host-contract.js'
import { shell } from '../../../src/turn/tools/shell.js'
import type { ToolContext } from '../../../src/turn/tools/tool.js'
import { isAlive } from '../../support/programs.js'
import { GRACE_MS, holdClock, holdTimers } from '../../support/time.js'
import { bench } from '../../support/toolboxes.js'
import { waitFor } from '../../support/wait.js'

const TOOL_TIMEOUT_MS = 3_600_000

test('a command runs in the workspace and returns its output', async () => {
  const { run, workspace } = bench()
  expect(await run('shell', { command: 'echo hi; pwd -P' })).toEqual({
    content: `hi\n${workspace}\n`,
    is_error: false,
    whole: null,
  })
})

test('stdout and stderr are in order of arrival', async () => {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const kill = async (): Promise<void> => undefined
  const ended = Promise.all([once(stdout, 'end'), once(stderr, 'end')])
  const exited = ended.then(() => ({ code: 0, signal: null }))
  const program: LaunchedProgram = { stdin, stdout, stderr, exited, kill }
  const { signal } = new AbortController()
  const context = { workspace: '/', signal, launch: async () => program } as unknown as ToolContext
  const output = shell.run({ command: 'three words' }, context)
  for (const [stream, text] of [
    [stdout, 'one'],
    [stderr, 'two'],
    [stdout, 'three'],
  ] as const) {
    stream.write(`${text}\n`)
    await setImmediate()
  }
  for (const stream of [stdout, stderr]) stream.end()
  expect(String(await output)).toBe('one\ntwo\nthree\n')
})

test('an exit status other than 0 is an error with the output and the status', async () => {
  const { run } = bench()
  expect(await run('shell', { command: 'echo no oil >&2; exit 3' })).toMatchObject({
    content: 'no oil\n\n[exit status 3]',
    is_error: true,
  })
  expect(await run('shell', { command: 'exit 7' })).toMatchObject({
    content: '[exit status 7]',
    is_error: true,
  })
})

test('a command killed by a signal is an error that names the signal', async () => {
  const { run } = bench()
  expect(await run('shell', { command: 'kill -USR1 $$' })).toMatchObject({
    content: '[killed by SIGUSR1]',
    is_error: true,
  })
})

test('stdin is empty, so that a command that reads it does not hang', async () => {
  const { run } = bench()
  expect((await run('shell', { command: 'cat; echo end' })).content).toBe('end\n')
})

test('output too long for the model is cut to its beginning and end; the whole is returned beside it', async () => {
  const { run } = bench()
  const { content, whole } = await run('shell', { command: 'echo first; yes | head -c 100000; echo last' })
  expect(content.length).toBeLessThan(limits.toolResultBytesMax + 100)
  expect(content).toMatch(/^first\ny\n.*bytes left out.*\ny\nlast\n$/s)
  expect(whole?.length).toBe('first\n'.length + 100_000 + 'last\n'.length)
})

test('endless output does not fill the memory and does not block the command', async () => {
  const { run } = bench()
  const { whole, is_error } = await run('shell', {
    command: `yes | head -c ${limits.toolOutputBytesMax + 5_000_000}`,
  })
  expect(is_error).toBe(false)
  expect(whole?.length).toBe(limits.toolOutputBytesMax)
})

test('processes that the command left in its group are killed with it', async () => {
  const { run, workspace, groups } = bench()
  const command =
    '(sleep 3600 & echo $! > left; sleep 3600) & while [ ! -s left ]; do sleep 0.01; done; echo done'
  expect((await run('shell', { command })).content).toBe('done\n')
  const left = Number(readFileSync(join(workspace, 'left'), 'utf8'))
  expect(left).toBeGreaterThan(0)
  expect(isAlive(left)).toBe(false)
  expect(groups).toHaveLength(1)
})

test('a stopped command is dead when its result arrives, even if it ignores SIGTERM', async () => {
  const { run, workspace } = bench()
  const controller = new AbortController()
  holdTimers(GRACE_MS)
  const command = 'trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done'
  const result = run('shell', { command }, controller.signal)
  await waitFor(() => pidIn(workspace) > 0, 'the command to begin')
  controller.abort()
  expect(await result).toMatchObject({ content: 'Interrupted: the turn was stopped.', is_error: true })
  expect(isAlive(pidIn(workspace))).toBe(false)
})

test('a command that times out is killed, and its result says so after the output', async () => {
  const { run, workspace } = bench({ timeoutMs: TOOL_TIMEOUT_MS })
  holdClock()
  const timers = holdTimers(GRACE_MS)
  const result = run('shell', { command: 'echo so far; echo $$ > pid; sleep 3600' })
  await waitFor(() => pidIn(workspace) > 0, 'the command to begin')
  timers.fire(TOOL_TIMEOUT_MS)
  const { content, is_error } = await result
  expect(is_error).toBe(true)
  expect(content).toMatch(/^Timed out: a tool may take .* s\.\nso far\n\n\[killed by SIGTERM\]$/)
  expect(isAlive(pidIn(workspace))).toBe(false)
})

test('a call without a command is an error and starts nothing', async () => {
  const { run, groups } = bench()
  for (const input of [{}, { command: 7 }, { command: null }])
    expect(await run('shell', input)).toMatchObject({
      content: 'the input needs command, as text',
      is_error: true,
    })
  expect(groups).toEqual([])
})

test('a missing workspace is an error', async () => {
  const { run } = bench({ workspace: '/nonexistent/w' })
  expect(await run('shell', { command: 'echo hi' })).toMatchObject({ is_error: true })
})

function pidIn(workspace: string): number {
  try {
    return Number(readFileSync(join(workspace, 'pid'), 'utf8'))
  } catch {
    return 0
  }
}
