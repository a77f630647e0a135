/** The end of agents, step by step: a kill at any step leaves no orphan. */
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { terminate } from '../../src/operations/terminate.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { copyOf, killedAt } from '../support/killed.js'
import { posted } from '../support/mail.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

/** Most steps are syncs, and each try makes them all: every step takes a minute on a slow disk. */
const STRIDE = 3

const stateOf = (store: FileStore, id: string): string | undefined => openForRead(store, id)?.state.state

function ended(store: FileStore, id: string, isRecursive: boolean): Promise<string[]> {
  const paths: string[] = []
  const { ctx } = contextAt(store, { drains: false, bounds: { waitMs: 3_600_000 } })
  return terminate(ctx, id, isRecursive, ({ path }) => paths.push(path)).then(() => paths)
}

test('killed at step after step, --recursive leaves no orphan, acknowledges what is so, and is done by the next call', async () => {
  const first = tempStore()
  const lead = await newAgent(first, { name: 'lead' })
  const a = await newAgent(first, { name: 'a', parent: lead })
  posted(first, a, 'never taken')
  for (let step = 1; ; step += STRIDE) {
    const dying = copyOf(first)
    const told: string[] = []
    const { ctx } = contextAt(dying, { drains: false })
    const died = await killedAt(step, () => terminate(ctx, lead, true, ({ id }) => told.push(id)))
    const store = copyOf(dying)
    for (const id of told) expect(stateOf(store, id), `killed at step ${step}`).toBe('terminated')
    expect(checkHome(store, { isRecovered: false }), `killed at step ${step}`).toEqual([])
    expect(await ended(store, lead, true)).toContain('lead')
    for (const id of [lead, a]) expect(stateOf(store, id)).toBe('terminated')
    // Recovery sends the answer that the killed command did not send.
    const { ctx: again } = contextAt(store, { drains: false })
    for (const id of store.visits.markedIds()) await terminate(again, id, false, () => undefined)
    expect(store.mail.ids('operator'), `killed at step ${step}`).toHaveLength(1)
    expect(checkHome(store, { isRecovered: true }), `killed at step ${step}`).toEqual([])
    if (!died) return
  }
})
