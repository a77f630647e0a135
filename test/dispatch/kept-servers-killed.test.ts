import { describe, expect, test } from 'vitest'
import { limitKeptServers, stopAllKeptServers } from '../../src/dispatch/kept-servers.js'
import { keptServerProcesses } from '../../src/provider/kept-server.js'
import { openForRead } from '../../src/session/load.js'
import { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { agentWithServer } from '../support/kept-servers.js'
import { killedAt } from '../support/killed.js'
import { reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const keptServerOf = (store: FileStore, id: string): unknown => openForRead(store, id)?.state.warm

describe('the least recently used', () => {
  test('is stopped after an earlier command died at any step', async () => {
    let steps = 0
    for (let died = true; died; ) {
      steps += 1
      const store = tempStore()
      const [first, second] = [await agentWithServer(store), await agentWithServer(store)]
      const work = (): Promise<void> => limitKeptServers(contextAt(store).ctx, 1)
      died = await killedAt(steps, work, ({ name }) => name !== 'read')
      const next = FileStore.openForWrite(store.address)
      await limitKeptServers(contextAt(next).ctx, 1)
      expect(keptServerProcesses(store.address).map(({ agentId }) => agentId)).toEqual([second])
      // A crash between the kill and its record leaves a record of a dead server until the next visit.
      const session = await reopen(next, first)
      await session.close(() => false)
      expect(next.local.keptServers.uses().map(({ agentId }) => agentId)).toEqual([second])
      expect(keptServerOf(next, second)).toBeDefined()
      await stopAllKeptServers(contextAt(next).ctx)
      expect(keptServerProcesses(store.address)).toEqual([])
      expect([keptServerOf(next, first), keptServerOf(next, second)]).toEqual([undefined, undefined])
    }
    expect(steps).toBeGreaterThan(20)
  })
})
