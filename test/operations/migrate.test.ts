/** `migrate` between homes in files, with a fault at each step on the disk. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { setFaultHook } from '../../src/host/disk/operation.js'
import { cancelMigration, migrate } from '../../src/operations/migrate.js'
import { FileTransfer } from '../../src/storage/file-transfer.js'
import { openHome } from '../../src/storage/open.js'
import { House } from '../support/cli.js'

const OPTIONS = { command: 'substrat migrate', waitMs: 1000, onCopied: () => undefined }
const READS = ['read']

async function filledHouse(): Promise<House> {
  const house = new House()
  await house.spawn('lead')
  await house.run(['spawn', '--name', 'aide', '--parent', 'lead', '--provider', 'scripted'])
  await house.run(['send', 'lead', 'x'.repeat(70_000), '--key', 'k1'])
  await house.run(['send', 'lead/aide', 'later', '--queue', '--no-drain'])
  return house
}

function isOpen(root: string): boolean {
  try {
    const store = openHome(root)
    return store !== undefined && store.agentIds().length > 0
  } catch {
    return false
  }
}

/** Executes the migration up to that step. Returns the number of steps. */
async function interrupted(from: string, to: string, at: number): Promise<number> {
  let step = 0
  setFaultHook(({ name, mode }) => {
    if (READS.includes(name) || mode === 'read') return undefined
    step += 1
    if (step >= at) throw Object.assign(new Error('killed here'), { code: 'EIO' })
    return undefined
  })
  try {
    await migrate(new FileTransfer(from), new FileTransfer(to), OPTIONS)
  } catch (error) {
    if (at === Number.POSITIVE_INFINITY) throw error
  } finally {
    setFaultHook(undefined)
  }
  return step
}

describe('a migration of a home in files', () => {
  test('that ends at any step leaves at most one open home, and the same command ends it', async () => {
    const house = await filledHouse()
    const place = (name: string): string => join(house.root, name)
    cpSync(house.home, place('whole'), { recursive: true })
    const steps = await interrupted(place('whole'), place('target'), Number.POSITIVE_INFINITY)
    const every = Number(process.env.KILL_EVERY ?? 5)
    let undone = 0
    for (let at = 1; at <= steps; at += every) {
      const [from, to] = [place(`from-${at}`), place(`to-${at}`)]
      cpSync(house.home, from, { recursive: true })
      await interrupted(from, to, at)
      expect([from, to].filter(isOpen).length, `open homes after step ${at}`).toBeLessThanOrEqual(1)
      const { migration } = new FileTransfer(from).facts() ?? {}
      if (at % 2 === 0 && migration?.state === 'leaving') {
        cancelMigration(new FileTransfer(from), new FileTransfer(to))
        expect(isOpen(from), `reopened after step ${at}`).toBe(true)
        undone += 1
      }
      await migrate(new FileTransfer(from), new FileTransfer(to), OPTIONS)
      expect([isOpen(from), isOpen(to)], `step ${at}`).toEqual([false, true])
    }
    expect(undone).toBeGreaterThan(0)
  })

  test('is refused into a directory with other files', async () => {
    const house = await filledHouse()
    await expect(
      migrate(new FileTransfer(house.home), new FileTransfer(house.root), OPTIONS),
    ).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(isOpen(house.home)).toBe(true)
  })
})
