/** `migrate` between homes in files, with a fault at each step on the disk. */
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditHome } from '../../../src/audit/audit.js'
import { OPERATOR } from '../../../src/format.js'
import { setFaultHook } from '../../../src/host/disk/operation.js'
import { cancelMigration, migrate } from '../../../src/operations/transfer/migrate.js'
import { keptServerProcesses } from '../../../src/provider/kept-server.js'
import { openForRead } from '../../../src/session/load.js'
import { FileStore } from '../../../src/storage/file-store.js'
import { FileTransfer } from '../../../src/storage/file-transfer.js'
import { openHome } from '../../../src/storage/open.js'
import type { Store } from '../../../src/storage/store.js'
import { House } from '../../support/cli.js'
import { agentWithServer } from '../../support/kept-servers.js'
import { tempDirectory } from '../../support/temp.js'

const OPTIONS = { command: 'substrat migrate', waitMs: 1000, onCopied: () => undefined }
const READS = ['read']
const UUID = '018f0000-0000-7000-8000-000000000001'

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

function whole(root: string): Store {
  return openHome(root) as Store
}

function moved(from: string, to: string): ReturnType<typeof migrate> {
  return migrate(new FileTransfer(from), new FileTransfer(to), OPTIONS)
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
      await moved(from, to)
      expect([isOpen(from), isOpen(to)], `step ${at}`).toEqual([false, true])
      expect((await auditHome(whole(to), true)).findings, `step ${at}`).toEqual([])
    }
    expect(undone).toBeGreaterThan(0)
  })

  test('waits for the holder of an agent, or is refused and changes nothing', async () => {
    const house = await filledHouse()
    const [id = ''] = whole(house.home).agentIds()
    const lease = await whole(house.home).take(id, { command: 'substrat send', waitMs: 0 })
    const [one, other] = [new FileTransfer(house.home), new FileTransfer(join(house.root, 'target'))]
    await expect(migrate(one, other, { ...OPTIONS, waitMs: 0 })).rejects.toMatchObject({
      code: 'LOCKED',
      message: expect.stringContaining('busy: substrat send, pid'),
    })
    expect([isOpen(house.home), other.facts()]).toEqual([true, undefined])
    const moving = migrate(one, other, { ...OPTIONS, waitMs: 600_000 })
    await lease?.release()
    expect(await moving).toMatchObject({ agents: 2, migrated: true })
  })

  test('that is repeated after the target moved on leaves the target closed', async () => {
    const house = await filledHouse()
    const [one, two, three] = [house.home, join(house.root, 'two'), join(house.root, 'three')]
    await moved(one, two)
    await moved(two, three)
    await expect(moved(one, two)).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect([one, two, three].map(isOpen)).toEqual([false, false, true])
    expect(await moved(two, three)).toMatchObject({ migrated: false })
  })

  test('is undone only with its own two homes, in their order', async () => {
    const house = await filledHouse()
    const [from, to] = [house.home, join(house.root, 'target')]
    let halted = false
    const stop = () => {
      halted = true
      throw new Error('killed here')
    }
    await expect(
      migrate(new FileTransfer(from), new FileTransfer(to), { ...OPTIONS, onCopied: stop }),
    ).rejects.toThrow('killed here')
    expect(halted).toBe(true)
    const cancel = (one: string, other: string) => () =>
      cancelMigration(new FileTransfer(one), new FileTransfer(other))
    expect(cancel(to, from)).toThrow('is the target of a migration')
    expect(cancel(from, join(house.root, 'elsewhere'))).toThrow(`is in a migration to ${to}`)
    expect([from, to].map(isOpen)).toEqual([false, false])
    cancel(from, to)()
    expect([from, to].map(isOpen)).toEqual([true, false])
  })

  test('is done once by two commands at the same time', async () => {
    const house = await filledHouse()
    const [from, to] = [house.home, join(house.root, 'target')]
    let second: Promise<unknown> | undefined
    const onCopied = (): void => {
      second ??= moved(from, to).catch((error: unknown) => error)
    }
    await migrate(new FileTransfer(from), new FileTransfer(to), { ...OPTIONS, onCopied })
    expect(await second).toMatchObject({ code: 'LOCKED', message: `another command migrates to ${to}` })
    expect([from, to].map(isOpen)).toEqual([false, true])
    expect((await auditHome(whole(to), true)).findings).toEqual([])
  })

  test('refuses the changes of a command that had opened the source before', async () => {
    const house = await filledHouse()
    const target = join(house.root, 'target')
    const late = whole(house.home)
    const [id = ''] = late.agentIds()
    await moved(house.home, target)
    const left = (): string =>
      execFileSync('find', [join(house.home, 'left'), '-type', 'f'], { encoding: 'utf8' })
    const before = left()
    const changes: [string, () => unknown][] = [
      ['take', () => late.take(id, { command: 'x', waitMs: 0 })],
      ['put', () => late.mail.put(id, UUID, { id: UUID })],
      ['put to the operator', () => late.mail.put(OPERATOR, UUID, { id: UUID })],
      ['request', () => late.requests.put(id, UUID, 'suspend')],
      ['mark', () => late.visits.mark(id)],
      ['settings', () => late.writeConfig('{}')],
    ]
    for (const [name, change] of changes) await expect(async () => change(), name).rejects.toThrow()
    expect(left()).toBe(before)
  })

  test('ends the kept servers, which the target would not recognize', async () => {
    const root = join(tempDirectory(), 'home')
    const store = FileStore.openForWrite(root)
    const id = await agentWithServer(store)
    const { group } = openForRead(store, id)?.state.warm ?? {}
    expect(keptServerProcesses(root)).toHaveLength(1)
    const target = join(tempDirectory(), 'target')
    await moved(root, target)
    expect(keptServerProcesses(root)).toEqual([])
    expect(openForRead(whole(target), id)?.state.warm?.group).toEqual(group)
  })

  test('is refused into a directory with other files', async () => {
    const house = await filledHouse()
    await expect(
      migrate(new FileTransfer(house.home), new FileTransfer(house.root), OPTIONS),
    ).rejects.toMatchObject({ code: 'HOME_UNUSABLE' })
    expect(isOpen(house.home)).toBe(true)
  })
})
