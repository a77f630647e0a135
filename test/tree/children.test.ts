import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { HomePaths } from '../../src/storage/paths.js'
import {
  checkChildless,
  childrenOf,
  forgetName,
  livingBelow,
  livingChildren,
  lockChildren,
  lockRoots,
} from '../../src/tree/children.js'
import { livingChild } from '../../src/tree/names.js'
import { childrenDirectory, rewriteBirth, spoil } from '../support/forged.js'
import { newAgent, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let top: string

beforeEach(async () => {
  store = tempStore()
  top = await newAgent(store, { name: 'top' })
})

const child = (name: string | null, parent = top): Promise<string> => newAgent(store, { name, parent })
const stateOf = (id: string): State => openForRead(store, id)?.state as State
const pathsOf = (agents: State[]): string[] => agents.map(({ path }) => path)
const isComplete = (id: string): boolean => store.names(id).isComplete

async function rebuilt(parent: string): Promise<void> {
  const { lock } = await lockChildren(store, parent, 'test')
  await lock.release()
}

describe('the children of an agent', () => {
  test('are those whose own log says so, oldest first, the living and the others', async () => {
    const [b, a] = [await child('b'), await child('a')]
    const nameless = await child(null)
    await child('deeper', b)
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([b, a, nameless])
    await terminate(store, a)
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([b, nameless])
    expect(childrenOf(store, top).map(({ id }) => id)).toEqual([b, a, nameless])
    expect(pathsOf(childrenOf(store, b))).toEqual(['top/b/deeper'])
    expect(childrenOf(store, a)).toEqual([])
  })

  test('include only the latest of one name, which took the entry of the dead one', async () => {
    const first = await child('a')
    await terminate(store, first)
    const second = await child('A')
    expect(childrenOf(store, top).map(({ id }) => id)).toEqual([second])
  })

  test('are found without reading any other agent', async () => {
    for (let n = 0; n < 5; n++) await newAgent(store, { name: `other ${n}` })
    const id = await child('a')
    const scan = vi.spyOn(store, 'agentIds')
    const read = vi.spyOn(store.snapshots, 'peek')
    expect(livingChildren(store, top).map((agent) => agent.id)).toEqual([id])
    expect(scan).not.toHaveBeenCalled()
    expect(read.mock.calls.map(([agentId]) => agentId)).toEqual([id])
  })

  test('exclude entries of agents that were never created, were removed, or have another parent', async () => {
    const id = await child('a')
    const stranger = await newAgent(store, { name: 'stranger' })
    const index = store.names(top)
    index.reserve('ghost', randomUUID())
    index.reserve('stolen', stranger)
    index.reserve('itself', top)
    expect(childrenOf(store, top).map((agent) => agent.id)).toEqual([id])
  })

  test('that cannot be read are omitted, and do not hide the others', async () => {
    const [a, b] = [await child('a'), await child('b')]
    spoil(store, a)
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([b])
  })

  test('are none for an agent that does not exist', () => {
    expect(childrenOf(store, randomUUID())).toEqual([])
  })
})

describe('an index of children that was deleted by hand', () => {
  const forget = (): void => rmSync(childrenDirectory(store, top), { recursive: true })

  test('is not trusted: every agent is read', async () => {
    const [a, b] = [await child('a'), await child(null)]
    forget()
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([a, b])
    expect(isComplete(top)).toBe(false)
  })

  test('is rebuilt with the living when it is next locked, and is complete', async () => {
    const [a, nameless, dead] = [await child('a'), await child(null), await child('dead')]
    await child('deeper', a)
    await terminate(store, dead)
    forget()
    await rebuilt(top)
    expect(isComplete(top)).toBe(true)
    expect(store.names(top).ids()?.sort()).toEqual([a, nameless].sort())
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([a, nameless])
  })

  test('stays incomplete while some agent cannot be read: it may be a child', async () => {
    const a = await child('a')
    const other = await newAgent(store, { name: 'other' })
    spoil(store, other)
    forget()
    await rebuilt(top)
    expect(isComplete(top)).toBe(false)
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([a])
  })

  test('or that has a damaged entry, loses no agent', async () => {
    const [a, b] = [await child('a'), await child('b')]
    writeFileSync(new HomePaths(store.address).agent(top).childNames().entry('a'), 'garbage')
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([a, b])
    expect(livingChild(store, top, 'a')).toBe(a)
    await expect(child('a')).rejects.toMatchObject({ code: 'NAME_TAKEN', facts: { agent_id: a } })
    writeFileSync(join(childrenDirectory(store, top), 'c'.repeat(64)), 'garbage')
    expect(livingChildren(store, top).map(({ id }) => id)).toEqual([a, b])
  })

  test('is locked while it is rebuilt, and free after a failure', async () => {
    forget()
    vi.spyOn(store, 'agentIds').mockImplementationOnce(() => {
      throw new Error('no list')
    })
    await expect(lockChildren(store, top, 'test')).rejects.toThrow('no list')
    await rebuilt(top)
  })
})

describe('the index of roots that was deleted by hand', () => {
  test('is rebuilt with the living named roots, and no child', async () => {
    const other = await newAgent(store, { name: 'other' })
    const dead = await newAgent(store, { name: 'dead' })
    await newAgent(store)
    await child('a')
    await terminate(store, dead)
    rmSync(join(store.address, 'roots'), { recursive: true })
    const { index, lock } = await lockRoots(store, 'test')
    await lock.release()
    expect(index.isComplete).toBe(true)
    expect(index.ids()?.sort()).toEqual([top, other].sort())
  })
})

describe('the agents below an agent', () => {
  test('come lowest first, with the agent itself at the end', async () => {
    const a = await child('a')
    const [aa, ab] = [await child('aa', a), await child('ab', a)]
    await child('aaa', aa)
    await child('b')
    expect(pathsOf(livingBelow(store, stateOf(top)))).toEqual([
      'top/a/aa/aaa',
      'top/a/aa',
      'top/a/ab',
      'top/a',
      'top/b',
      'top',
    ])
    await terminate(store, ab)
    expect(pathsOf(livingBelow(store, stateOf(a)))).toEqual(['top/a/aa/aaa', 'top/a/aa', 'top/a'])
  })

  test('in a forged cycle are listed once', async () => {
    const a = await child('a')
    const b = await child('b', a)
    // `a` is below its own child now.
    rewriteBirth(store, a, { name: 'a', parent: b, path: 'top/a' })
    store.names(b).reserve('a', a)
    expect(
      livingBelow(store, stateOf(a))
        .map(({ id }) => id)
        .sort(),
    ).toEqual([a, b].sort())
    expect(livingBelow(store, stateOf(top)).map(({ id }) => id)).toEqual([top])
  })

  test('include it once if it is its own parent', async () => {
    const a = await child('a')
    rewriteBirth(store, a, { name: 'a', parent: a, path: 'a' })
    store.names(a).reserve('a', a)
    expect(livingBelow(store, stateOf(a)).map(({ id }) => id)).toEqual([a])
  })
})

describe('a parent may end', () => {
  test('without living children; otherwise the error names them and the next command', async () => {
    expect(() => checkChildless(store, stateOf(top), 'terminate')).not.toThrow()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const ids: string[] = []
    for (const name of names) ids.push(await child(name))
    expect(() => checkChildless(store, stateOf(top), 'terminate')).toThrow(
      expect.objectContaining({
        code: 'HAS_CHILDREN',
        exitStatus: 13,
        message: 'top has 6 living children: top/a, top/b, top/c, top/d, top/e',
        hint: expect.stringContaining(`substrat terminate ${top} --recursive`),
        facts: { agent_id: top, children: ids },
      }),
    )
    for (const id of ids.slice(1)) await terminate(store, id)
    expect(() => checkChildless(store, stateOf(top), 'terminate')).toThrow(/has 1 living child: top\/a/)
    await terminate(store, ids[0] as string)
    expect(() => checkChildless(store, stateOf(top), 'terminate')).not.toThrow()
  })
})

describe('the entry of a removed agent', () => {
  test('is removed, unless a later agent has taken it', async () => {
    const first = await child('a')
    await terminate(store, first)
    await forgetName(store, stateOf(first), 'test')
    expect(store.names(top).lookUp('a')).toBeUndefined()
    const second = await child('a')
    await forgetName(store, stateOf(first), 'test')
    expect(store.names(top).lookUp('a')).toBe(second)
  })

  test('has its id if it has no name; a nameless root, or a child of a removed parent, has none', async () => {
    const nameless = await child(null)
    expect(store.names(top).lookUp(nameless)).toBe(nameless)
    await forgetName(store, stateOf(nameless), 'test')
    expect(store.names(top).count()).toBe(0)
    const gone = { id: randomUUID(), name: 'x', parent: randomUUID() }
    await forgetName(store, gone, 'test')
    expect(store.hasAgent(gone.parent)).toBe(false)
    await forgetName(store, { id: randomUUID(), name: null, parent: null }, 'test')
    expect(store.names(null).ids()).toEqual([top])
    await forgetName(store, stateOf(top), 'test')
    expect(store.names(null).ids()).toEqual([])
  })
})
