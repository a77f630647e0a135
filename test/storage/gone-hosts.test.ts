/** Declarations that a host is gone, with a failure at each of their steps. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { setFaultHook } from '../../src/host/disk/operation.js'
import { ownIdentity } from '../../src/host/identity.js'
import { failing, withFaults } from '../support/faults.js'
import { tempStore } from '../support/temp.js'

const HOST = { kernel_boot_id: 'boot-1', host_id: 'h', host_name: 'web-1' }

describe('a declaration that a host is gone', () => {
  test('covers one boot of that host', () => {
    const { hosts: goneHosts } = tempStore()
    goneHosts.declare(HOST)
    expect([goneHosts.has('boot-1'), goneHosts.has('boot-2')]).toEqual([true, false])
  })

  test('that fails at any step is made by a repetition', () => {
    const points: string[] = []
    withFaults(({ point }) => {
      points.push(point)
      return undefined
    })
    tempStore().hosts.declare(HOST)
    const steps = [...new Set(points)].filter((point) => point.startsWith('gone.'))
    expect(steps).toEqual(expect.arrayContaining(['gone.mkdir', 'gone.sync_home', 'gone.write.rename']))
    for (const step of steps) {
      setFaultHook(undefined)
      const store = tempStore()
      setFaultHook(failing('EIO', ({ point }) => point === step))
      expect(() => store.hosts.declare(HOST), step).toThrow()
      setFaultHook(undefined)
      store.hosts.declare(HOST)
      expect(store.hosts.has('boot-1')).toBe(true)
      expect(readdirSync(join(store.address, 'gone')).filter((name) => !name.endsWith('.tmp'))).toEqual([
        'boot-1',
      ])
    }
  })

  test('is withdrawn only by its own host', () => {
    const { hosts: goneHosts } = tempStore()
    const { kernel_boot_id } = ownIdentity()
    goneHosts.declare(HOST)
    goneHosts.declare({ ...HOST, kernel_boot_id })
    goneHosts.withdrawOwn()
    expect([goneHosts.has('boot-1'), goneHosts.has(kernel_boot_id)]).toEqual([true, false])
    goneHosts.withdrawOwn()
    expect(goneHosts.has('boot-1')).toBe(true)
  })
})
