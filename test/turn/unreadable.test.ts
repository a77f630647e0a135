/** Files of the home that cannot be read or written in mid-turn. This is neither a provider's failure nor a tool's result. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { isBlob } from '../../src/format.js'
import { limits } from '../../src/limits.js'
import type { ModelEvent, ModelProvider, ToolCall } from '../../src/provider/contract.js'
import type { Session } from '../../src/session/session.js'
import { failing, withFaults } from '../support/faults.js'
import { newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { model, runTurn, says } from '../support/turns.js'

const END: ModelEvent = { type: 'stop', reason: 'end' }
const large = 'x'.repeat(limits.inlineBytesMax + 1)
let session: Session

/** A provider that reads the conversation. `isCalm`: it catches the error. */
function listening(isCalm: boolean): ModelProvider {
  return model((request) => {
    try {
      request.messages()
    } catch (error) {
      if (!isCalm) throw error
    }
    return says({ type: 'text', text: 'fine' }, END)
  })
}

beforeEach(async () => {
  session = await newSession(tempStore())
  await runTurn(session, listening(false), { prompt: large })
})

function damageBlob(): void {
  const blobs = [...session.records({ seq: 1, offset: 0 })].flatMap((record) =>
    'content' in record && isBlob(record.content) ? [record.content.blob] : [],
  )
  writeFileSync(join(dirname(session.store.local.logPath(session.id)), 'blobs', blobs[0] as string), 'y')
}

describe.each([
  ['rethrows the error', false],
  ['ignores the error', true],
] as const)('a conversation that cannot be read, with a provider that %s', (_, isCalm) => {
  test('is reported as damage for a damaged blob, and the run stays open', async () => {
    damageBlob()
    await expect(runTurn(session, listening(isCalm))).rejects.toMatchObject({ code: 'CORRUPT' })
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'asked' })
  })

  test('is a storage failure for a failing disk, and the run stays open', async () => {
    withFaults(failing('EIO', ({ point }) => point === 'blob.read'))
    await expect(runTurn(session, listening(isCalm))).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(session.state.run).toMatchObject({ status: 'open', phase: 'asked' })
  })
})

describe('a storage failure during a tool call', () => {
  const call = (name: string, input: object): ModelEvent => ({
    type: 'tool_call',
    call: { call_id: 'c1', name, input } as ToolCall,
  })
  const calling = (name: string, input: object): ModelProvider =>
    model((request) =>
      request.messages().some(({ role }) => role === 'tool')
        ? says({ type: 'text', text: 'done' }, END)
        : says(call(name, input), { type: 'stop', reason: 'tool_calls' }),
    )
  const sending = calling('send_message', { to: 'operator', content: 'hello' })

  test.each([
    ['EIO', 'mail.put.fsync', 'SYNC_FAILED'],
    ['ENOSPC', 'mail.put.write', 'STORAGE_FAILED'],
  ])('with %s at %s, in the home, leaves the call without a result', async (errno, point, code) => {
    withFaults(failing(errno, (operation) => operation.point === point))
    await expect(runTurn(session, sending, { allow: ['all'] })).rejects.toMatchObject({ code })
    expect(session.state.run).toMatchObject({ status: 'open', calls: [{ status: 'started' }] })
  })

  test('in the workspace becomes the result of the call', async () => {
    withFaults(failing('EIO', ({ point }) => point.startsWith('workspace.')))
    const run = await runTurn(session, calling('read_file', { path: 'a.txt' }))
    expect(run.status).toBe('completed')
  })
})
