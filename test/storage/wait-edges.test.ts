import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import type { FileStore } from '../../src/storage/file-store.js'
import { type AgentPaths, HomePaths } from '../../src/storage/paths.js'
import { WaitEdges } from '../../src/storage/wait-edges.js'
import { checkNoCycle } from '../../src/tree/waits.js'
import { failing, withFaults } from '../support/faults.js'
import { newAgent } from '../support/sessions.js'
import { Child, useChildren } from '../support/storage-process.js'
import { tempStore } from '../support/temp.js'

useChildren()

const system = { kind: 'ofd' as const, isLocal: true }

let store: FileStore
let edges: WaitEdges
let [a, b, c] = ['', '', '']
const pathsOf = (agent: string): AgentPaths => new HomePaths(store.address).agent(agent)

beforeEach(async () => {
  store = tempStore()
  edges = store.waits
  ;[a, b, c] = [await newAgent(store), await newAgent(store), await newAgent(store)]
})

const add = (from: string, to: string) => edges.add(from, to, 'test')

describe('a wait edge', () => {
  test('exists from its creation until its release', async () => {
    expect(edges.edgesOf(a)).toEqual([])
    const edge = await add(a, b)
    expect(edges.edgesOf(a)).toEqual([b])
    expect(edges.edgesOf(b)).toEqual([])
    await edge.release()
    expect(edges.edgesOf(a)).toEqual([])
    expect(readdirSync(pathsOf(a).waits)).toEqual([])
  })

  test('is counted: two waits for one recipient end only when both are released', async () => {
    const [first, second, other] = [await add(a, b), await add(a, b), await add(a, c)]
    expect(edges.edgesOf(a).sort()).toEqual([b, c].sort())
    await first.release()
    expect(edges.edgesOf(a).sort()).toEqual([b, c].sort())
    await second.release()
    expect(edges.edgesOf(a)).toEqual([c])
    await other.release()
    expect(edges.edgesOf(a)).toEqual([])
  })

  test('has no lock directory if a command waits for its own agent, because it would outlive a kill', async () => {
    const remote = new WaitEdges(new HomePaths(store.address), { ...system, isLocal: false })
    const directories = (): string[] => readdirSync(pathsOf(a).waits).filter((name) => name.endsWith('.d'))
    const arrival = await remote.arrive(a, 'test')
    expect(directories()).toEqual([])
    expect(remote.arrivals(a)).toHaveLength(1)
    const edge = await remote.add(a, b, 'test')
    expect(directories()).toHaveLength(1)
    for (const { release } of [arrival, edge]) await release()
    expect(readdirSync(pathsOf(a).waits)).toEqual([])
  })

  test('does not outlive the waiting process', async () => {
    const child = await Child.start()
    const path = pathsOf(a).waitEdge(b, randomUUID())
    mkdirSync(pathsOf(a).waits)
    expect(await child.ask({ do: 'try', system, path })).toBe(true)
    expect(edges.edgesOf(a)).toEqual([b])
    edges.sweep(a)
    expect(edges.edgesOf(a)).toEqual([b])
    await child.kill()
    expect(edges.edgesOf(a)).toEqual([])
    expect(existsSync(path)).toBe(true)
    edges.sweep(a)
    expect(existsSync(path)).toBe(false)
  })

  test('is not made on a full disk, which the error reports', async () => {
    withFaults(failing('ENOSPC', ({ point }) => point === 'edge.mkdir'))
    await expect(add(a, b)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(edges.edgesOf(a)).toEqual([])
  })

  test('leads to an agent; files with other names are left alone', async () => {
    mkdirSync(pathsOf(a).waits)
    for (const name of ['notes.txt', randomUUID(), `${b}.x`, `x.${b}`, `${b}..`, '.'.repeat(73)])
      writeFileSync(`${pathsOf(a).waits}/${name}`, '')
    expect(edges.edgesOf(a)).toEqual([])
    edges.sweep(a)
    expect(readdirSync(pathsOf(a).waits)).toHaveLength(6)
    for (const to of ['operator', '../../x', ''])
      await expect(add(a, to), to).rejects.toMatchObject({ code: 'UNEXPECTED' })
  })
})

describe('a cycle of waits', () => {
  test('is found from each of its agents', async () => {
    for (const [from, to] of [
      [a, b],
      [b, c],
    ] as const)
      await add(from, to)
    await add(c, a)
    for (const [from, to] of [
      [a, b],
      [b, c],
      [c, a],
    ] as const)
      expect(() => checkNoCycle(store, from, to)).toThrow(
        expect.objectContaining({
          code: 'DEADLOCK',
          exitStatus: 13,
          hint: expect.stringContaining('without waiting'),
          facts: { agent_id: from, to },
        }),
      )
  })

  test('exists if an agent waits for itself', () => {
    expect(() => checkNoCycle(store, a, a)).toThrow(expect.objectContaining({ code: 'DEADLOCK' }))
  })

  test('does not exist if two agents wait for one, or one is reached twice', async () => {
    const d = await newAgent(store)
    for (const [from, to] of [
      [a, b],
      [a, c],
      [b, d],
      [c, d],
    ] as const)
      await add(from, to)
    expect(() => checkNoCycle(store, a, b)).not.toThrow()
    expect(() => checkNoCycle(store, a, d)).not.toThrow()
    expect(() => checkNoCycle(store, d, a)).toThrow(expect.objectContaining({ code: 'DEADLOCK' }))
  })

  test('among other agents does not stop an agent outside it', async () => {
    await add(b, c)
    await add(c, b)
    expect(() => checkNoCycle(store, a, b)).not.toThrow()
  })

  test('that two agents close at once is found by at least one of them', async () => {
    for (let round = 0; round < 20; round++) {
      const outcomes = await Promise.all(
        [
          [a, b],
          [b, a],
        ].map(async ([from = '', to = '']) => {
          const edge = await add(from, to)
          try {
            checkNoCycle(store, from, to)
            return 'waits'
          } catch {
            await edge.release()
            return 'refused'
          }
        }),
      )
      expect(outcomes).toContain('refused')
      edges.sweep(a)
      edges.sweep(b)
    }
  })
})
