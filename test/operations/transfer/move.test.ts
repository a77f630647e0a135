/** A move that is killed at any disk step, and repeated: a whole tree is in one home, with its mail. */
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditHome } from '../../../src/audit/audit.js'
import { SubstratError } from '../../../src/errors.js'
import { writeUserFile } from '../../../src/files/user-files.js'
import { deliverMessage } from '../../../src/operations/message/deliver-message.js'
import { reclaim } from '../../../src/operations/reclaim.js'
import { recover } from '../../../src/operations/recover.js'
import { importAgents } from '../../../src/operations/transfer/import.js'
import type { ImportRequest } from '../../../src/operations/transfer/imported-log.js'
import { moveAgents } from '../../../src/operations/transfer/move-agents.js'
import { openForRead } from '../../../src/session/load.js'
import type { State } from '../../../src/session/state.js'
import type { FileStore } from '../../../src/storage/file-store.js'
import { contextAt } from '../../support/contexts.js'
import { copyOf, killedAt } from '../../support/killed.js'
import { sendRequest } from '../../support/send-request.js'
import { newAgent } from '../../support/sessions.js'
import { tempDirectory, tempStore } from '../../support/temp.js'

/** Kills at every n-th step. KILL_EVERY=1 kills at all steps. */
const EVERY = Number(process.env.KILL_EVERY ?? 13)
/** A kill between a blob and its record leaves this, which is harmless. */
const UNNAMED = 'a blob is named by a record'

interface Family {
  home: FileStore
  lead: string
  ids: string[]
}

/** An agent with a child and a grandchild, each with pending mail. The mail of the first is large. */
async function family(): Promise<Family> {
  const home = tempStore()
  const lead = await newAgent(home, { name: 'lead', workspace: tmpdir() })
  const child = await newAgent(home, { name: 'child', parent: lead, workspace: tmpdir() })
  const leaf = await newAgent(home, { name: 'leaf', parent: child, workspace: tmpdir() })
  const ids = [lead, child, leaf]
  await deliverMessage(
    contextAt(home).ctx,
    sendRequest(lead, { content: 'hello', key: 'k' }),
    () => undefined,
  )
  for (const id of ids)
    await deliverMessage(
      contextAt(home, { drains: false }).ctx,
      sendRequest(id, {
        content: id === lead ? 'x'.repeat(100_000) : 'pending',

        isQueued: true,
      }),
      () => undefined,
    )
  return { home, lead, ids }
}

function stateOf(store: FileStore, id: string): State | undefined {
  return openForRead(store, id)?.state
}

function isOpen(store: FileStore, id: string): boolean {
  return (stateOf(store, id)?.state ?? 'terminated') !== 'terminated'
}

function pendingIn(store: FileStore, id: string): string[] {
  const delivered = stateOf(store, id)?.delivered ?? []
  return store.mail.ids(id).filter((messageId) => !delivered.includes(messageId))
}

function moved(store: FileStore, agentId: string, file: string) {
  const deliver = async (bytes: Buffer): Promise<void> => writeUserFile(file, bytes)
  return moveAgents(contextAt(store).ctx, { agentId, isTree: true, to: file, deliver })
}

function imported(store: FileStore, file: string, options: Partial<ImportRequest> = {}) {
  const bundle = readFileSync(file)
  return importAgents(contextAt(store).ctx, { bundle, name: null, workspace: null, ...options })
}

async function recovered(store: FileStore): Promise<void> {
  await recover(contextAt(store).ctx, { all: true, agents: [] }, 'none', () => undefined)
}

/** Every agent of the family is open with its mail, or every one is closed without. */
function isHere(store: FileStore, ids: string[]): boolean {
  const open = ids.map((id) => isOpen(store, id))
  expect(new Set(open).size, `all or none is open: ${open}`).toBe(1)
  for (const id of ids) expect(pendingIn(store, id)).toHaveLength(open[0] ? 1 : 0)
  return open[0] as boolean
}

async function expectSound(store: FileStore): Promise<void> {
  store.visits.sweep()
  const { findings } = await auditHome(store, true, 0)
  expect(findings.filter(({ invariant }) => invariant !== UNNAMED)).toEqual([])
}

/** Kills the work at each of its disk steps, and checks the copy of the home that another process finds. */
async function sweep(
  home: FileStore,
  work: (store: FileStore, file: string) => Promise<unknown>,
  check: (store: FileStore, file: string, died: boolean) => Promise<void>,
): Promise<number> {
  for (let step = 1; ; step += EVERY) {
    const store = copyOf(home)
    const file = join(tempDirectory(), 'bundle')
    const isCounted = ({ path }: { path: string }): boolean =>
      path.startsWith(store.address) || path.startsWith(file)
    const died = await killedAt(step, () => work(store, file), isCounted)
    await check(copyOf(store), file, died)
    if (!died) return step
  }
}

describe('after a kill at any disk step,', () => {
  test('the tree of an export is in one home, and the same command moves it', async () => {
    const { home, lead, ids } = await family()
    const ends = new Set<boolean>()
    const steps = await sweep(
      home,
      (store, file) => moved(store, lead, file),
      async (store, file) => {
        await recovered(store)
        const isStill = isHere(store, ids)
        ends.add(isStill)
        await expectSound(store)
        const repeated = await moved(store, lead, file)
        expect(repeated.isRepeated).toBe(!isStill)
        expect(isHere(store, ids)).toBe(false)
        await expectSound(store)
        const target = tempStore()
        await imported(target, file)
        expect(isHere(target, ids)).toBe(true)
        await expectSound(target)
      },
    )
    expect(ends).toEqual(new Set([true, false]))
    expect(steps).toBeGreaterThan(50)
  })

  test('the same import brings every agent with its mail', async () => {
    const { home, lead, ids } = await family()
    const file = join(tempDirectory(), 'bundle')
    await moved(copyOf(home), lead, file)
    await sweep(
      tempStore(),
      (store) => imported(store, file),
      async (store) => {
        await recovered(store)
        await imported(store, file, { usesExisting: true })
        expect(isHere(store, ids)).toBe(true)
        await expectSound(store)
        await expect(imported(store, file)).rejects.toThrow('this move has already ended in this home')
      },
    )
  })

  test('the same import brings back agents that had left this home', async () => {
    const { home, lead, ids } = await family()
    const [there, file, back] = [tempStore(), join(tempDirectory(), 'a'), join(tempDirectory(), 'b')]
    const source = copyOf(home)
    await moved(source, lead, file)
    await imported(there, file)
    await moved(there, lead, back)
    await sweep(
      source,
      (store) => imported(store, back),
      async (store) => {
        await recovered(store)
        await imported(store, back, { usesExisting: true })
        expect(isHere(store, ids)).toBe(true)
        await expectSound(store)
        await expect(imported(store, file)).rejects.toThrow(SubstratError)
      },
    )
  })

  test('the same reclaim takes every agent back with its mail', async () => {
    const { home, lead, ids } = await family()
    const file = join(tempDirectory(), 'bundle')
    const source = copyOf(home)
    await moved(source, lead, file)
    await sweep(
      source,
      (store) => reclaim(contextAt(store).ctx, lead),
      async (store) => {
        await recovered(store)
        await reclaim(contextAt(store).ctx, lead)
        expect(isHere(store, ids)).toBe(true)
        await expectSound(store)
        await expect(imported(store, file)).rejects.toThrow('already ended in this home')
      },
    )
  })
})
