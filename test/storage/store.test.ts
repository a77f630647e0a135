import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SubstratError } from '../../src/errors.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { HomePaths } from '../../src/storage/paths.js'
import type { Right } from '../../src/storage/store.js'
import { failing, withFaults } from '../support/faults.js'
import { clearFaults, operationsOf } from '../support/operations.js'
import { tempStore } from '../support/temp.js'

const MAIL = { a: 'message' }

function pathsOf(store: FileStore): HomePaths {
  return new HomePaths(store.address)
}

/** Creates an agent and releases its lock. */
async function newAgent(store: FileStore, agentId: string = randomUUID()): Promise<string> {
  const log = frame({ seq: 1, batch: [1, 1], kind: 'session.created' })
  const birth = { agentId, log, snapshot: { snapshot: 1 }, blobs: [], command: 'test' }
  await (await store.create(birth)).release()
  return agentId
}

describe('the marker of an agent', () => {
  test('exists from its creation until it needs no visit', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    expect(store.visits.markedIds()).toEqual([id])
    store.visits.unmark(id, () => true)
    expect(store.visits.markedIds()).toEqual([id])
    store.visits.unmark(id, () => false)
    expect(store.visits.markedIds()).toEqual([])
    store.visits.mark(id)
    store.visits.mark(id)
    expect(store.visits.markedIds()).toEqual([id])
  })

  test('that cannot be made fails with STORAGE_FAILED', () => {
    const store = tempStore()
    withFaults(failing('ENOSPC', ({ point }) => point === 'marker.create'))
    expect(() => store.visits.mark(randomUUID())).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
  })

  test('counts while it is aside, and the next process removes it', () => {
    const store = tempStore()
    const id = randomUUID()
    writeFileSync(pathsOf(store).closingMarker(id), '')
    expect([store.visits.markedIds(), store.visits.isMarked(id)]).toEqual([[id], true])
    store.visits.unmark(id, () => true)
    expect(store.visits.markedIds()).toEqual([id])
    store.visits.unmark(id, () => false)
    expect(readdirSync(pathsOf(store).unclean)).toEqual([])
    store.visits.unmark(id, () => false)
  })

  test('stays while its spawn lives, and is removed once the spawn is dead', async () => {
    const store = tempStore()
    const id = randomUUID()
    const needsVisit = (): boolean => store.visits.isSpawning(id) || store.hasAgent(id)
    let looks = 0
    // A recovery that finds a marker without an agent, at every step of a spawn.
    withFaults(({ point }) => {
      if (point.startsWith('marker.') || point.startsWith('agents.')) return undefined
      const wasMarked = store.visits.markedIds().includes(id)
      store.visits.unmark(id, needsVisit)
      expect(store.visits.markedIds().includes(id)).toBe(wasMarked)
      looks += wasMarked ? 1 : 0
      return undefined
    })
    await newAgent(store, id)
    clearFaults()
    expect(looks).toBeGreaterThan(5)
    expect(store.visits.markedIds()).toEqual([id])
    const dead = randomUUID()
    store.visits.mark(dead)
    store.visits.unmark(dead, () => store.visits.isSpawning(dead) || store.hasAgent(dead))
    expect(store.visits.markedIds()).toEqual([id])
  })
})

