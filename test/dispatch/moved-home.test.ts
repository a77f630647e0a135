/** A home that is renamed while a turn runs in it. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import type { Context } from '../../src/dispatch/context.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { SubstratError } from '../../src/errors.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { recover } from '../../src/operations/recover.js'
import { openForRead } from '../../src/session/load.js'
import { readMessageText } from '../../src/session/read.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Location } from '../../src/session/state.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const bounds = {
  slotsMax: 4,
  waitMs: 3_600_000,
  turnTimeoutMs: 3_600_000,
  toolTimeoutMs: 3_600_000,
  tokenLifetimeMs: 3_600_000,
}

/** Sends, and renames the home once a record of that kind is on disk; where it is now. */
async function sentWhileMoved(
  kind: SessionRecord['kind'],
  responses: object[],
  allow: string[] = [],
): Promise<{ told: Outcome[]; error: unknown; moved: FileStore; id: string; before: string }> {
  const store = tempStore()
  const workspace = tempDirectory()
  writeFileSync(join(workspace, 's.json'), JSON.stringify({ responses }))
  const id = await newAgent(store, { workspace, options: { scenario: 's.json' } })
  const ctx: Context = contextAt(store, { bounds }).ctx
  const to = `${store.address}-moved`
  let isMoved = false
  ctx.reporter.record = (record) => {
    if (record.kind !== kind || isMoved) return
    isMoved = true
    renameSync(store.address, to)
  }
  const told: Outcome[] = []
  const error = await deliverMessage(ctx, sendRequest(id, { allow }), (outcome) => told.push(outcome)).catch(
    (thrown) => thrown,
  )
  return { told, error, moved: FileStore.openForWrite(to), id, before: store.address }
}

function replyIn(store: FileStore, id: string): string {
  return readMessageText(store, id, openForRead(store, id)?.state.reply as Location)
}

describe('a home that is renamed in the middle of a turn', () => {
  test.each(['run.started', 'model.requested', 'model.responded', 'message.agent', 'run.completed'] as const)(
    'has the reply, and the command prints it: at %s',
    async (kind) => {
      const { told, error, moved, id, before } = await sentWhileMoved(kind, [{ say: 'the reply' }])
      if (error === undefined) {
        expect(told).toMatchObject([{ result: { reply: 'the reply', run: { status: 'completed' } } }])
        expect(told[0]?.failure).toBeUndefined()
      } else {
        expect(error).toMatchObject({
          code: 'STORAGE_FAILED',
          hint: expect.stringContaining('was moved or deleted'),
        })
        expect(told).toEqual([])
        await recover(contextAt(moved, { bounds }).ctx, { all: true, agents: [] }, 'roots', () => undefined)
      }
      expect(replyIn(moved, id)).toBe('the reply')
      expect(checkHome(moved, { isRecovered: false })).toEqual([])
      // Nothing was made where it was.
      expect(() => mkdirSync(before)).not.toThrow()
    },
  )

  test('shows what it asks for, where its turn waits', async () => {
    const shell = { name: 'shell', input: { command: 'true' } }
    const { told } = await sentWhileMoved('model.responded', [{ tools: [shell] }])
    expect(told).toMatchObject([
      { result: { wait: { asks: [{ tool: 'shell' }] } }, failure: { code: 'WAITING' } },
    ])
  })

  test('is named where the turn cannot go on without its path, and the turn continues there', async () => {
    const read = { name: 'read_file', input: { path: 's.json' } }
    const { told, error, moved, id } = await sentWhileMoved('tool.started', [
      { tools: [read] },
      { say: 'read' },
    ])
    if (error === undefined) expect(told).toMatchObject([{ result: { reply: 'read' } }])
    else {
      expect(error).toBeInstanceOf(SubstratError)
      expect(error).toMatchObject({
        code: 'STORAGE_FAILED',
        hint: expect.stringContaining('was moved or deleted'),
      })
      await recover(contextAt(moved, { bounds }).ctx, { all: true, agents: [] }, 'roots', () => undefined)
    }
    expect(replyIn(moved, id)).toBe('read')
  })
})
