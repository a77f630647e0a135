/** The report of doctor when the disk fails, not the data on it. */
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { auditHome } from '../../src/audit/audit.js'
import { rebuildHome } from '../../src/audit/rebuild.js'
import { type DoctorOptions, examine, failureOfHome } from '../../src/operations/doctor.js'
import { ProviderRegistry } from '../../src/provider/registry.js'
import { failing, withFaults } from '../support/faults.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const OPTIONS: DoctorOptions = {
  all: true,
  plugins: { listPath: '/nowhere', loaded: new Set(), registry: new ProviderRegistry(() => []) },
  settingsTrouble: undefined,
}

test('an unreadable home.json is not reported as damaged, and no remedy moves it away', async () => {
  const store = tempStore()
  await newAgent(store, { name: 'a' })
  withFaults(failing('EMFILE', ({ point }) => point === 'home.read'))
  const examined = await examine(store.address, OPTIONS)
  expect(examined.findings.map(({ invariant }) => invariant)).toContain('all files of a home can be read')
  expect(examined.findings.filter(({ verdict }) => verdict === 'damaged')).toEqual([])
  expect(failureOfHome(examined)?.code).toBe('STORAGE_FAILED')
})

test('a read error at one of two checks hides no damage', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  rmSync(store.local.logPath(id))
  let reads = 0
  withFaults(failing('EIO', ({ name }) => name === 'read' && ++reads < 0))
  await auditHome(store, true, 0)
  const all = reads
  let looked = 0
  for (const isLasting of [false, true]) {
    for (let n = 1; n <= all; n++) {
      reads = 0
      const isHit = (): boolean => ++reads === n || (isLasting && reads > n)
      withFaults(failing('EIO', ({ name }) => name === 'read' && isHit()))
      const found = await auditHome(store, true, 0).catch(() => undefined)
      // If the agents cannot be listed, auditHome fails and its caller reports that.
      if (found !== undefined) expect(found.findings.length, `${n} of ${all}`).toBeGreaterThan(0)
      looked += found === undefined ? 0 : 1
    }
  }
  expect(looked).toBeGreaterThan(all / 2)
})

test('a repair that a failing disk prevents reports the error', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  rmSync(join(dirname(store.local.logPath(id)), 'events.jsonl'))
  const { findings } = await auditHome(store, true, 0)
  withFaults(failing('EIO', ({ point }) => point === 'aside.log.fsync'))
  const repairs = await rebuildHome(store, findings, { command: 'test', note: () => undefined })
  expect(repairs).toMatchObject([{ agent_id: id, isDone: false, failure: { code: 'SYNC_FAILED' } }])
})
