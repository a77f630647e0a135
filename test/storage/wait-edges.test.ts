import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { beforeEach, describe, expect, test } from 'vitest'
import { type AgentPaths, HomePaths } from '../../src/storage/paths.js'
import type { FileStore } from '../../src/storage/store.js'
import type { WaitEdges } from '../../src/storage/wait-edges.js'
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
const pathsOf = (agent: string): AgentPaths => new HomePaths(store.root).agent(agent)

beforeEach(async () => {
  store = tempStore()
  edges = store.waits
  ;[a, b, c] = [await newAgent(store), await newAgent(store), await newAgent(store)]
})

const add = (from: string, to: string) => edges.add(from, to, 'test')

describe('an edge', () => {
  test('stands from when it is added until it is released', async () => {
    expect(edges.edgesOf(a)).toEqual([])
    const edge = await add(a, b)
    expect(edges.edgesOf(a)).toEqual([b])
    expect(edges.edgesOf(b)).toEqual([])
    await edge.release()
    expect(edges.edgesOf(a)).toEqual([])
    expect(readdirSync(pathsOf(a).waits)).toEqual([])
  })

  test('is one of several: who waits twice for the same waits until both are over', async () => {
    const [first, second, other] = [await add(a, b), await add(a, b), await add(a, c)]
    expect(edges.edgesOf(a).sort()).toEqual([b, c].sort())
    await first.release()
    expect(edges.edgesOf(a).sort()).toEqual([b, c].sort())
    await second.release()
    expect(edges.edgesOf(a)).toEqual([c])
    await other.release()
    expect(edges.edgesOf(a)).toEqual([])
  })

  test('does not outlive the process that waits, however that dies', async () => {
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

  test('is not made where the disk fails, and the error says so', async () => {
    withFaults(failing('ENOSPC', ({ point }) => point === 'edge.mkdir'))
    await expect(add(a, b)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(edges.edgesOf(a)).toEqual([])
  })

  test('leads to an agent: what is named otherwise is none, and is left alone', async () => {
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

describe('a cycle', () => {
  test('is seen from each of its agents, however long it is, and named', async () => {
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

  test('of one with itself is one', () => {
    expect(() => checkNoCycle(store, a, a)).toThrow(expect.objectContaining({ code: 'DEADLOCK' }))
  })

  test('is none where two wait for the same, or one that waits is reached twice', async () => {
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

  test('among others does not hold up who is no part of it', async () => {
    await add(b, c)
    await add(c, b)
    expect(() => checkNoCycle(store, a, b)).not.toThrow()
  })

  test('that would be closed by two at once is seen by one of them at least', async () => {
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
