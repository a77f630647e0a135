/** Processes without the agent's lock check whether a kept server still prints. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import * as io from '../../src/host/disk/io.js'
import { chooseLockKind, tryKernelLock } from '../../src/storage/locks/kernel-lock.js'
import { withFaults } from '../support/faults.js'
import { tempStore } from '../support/temp.js'

test('checking whether a kept server prints does not block its start or its removal', () => {
  const store = tempStore()
  const looks: (io.OpenFile | undefined)[] = []
  const agentId = '00000000-0000-4000-8000-000000000001'
  withFaults(({ point, name, path }) => {
    if (point !== 'server.output' || name !== 'open' || looks.length === 2) return undefined
    mkdirSync(dirname(path), { recursive: true })
    // Between the creation of the file and its lock.
    io.close(io.open('test', path, 'append'))
    looks.push(tryKernelLock(chooseLockKind(), path, 'shared'))
    return undefined
  })
  const output = store.local.keptServers.openOutput(agentId)
  expect(looks.map((file) => file !== undefined)).toEqual([true, true])
  expect(store.local.keptServers.isPrinting(agentId)).toBe(true)
  store.local.keptServers.closeOutput(output)
  expect(store.local.keptServers.isPrinting(agentId)).toBe(false)
  store.local.keptServers.forget(agentId)
  expect(store.local.keptServers.isPrinting(agentId)).toBe(false)
})
