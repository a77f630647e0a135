/** How the output of an agent program is read after its exit. */
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { JsonObject } from '../../src/provider/contract.js'
import type { AgentHost, LaunchedProgram } from '../../src/provider/host-contract.js'
import { waitFor } from '../support/wait.js'
import { pluginPart } from './plugin-part.js'

interface JsonProgram {
  messages(): AsyncIterable<JsonObject>
  complaint(): Promise<string>
  finish(graceMs: number): Promise<void>
}

const { launchJsonProgram } = await pluginPart<{
  launchJsonProgram(host: AgentHost, command: object, options: { signal: AbortSignal }): Promise<JsonProgram>
}>('shared/src/program/program')

/** A program that has exited. */
async function exited() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const exit = Promise.resolve({ code: 3, signal: null })
  const launched: LaunchedProgram = { stdin, stdout, stderr, exited: exit, kill: async () => undefined }
  const host = { launch: async () => launched } as unknown as AgentHost
  const program = await launchJsonProgram(host, {}, { signal: new AbortController().signal })
  return { program, stdout, stderr }
}

test('stderr that is read only after the exit is in the failure', async () => {
  const { program, stderr } = await exited()
  setImmediate(() => stderr.end('no key'))
  expect(await program.complaint()).toBe('no key')
})

test('stderr that is read only after the turn has finished the program is in the failure too', async () => {
  const { program, stderr } = await exited()
  setImmediate(() => stderr.end('no key'))
  await program.finish(0)
  expect(await program.complaint()).toBe('no key')
})

test('stderr is in the failure although another process holds it open', async () => {
  const { program, stderr } = await exited()
  stderr.write('no key')
  expect(await program.complaint()).toBe('no key')
})

test('stdout is read to its end, even by a slow reader', async () => {
  const { program, stdout } = await exited()
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => clock.mockRestore())
  stdout.write('{"n":1}\n')
  const numbers: unknown[] = []
  for await (const { n } of program.messages()) {
    numbers.push(n)
    if (n !== 1) continue
    stdout.write('{"n":2}\n')
    stdout.write('{"n":3}\n')
    clock.mockImplementation(() => now() + 60_000)
    let looks = 0
    Object.defineProperty(stdout, 'readableLength', {
      get: () => {
        looks += 1
        return Reflect.get(PassThrough.prototype, 'readableLength', stdout)
      },
    })
    await waitFor(() => looks > 1 || stdout.destroyed, 'two looks at the pipe')
  }
  expect(numbers).toEqual([1, 2, 3])
})
