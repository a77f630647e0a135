/** `cancel --force` that dies after it has killed the holder: the turn is cancelled all the same. */
import { expect, test } from 'vitest'
import { processState } from '../../src/host/identity.js'
import { cancelAgents } from '../../src/operations/cancel.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { killedAt } from '../support/killed.js'
import { waitFor } from '../support/wait.js'
import { atWork } from '../support/waiting.js'

test('killed right after the SIGKILL to a stopped holder, it leaves a request that ends the turn', async () => {
  const { house, id, first } = await atWork()
  const pid = (await house.ok('show', 'a', '--json')).json.holder.pid as number
  process.kill(pid, 'SIGSTOP')
  await waitFor(() => processState(pid) === 'T', 'the stop')
  const { ctx } = contextAt(FileStore.openForWrite(house.home), { bounds: { waitMs: 3_600_000 } })
  const words = { all: false, agents: [id], isRecursive: false, isForced: true }
  const isKilled = (): boolean => processState(pid) !== 'T'
  expect(await killedAt(1, () => cancelAgents(ctx, words), isKilled)).toBe(true)
  await first.result
  expect(house.count(id, 'run.cancelled')).toBe(0)
  // The model would never reply: only the request ends the turn.
  expect((await house.run(['resume', 'a'])).exit).toBe(14)
  expect(house.count(id, 'run.cancelled')).toBe(1)
  expect(house.findings(true)).toEqual([])
})