describe('a marker set by a sender while the holder removes it', () => {
  /** Disk steps of the holder, in order. Each step of the sender comes before one of these or after all of them. */
  const HOLDER_STEPS = 4
  const SENDER_STEPS = 3

  /** Every interleaving of the sender's steps with the holder's. */
  function interleavings(steps: number, from = 0): number[][] {
    if (steps === 0) return [[]]
    const all: number[][] = []
    for (let place = from; place <= HOLDER_STEPS; place++)
      for (const rest of interleavings(steps - 1, place)) all.push([place, ...rest])
    return all
  }

  async function interleave(places: number[], holderDiesAt: number) {
    const store = tempStore()
    const id = await newAgent(store)
    const message = randomUUID()
    const sender = [
      () => store.visits.mark(id),
      () => store.mail.put(id, message, MAIL),
      () => store.visits.mark(id),
    ]
    let sent = 0
    let step = 0
    let isSending = false
    const sendUpTo = (place: number): void => {
      isSending = true
      while (sent < SENDER_STEPS && (places[sent] as number) <= place) (sender[sent++] as () => void)()
      isSending = false
    }
    const ofHolder = new Set(['mail.list', 'marker.aside', 'marker.restore', 'marker.unlink'])
    withFaults(({ point }) => {
      if (isSending || !ofHolder.has(point)) return undefined
      sendUpTo(step)
      if (step === holderDiesAt) throw Object.assign(new Error('the holder was killed here'), { code: 'EIO' })
      step += 1
      return undefined
    })
    let died = false
    try {
      store.visits.unmark(id, () => store.mail.ids(id).length > 0)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      died = true
    }
    clearFaults()
    sendUpTo(HOLDER_STEPS)
    expect(store.mail.ids(id)).toEqual([message])
    return { isMarked: store.visits.markedIds().includes(id), died }
  }

  const ways = interleavings(SENDER_STEPS)

  test(`is never lost in any of the ${ways.length} orders of their steps`, async () => {
    expect(ways).toHaveLength(35)
    for (const places of ways) {
      const { isMarked, died } = await interleave(places, Number.POSITIVE_INFINITY)
      expect({ places, isMarked, died }).toEqual({ places, isMarked: true, died: false })
    }
  })

  test.each(Array.from({ length: HOLDER_STEPS }, (_, step) => step))(
    'is never lost in any order if the holder dies at its step %i',
    async (holderDiesAt) => {
      let deaths = 0
      for (const places of ways) {
        const { isMarked, died } = await interleave(places, holderDiesAt)
        expect({ places, isMarked }).toEqual({ places, isMarked: true })
        deaths += died ? 1 : 0
      }
      expect(deaths).toBeGreaterThan(0)
    },
  )
})

describe('the scan of all agents after a boot', () => {
  test('is remembered for that device and that boot', () => {
    const store = tempStore()
    const boots = pathsOf(store).boots
    expect(store.visits.isComplete).toBe(false)
    writeFileSync(join(boots, 'an-earlier-start'), '1')
    store.visits.markComplete()
    expect(store.visits.isComplete).toBe(true)
    const [only, ...others] = readdirSync(boots)
    expect(others).toEqual([])
    writeFileSync(join(boots, only as string), 'another device')
    expect(store.visits.isComplete).toBe(false)
  })

  test('can be recorded by two recoveries at once', () => {
    const store = tempStore()
    const temporary = `${'b'.repeat(8)}.4121-10x94dbat.tmp`
    writeFileSync(join(pathsOf(store).boots, temporary), '1')
    store.visits.markComplete()
    expect(readdirSync(pathsOf(store).boots)).toContain(temporary)
  })
})

describe('stop requests', () => {
  test('are listed and removed by run and verb, and other files are ignored', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const run = randomUUID()
    store.requests.put(id, run, 'suspend')
    store.requests.put(id, run, 'suspend')
    store.requests.put(id, run, 'terminate')
    writeFileSync(join(pathsOf(store).agent(id).requests, `${'-'.repeat(36)}.suspend`), '')
    expect(store.requests.requestsTo(id)).toHaveLength(2)
    store.requests.remove(id, run, 'terminate')
    store.requests.remove(id, run, 'terminate')
    expect(store.requests.requestsTo(id)).toEqual([{ runId: run, verb: 'suspend' }])
  })

  test('are reported to a watcher', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const watcher: { close(): void }[] = []
    const noticed = new Promise<void>((resolve) => {
      watcher.push(store.requests.watch(id, (requests) => requests.length > 0 && resolve()))
    })
    onTestFinished(() => watcher[0]?.close())
    store.requests.put(id, randomUUID(), 'suspend')
    await noticed
  })

  test('can be watched for without a directory', () => {
    tempStore()
      .requests.watch(randomUUID(), () => undefined)
      .close()
  })
})

describe('slots', () => {
  test('are limited in number, and a released one is free again', async () => {
    const store = tempStore()
    const take = () => store.takeSlot('default', 3, 'test')
    const leases = [await take(), await take(), await take()]
    expect(leases).not.toContain(undefined)
    expect(await take()).toBeUndefined()
    await leases[1]?.release()
    const again = await take()
    expect(again).toBeDefined()
    for (const lease of [leases[0], leases[2], again]) await lease?.release()
  })
})

