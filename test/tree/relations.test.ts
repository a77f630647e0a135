import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import {
  checkIsChild,
  checkMayWrite,
  relationOf,
  relativesOf,
  resolveRelative,
} from '../../src/tree/relations.js'
import { rewriteBirth, spoil } from '../support/forged.js'
import { newAgent, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
const ids: Record<string, string> = {}

/** Two roots; below `top` a and b, below those one each. */
beforeEach(async () => {
  store = tempStore()
  ids.top = await newAgent(store, { name: 'top' })
  ids.other = await newAgent(store, { name: 'other' })
  for (const name of ['a', 'b']) ids[name] = await newAgent(store, { name, parent: ids.top })
  for (const name of ['a', 'b'])
    ids[`${name}${name}`] = await newAgent(store, { name: `${name}${name}`, parent: ids[name] as string })
})

const idOf = (name: string): string => ids[name] as string
const stateOf = (name: string): State => openForRead(store, idOf(name))?.state as State
const names = ['top', 'other', 'a', 'b', 'aa', 'bb']

describe('the relation of one agent to another', () => {
  const RELATED: Record<string, Record<string, string>> = {
    top: { a: 'child', b: 'child' },
    other: {},
    a: { top: 'parent', b: 'sibling', aa: 'child' },
    b: { top: 'parent', a: 'sibling', bb: 'child' },
    aa: { a: 'parent' },
    bb: { b: 'parent' },
  }

  test.each(names)('%s, to every agent', (from) => {
    for (const to of names) {
      const relation = RELATED[from]?.[to]
      expect(relationOf(stateOf(from), stateOf(to)), `${from} to ${to}`).toBe(relation)
      const write = (): unknown => checkMayWrite(stateOf(from), stateOf(to))
      if (relation !== undefined) expect(write()).toBe(relation)
      else
        expect(write, `${from} to ${to}`).toThrow(
          expect.objectContaining({
            code: 'TREE_RULES',
            exitStatus: 13,
            facts: { agent_id: idOf(from), to: idOf(to) },
          }),
        )
    }
  })

  test('the refusal names the reason', () => {
    const why =
      (from: string, to: string): (() => unknown) =>
      () =>
        checkMayWrite(stateOf(from), stateOf(to))
    expect(why('a', 'a')).toThrow('top/a may not write to top/a: an agent cannot write to itself')
    expect(why('top', 'other')).toThrow('top may not write to other: roots cannot write to each other')
    expect(why('top', 'aa')).toThrow(/may not write to top\/a\/aa: it can write only to its parent, children/)
    expect(why('aa', 'bb')).toThrow(/it can write only to its parent, children and siblings/)
    expect(why('aa', 'other')).toThrow(/only to its parent/)
  })

  test('roots are not siblings, although both have no parent', () => {
    expect(relationOf(stateOf('top'), stateOf('other'))).toBeUndefined()
  })

  test('an agent that is its own parent, by a forged log, has no relation to itself', () => {
    rewriteBirth(store, idOf('aa'), { name: 'aa', parent: idOf('aa'), path: 'aa' })
    expect(relationOf(stateOf('aa'), stateOf('aa'))).toBeUndefined()
    expect(() => checkIsChild(stateOf('aa'), stateOf('aa'), 'gate')).toThrow(/may not gate/)
  })

  test.each(names)('only its direct children are inspected, gated and poked by %s', (from) => {
    for (const to of names) {
      const check = (): void => checkIsChild(stateOf(from), stateOf(to), 'gate')
      if (RELATED[from]?.[to] === 'child') expect(check).not.toThrow()
      else
        expect(check, `${from} to ${to}`).toThrow(
          expect.objectContaining({
            code: 'TREE_RULES',
            message: expect.stringContaining('which is not its child'),
          }),
        )
    }
  })
})

describe('the name by which an agent means another', () => {
  const found = (from: string, word: string): string => {
    const id = resolveRelative(store, stateOf(from), word)
    return Object.entries(ids).find(([, known]) => known === id)?.[0] ?? id
  }

  test('is `parent`, in any case; for a root that is the operator', () => {
    expect([found('aa', 'parent'), found('a', 'PARENT'), found('top', 'parent')]).toEqual([
      'a',
      'top',
      'operator',
    ])
    expect(found('aa', 'operator')).toBe('operator')
  })

  test('is the name of a child, of a sibling, or of the parent, in any case', () => {
    expect([found('a', 'AA'), found('a', 'b'), found('a', 'Top')]).toEqual(['aa', 'b', 'top'])
  })

  test('means its own child before a sibling, and a sibling before a root of that name', async () => {
    ids.ownB = await newAgent(store, { name: 'b', parent: idOf('a') })
    expect(found('a', 'b')).toBe('ownB')
    ids.rootA = await newAgent(store, { name: 'a' })
    expect(found('b', 'a')).toBe('a')
    expect(found('other', 'a')).toBe('rootA')
  })

  test('may be an id, a path, or a bare name anywhere, whether or not it may write to that agent', () => {
    expect(found('top', idOf('bb'))).toBe('bb')
    expect(found('other', 'top/a/aa')).toBe('aa')
    expect(found('other', 'bb')).toBe('bb')
  })

  test('that names no agent is not found', () => {
    for (const word of ['nobody', 'top/nobody', randomUUID(), '', '../a'])
      expect(() => found('a', word), word).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
  })

  test('does not mean a terminated child if a living sibling has the name', async () => {
    ids.ownB = await newAgent(store, { name: 'b', parent: idOf('a') })
    await terminate(store, idOf('ownB'))
    expect(found('a', 'b')).toBe('b')
  })

  test('works while the parent cannot be read', () => {
    spoil(store, idOf('top'))
    expect([found('a', 'b'), found('a', 'aa'), found('a', 'parent')]).toEqual(['b', 'aa', 'top'])
  })
})

describe('the relatives of an agent', () => {
  const related = (name: string): string[] =>
    relativesOf(store, stateOf(name)).map(({ relation, state }) => `${relation} ${state.name}`)

  test('are its parent, its living children and its living siblings', async () => {
    expect(related('a')).toEqual(['parent top', 'child aa', 'sibling b'])
    expect(related('top')).toEqual(['child a', 'child b'])
    expect(related('other')).toEqual([])
    await terminate(store, idOf('aa'))
    expect(related('a')).toEqual(['parent top', 'sibling b'])
  })

  test('are without a parent that cannot be read', () => {
    spoil(store, idOf('top'))
    expect(related('a')).toEqual(['child aa', 'sibling b'])
  })
})
