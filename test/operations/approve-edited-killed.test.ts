/** `approve` with changed arguments, killed at each of its disk steps. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { decide } from '../../src/operations/decide.js'
import { FileStore } from '../../src/storage/file-store.js'
import { House } from '../support/cli.js'
import { contextAt } from '../support/contexts.js'
import { killedAt } from '../support/killed.js'
import { parked } from '../support/parked.js'

const EDITED = 'echo edited >> edited; echo done'

test('the edit and the approval are there together or not at all, and only the edited call runs, once', async () => {
  const original = new House()
  const { id } = await parked(original)
  const [ask] = original
    .records(id)
    .flatMap((record) => (record.kind === 'run.waiting' ? (record.asks ?? []) : []))
  const outcomes = new Set<string>()
  const effects = ['ran', 'edited'].map((name) => path.join(original.workspace, name))
  for (let n = 1; ; n++) {
    for (const file of effects) rmSync(file, { force: true })
    const died = original.copy()
    const { ctx } = contextAt(FileStore.openForWrite(died.home))
    const edits = [{ call_id: ask?.call_id ?? '', input: { command: EDITED } }]
    const request = { agentId: id, token: null, tokenId: null, decision: 'approve' as const, text: '', edits }
    const isKilled = await killedAt(n, () => decide(ctx, request, () => undefined))
    // A copy has none of the locks of this process.
    const house = died.copy()
    await house.run(['recover', '--all'])
    const records = house.records(id)
    const edit = records.find(({ kind }) => kind === 'tool.edited')
    const consumed = records.find(({ kind }) => kind === 'token.consumed')
    expect(edit?.batch, `killed at step ${n}`).toEqual(consumed?.batch)
    expect(original.read('ran'), `killed at step ${n}`).toBeUndefined()
    const runs = original.read('edited')
    expect([undefined, 'edited\n'], `killed at step ${n}`).toContain(runs)
    if (consumed === undefined) expect(runs).toBeUndefined()
    expect(house.findings(true), `killed at step ${n}`).toEqual([])
    outcomes.add(
      `${consumed === undefined ? 'waits' : 'approved'}, ${runs === undefined ? 'not run' : 'run'}`,
    )
    if (!isKilled) break
  }
  expect([...outcomes].sort()).toEqual(['approved, not run', 'approved, run', 'waits, not run'])
})
