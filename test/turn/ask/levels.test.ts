/** The nesting limit of inputs. A deeper value could be written at one place and fail at another. */
import { Duplex, PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import type { AgentSession } from '../../../src/provider/contract.js'
import { serveMcp } from '../../../src/turn/tools/mcp-server.js'
import { newSession } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { agent, runTurn } from '../../support/turns.js'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('a tool of a program with an input', () => {
  test.each([
    [limits.inputLevelsMax, 'completed'],
    [limits.inputLevelsMax + 1, 'failed'],
    [100_000, 'failed'],
  ])('of %i levels leaves its turn %s', async (levels, status) => {
    async function* told(): AsyncIterable<unknown> {
      yield { type: 'tool_started', call_id: 'n1', tool: 'Bash', input: JSON.parse(nested(levels)) }
      yield { type: 'tool_finished', call_id: 'n1', tool: 'Bash', output: '', is_error: false }
      yield { type: 'done', reply: 'fine' }
    }
    const one = { send: told, suspend: async () => Buffer.from(''), stop: async () => undefined }
    const provider = agent({ create: async () => one as unknown as AgentSession })
    const run = await runTurn(await newSession(tempStore()), provider)
    expect(run.status).toBe(status)
  })
})

describe('an MCP call with arguments', () => {
  test.each([
    [limits.inputLevelsMax, true],
    [limits.inputLevelsMax + 1, false],
  ])('of %i levels is accepted: %s', async (levels, isTaken) => {
    const [toServer, fromServer] = [new PassThrough(), new PassThrough()]
    const connection = Duplex.from({ readable: toServer, writable: fromServer })
    let calls = 0
    const served = serveMcp(connection, [], async () => {
      calls += 1
      return { content: 'done', is_error: false }
    })
    const call = `{"name":"t","arguments":${nested(levels)}}`
    toServer.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${call}}\n`)
    const [answer] = (await fromServer.iterator().next()).value.toString().split('\n') as [string]
    expect(calls).toBe(isTaken ? 1 : 0)
    expect(JSON.parse(answer)).toMatchObject(
      isTaken
        ? { result: { content: [{ text: 'done' }] } }
        : { error: { message: expect.stringContaining('The arguments have too many levels') } },
    )
    connection.destroy()
    await served
  })
})