describe('leftovers', () => {
  const OLD = new Date(Date.now() - 11 * 60_000)

  function leave(path: string, modified?: Date): string {
    writeFileSync(path, '')
    if (modified !== undefined) utimesSync(path, modified, modified)
    return path
  }

  test('in the home are swept once they are too old to have a writer', () => {
    const store = tempStore()
    const paths = pathsOf(store)
    const directories = [paths.root, paths.roots, paths.boots, paths.operatorInbox]
    const old = directories.map((directory) => leave(join(directory, 'a.json.12-1abc.tmp'), OLD))
    const young = directories.map((directory) => leave(join(directory, 'b.json.12-1abc.tmp')))
    expect(store.visits.sweep()).toBe(4)
    expect(old.filter(existsSync)).toEqual([])
    expect(young.filter(existsSync)).toEqual(young)
  })

  test('in an agent are swept under its lock, except young ones in its inbox', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const agent = pathsOf(store).agent(id)
    mkdirSync(agent.cut)
    // Made before the sweep reads the clock.
    const before = new Date(Date.now() - 1000)
    for (const directory of [agent.root, agent.blobs, agent.cut])
      leave(join(directory, 'a.12-1abc.tmp'), before)
    const young = leave(join(agent.inbox, 'b.json.12-1abc.tmp'), before)
    leave(join(agent.inbox, 'c.json.12-1abc.tmp'), OLD)
    expect(store.upkeep.sweep(id)).toBe(4)
    expect(existsSync(young)).toBe(true)
    expect(existsSync(agent.log) && existsSync(agent.snapshot) && existsSync(agent.lock)).toBe(true)
  })
})

describe('bytes cut from a log', () => {
  test('are saved whole in cut/, once, under their offset', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    store.logs.keepCutBytes(id, 117, Buffer.from('half a line'))
    store.logs.keepCutBytes(id, 117, Buffer.from('half a line'))
    const { cut } = pathsOf(store).agent(id)
    const names = readdirSync(cut)
    expect(names).toEqual([expect.stringMatching(/^117-[0-9a-f]{16}$/)])
    expect(readFileSync(join(cut, names[0] as string), 'utf8')).toBe('half a line')
  })

  test('never prevent the repair of the log', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    withFaults(failing('ENOSPC', ({ name }) => name === 'write' || name === 'mkdir'))
    store.logs.keepCutBytes(id, 117, Buffer.from('half a line'))
  })
})

describe('agents', () => {
  test('are listed by their directories, and other files are ignored', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    for (const name of ['notes.txt', `.spawn-${randomUUID()}`]) leave(join(pathsOf(store).agents, name))
    expect(store.agentIds()).toEqual([id])
    expect(store.hasAgent(id)).toBe(true)
    expect(store.hasAgent(randomUUID())).toBe(false)
  })

  test('that are removed are durably renamed aside before their files are deleted', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { agents } = pathsOf(store)
    const held = (await store.hold(id, { command: 'test', waitMs: 0 })) as Right
    const removal = operationsOf(() => store.remove(id, held))
    await held.release()
    const aside = join(agents, `.removed-${id}`)
    expect(removal.slice(1, 4)).toMatchObject([
      { name: 'rename', path: join(agents, id), to: aside },
      { name: 'sync_directory', path: agents },
      { name: 'rmdir', path: aside },
    ])
    expect(readdirSync(agents)).toEqual([])
    // The marker leads to what else is left of the agent.
    for (const id of store.visits.markedIds()) store.visits.unmarkAbsent(id)
    expect(store.visits.markedIds()).toEqual([])
  })

  test('need a home: reading without one returns undefined', () => {
    const store = tempStore()
    expect(FileStore.openForRead(join(store.address, 'none'))).toBeUndefined()
    expect(FileStore.openForRead(store.address)?.facts).toEqual(store.facts)
  })

  test('that are locked name their holder', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const lease = await store.hold(id, { command: 'substrat send', waitMs: 0 })
    expect(store.isHeld(id)).toBe(true)
    expect(store.holder(id)).toMatchObject({ pid: process.pid, command: 'substrat send' })
    expect(await store.hold(id, { command: 'other', waitMs: 0 })).toBeUndefined()
    await lease?.release()
    expect(store.isHeld(id)).toBe(false)
  })

  function leave(path: string): void {
    writeFileSync(path, '')
  }
})
