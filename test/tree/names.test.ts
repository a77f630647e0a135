import { randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { FileStore } from '../../src/storage/file-store.js'
import { HomePaths } from '../../src/storage/paths.js'
import { discardDangling, forgetName, lockRoots } from '../../src/tree/children.js'
import { createAgent } from '../../src/tree/create-agent.js'
import { checkName, livingChild, livingRoot, resolveAgent } from '../../src/tree/names.js'
import { failing, withFaults } from '../support/faults.js'
import { rewriteBirth } from '../support/forged.js'
import { createdRecord, newSession, TREE_BOUNDS, terminate as terminated } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore

beforeEach(() => {
  store = tempStore()
})

async function spawned(name: string | null, id: string = randomUUID()): Promise<string> {
  const session = await newSession(store, { name }, id)
  await session.close(() => false)
  return id
}

const terminate = (id: string): Promise<void> => terminated(store, id)

const indexEntry = (name: string): string => new HomePaths(store.address).rootNames().entry(name)

describe('a name', () => {
  const BAD: [string, string, RegExp][] = [
    ['', 'nothing', /it is empty/],
    ['   ', 'spaces', /it is empty/],
    [' a', 'a space before it', /begins or ends with a space/],
    ['a\u00a0', 'a no-break space behind it', /begins or ends with a space/],
    ['a/b', 'a slash', /it has a slash/],
    ['..' + '/x', 'a way out', /it has a slash/],
    ['a\nb', 'a line feed', /control character/],
    ['a\u0000', 'a NUL', /control character/],
    ['a\u001b[2J', 'an escape sequence', /control character/],
    ['a\u0085', 'a C1 control', /control character/],
    ['a\u202eb', 'a reversal of the direction', /control character/],
    ['a\u200bb', 'a space of no width', /control character/],
    ['a\u2028b', 'a line separator', /control character/],
    ['a\ud800', 'half a character', /control character/],
    ['-a', 'a dash before it', /begins with a dash/],
    ['--help', 'the form of a flag', /begins with a dash/],
    ['x'.repeat(65), '65 characters', /longer than 64 characters/],
    ['x'.repeat(300), '300 characters', /longer than 64 characters/],
    [randomUUID(), 'a uuid', /it is a UUID/],
    [randomUUID().toUpperCase(), 'a uuid in capitals', /it is a UUID/],
    ['operator', 'the operator', /reserved for the user/],
    ['Operator', 'the operator in capitals', /reserved for the user/],
  ]

  test.each(BAD)('%j is refused: %s', (name, _, why) => {
    expect(() => checkName(name)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: expect.stringMatching(why),
        hint: expect.stringContaining('64'),
      }),
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is the matter
    expect(messageOf(() => checkName(name))).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  })

  test.each([
    'a',
    'review 2',
    'ä',
    '日本',
    '😀',
    'a.b',
    '..',
    "it's",
    'a\\b',
    '123',
    'deadbeef',
    '$(id)',
    'x'.repeat(64),
    '😀'.repeat(64),
  ])('%j is accepted as it is', (name) => {
    expect(checkName(name)).toBe(name)
  })

  test('is stored in one Unicode form', () => {
    expect(checkName('a\u0308')).toBe('ä')
  })
})

describe('a name leads to its agent', () => {
  test('in any case and composition', async () => {
    const id = await spawned('Ärger')
    for (const word of ['Ärger', 'ärger', 'ÄRGER', 'a\u0308rger', 'A\u0308RGER'])
      expect(resolveAgent(store, word)).toBe(id)
  })

  test('before the beginning of another id', async () => {
    const id = 'abcdef00-0000-4000-8000-000000000000'
    await spawned(null, id)
    expect(resolveAgent(store, 'abcdef')).toBe(id)
    const named = await spawned('abcdef')
    expect(resolveAgent(store, 'abcdef')).toBe(named)
  })

  test('also when the agent is terminated, until another has the name', async () => {
    const first = await spawned('a')
    await terminate(first)
    expect(resolveAgent(store, 'a')).toBe(first)
    expect(livingRoot(store, 'a')).toBeUndefined()
    const second = await spawned('a')
    expect(resolveAgent(store, 'a')).toBe(second)
    expect(resolveAgent(store, first)).toBe(first)
  })

  test('also when a spawn of that name has died since, after it had reserved the name', async () => {
    const gone = await spawned('a')
    await terminate(gone)
    store.names(null).reserve('a', randomUUID())
    expect(resolveAgent(store, 'a')).toBe(gone)
    expect(livingRoot(store, 'a')).toBeUndefined()
  })

  test('also once the entry of that dead spawn is discarded', async () => {
    const [top, gone] = [await spawned('top'), await spawned('a')]
    const deep = await newSession(store, { name: 'A', parent: top })
    await deep.close(() => false)
    await terminate(gone)
    store.names(null).reserve('a', randomUUID())
    await discardDangling(store, 'test')
    expect(store.names(null).find('a')).toBe('none')
    expect(resolveAgent(store, 'a')).toBe(gone)
    expect(livingRoot(store, 'a')).toBeUndefined()
  })

  test('of several terminated ones to the latest that exists', async () => {
    const ids: string[] = []
    // Until the latest is neither the first nor the last that a search meets.
    do {
      ids.push(await spawned('a'))
      await terminate(ids.at(-1) as string)
    } while (ids.length < 3 || [0, -1].some((end) => store.agentIds().at(end) === ids.at(-1)))
    const removed = await spawned('a')
    await terminate(removed)
    expect(resolveAgent(store, 'a')).toBe(removed)
    const lease = await store.hold(removed, { command: 'test', waitMs: 0 })
    store.remove(removed, lease as NonNullable<typeof lease>)
    await lease?.release()
    await forgetName(store, { id: removed, name: 'a', parent: null }, 'test')
    expect(resolveAgent(store, 'a')).toBe(ids.at(-1))
  })

  test('and to no agent if it was never created', async () => {
    store.names(null).reserve('ghost', randomUUID())
    expect(() => resolveAgent(store, 'ghost')).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
    const id = await spawned('ghost')
    expect(resolveAgent(store, 'ghost')).toBe(id)
  })

  test.each(['nothing', '', '{"name":"a"}\n', `{"agent_id":"../../etc","crc":"00000000"}\n`])(
    'also where its entry is damaged, as any bare name is looked for: %j',
    async (bytes) => {
      const id = await spawned('a')
      writeFileSync(indexEntry('a'), bytes)
      expect(resolveAgent(store, 'a')).toBe(id)
      expect(livingRoot(store, 'a')).toBe(id)
      await expect(spawned('A')).rejects.toMatchObject({ code: 'NAME_TAKEN', facts: { agent_id: id } })
    },
  )
})

describe('a word', () => {
  test('may be an id, in any case', async () => {
    const id = await spawned('a')
    expect(resolveAgent(store, id)).toBe(id)
    expect(resolveAgent(store, id.toUpperCase())).toBe(id)
  })

  test('may be the beginning of one id, of three characters at least', async () => {
    const id = await spawned(null, 'abcd0000-0000-4000-8000-000000000001')
    for (const word of ['abc', 'ABCD', 'abcd0000-00', id.slice(0, 35)])
      expect(resolveAgent(store, word)).toBe(id)
    expect(() => resolveAgent(store, 'ab')).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
  })

  test('that begins several ids is ambiguous, with the ids', async () => {
    const ids = ['1', '2'].map((last) => `abcd0000-0000-4000-8000-00000000000${last}`)
    for (const id of ids) await spawned(null, id)
    expect(() => resolveAgent(store, 'abcd')).toThrow(
      expect.objectContaining({
        code: 'AGENT_AMBIGUOUS',
        message: expect.stringContaining(ids.join(', ')),
        facts: { candidates: ids },
      }),
    )
    expect(resolveAgent(store, ids[1] as string)).toBe(ids[1])
  })

  const NOBODY = [
    'nobody',
    randomUUID(),
    '',
    '../../etc/passwd',
    'a/b',
    'x'.repeat(100_000),
    '\u001b[2J',
    '.spawn-abc',
    '*',
    '%s',
  ]
  test.each(NOBODY.map((word) => [word.slice(0, 40), word]))(
    'that names no agent is not found: %j',
    async (_, word) => {
      await spawned('a')
      expect(() => resolveAgent(store, word)).toThrow(
        expect.objectContaining({ code: 'AGENT_NOT_FOUND', hint: expect.stringContaining('substrat list') }),
      )
      expect(messageOf(() => resolveAgent(store, word)).length).toBeLessThan(200)
      expect(messageOf(() => resolveAgent(store, word))).not.toContain('\u001b')
    },
  )

  test('names no agent if there is no home', () => {
    expect(() => resolveAgent(undefined, 'a')).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
  })
})

describe('a name is unique among the living', () => {
  test('a second agent of it is refused, and nothing of it is left', async () => {
    const first = await spawned('a')
    const error = await spawned('A').catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'NAME_TAKEN', facts: { agent_id: first } })
    expect((error as { hint: string }).hint).toContain('--if-exists use')
    expect(store.agentIds()).toEqual([first])
    expect(store.visits.markedIds()).toEqual([])
  })

  test('one of two that are created at once succeeds', async () => {
    const outcomes = await Promise.allSettled(['a', 'A', 'a', 'A'].map((name) => spawned(name)))
    const born = outcomes.filter(({ status }) => status === 'fulfilled')
    expect(born).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NAME_TAKEN' })
    expect(store.agentIds()).toHaveLength(1)
  })

  test('agents without a name do not mind each other', async () => {
    await Promise.all([spawned(null), spawned(null)])
    expect(store.agentIds()).toHaveLength(2)
  })
})

describe('an index that was deleted by hand', () => {
  const forget = (): void => rmSync(join(store.address, 'roots'), { recursive: true })

  test('is not trusted for a miss: the agents are looked through', async () => {
    const id = await spawned('a')
    forget()
    expect(resolveAgent(store, 'A')).toBe(id)
    expect(() => resolveAgent(store, 'b')).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
  })

  test('is rebuilt by the next birth, which still finds the name taken', async () => {
    const id = await spawned('a')
    forget()
    await expect(spawned('a')).rejects.toMatchObject({ code: 'NAME_TAKEN', facts: { agent_id: id } })
    expect(store.names(null).isComplete).toBe(true)
    expect(store.names(null).lookUp('a')).toBe(id)
  })

  test('leads to the living one of a name that a dead one had too', async () => {
    let living = await spawned('a')
    // Until a dead one is the first that a look through the agents meets.
    do {
      await terminate(living)
      living = await spawned('a')
    } while (store.agentIds()[0] === living)
    forget()
    expect(resolveAgent(store, 'a')).toBe(living)
    expect(livingRoot(store, 'a')).toBe(living)
    await (await lockRoots(store, 'test')).lock.release()
    expect(store.names(null).lookUp('a')).toBe(living)
  })

  test('stays incomplete while an agent cannot be read; the others are found all the same', async () => {
    const id = await spawned('a')
    const damaged = await spawned('b')
    writeFileSync(store.local.logPath(damaged), 'garbage\n')
    rmSync(join(store.address, 'agents', damaged, 'session.json'))
    forget()
    expect(resolveAgent(store, 'a')).toBe(id)
    const other = await spawned('c')
    expect(store.names(null).isComplete).toBe(false)
    expect([resolveAgent(store, 'a'), resolveAgent(store, 'c')]).toEqual([id, other])
  })
})

test('a birth that fails leaves neither agent nor marker, and its name is free', async () => {
  const other = await newSession(store)
  await other.close(() => false)
  const id: string = randomUUID()
  const birth = {
    id,
    name: 'a',
    parent: null,
    records: () => [createdRecord(id, { name: 'a' }), { kind: 'run.paused' } as never],
    command: 'test',
  }
  await expect(createAgent(store, birth, TREE_BOUNDS)).rejects.toMatchObject({ code: 'UNEXPECTED' })
  expect(store.agentIds()).toEqual([other.id])
  expect(store.visits.markedIds()).toEqual([])
  await spawned('a')
})

describe('a path', () => {
  let top: string
  let child: string
  let grandchild: string

  const below = async (parent: string, name: string | null): Promise<string> => {
    const session = await newSession(store, { name, parent })
    await session.close(() => false)
    return session.id
  }

  beforeEach(async () => {
    top = await spawned('top')
    child = await below(top, 'Ärger')
    grandchild = await below(child, 'a')
  })

  test('leads from a root down, in any case and composition', () => {
    expect(resolveAgent(store, 'top/Ärger')).toBe(child)
    for (const word of ['top/Ärger/a', 'TOP/A\u0308RGER/A', `${top}/ärger/a`])
      expect(resolveAgent(store, word)).toBe(grandchild)
  })

  test('leads by the id of one that has no name, root or child', async () => {
    const root = await spawned(null)
    const nameless = await below(root, null)
    const deep = await below(nameless, 'deep')
    expect(resolveAgent(store, `${root}/${nameless}/deep`)).toBe(deep)
  })

  test.each(['top/', '/top', 'top//a', 'top/b', 'Ärger/a', 'b/a', '/', '//', 'top/Ärger/a/x', 'top/../top'])(
    'that leads to no agent is not found: %j',
    (word) => {
      expect(() => resolveAgent(store, word)).toThrow(expect.objectContaining({ code: 'AGENT_NOT_FOUND' }))
    },
  )

  test('reads one entry for each of its names, and no other agent', async () => {
    for (let n = 0; n < 5; n++) await spawned(`other ${n}`)
    const scan = vi.spyOn(store, 'agentIds')
    expect(resolveAgent(store, 'top/Ärger/a')).toBe(grandchild)
    expect(scan).not.toHaveBeenCalled()
  })

  test('leads to a terminated one until another has its name; a spawn sees the living alone', async () => {
    await terminate(grandchild)
    expect(resolveAgent(store, 'top/Ärger/a')).toBe(grandchild)
    expect(livingChild(store, child, 'a')).toBeUndefined()
    const second = await below(child, 'a')
    expect(resolveAgent(store, 'top/Ärger/a')).toBe(second)
    expect(livingChild(store, child, 'A')).toBe(second)
  })

  test('leads to a terminated one also once the entry of a later spawn that died is discarded', async () => {
    const below = await newSession(store, { name: 'b', parent: grandchild })
    await below.close(() => false)
    for (const id of [below.id, grandchild]) await terminate(id)
    store.names(child).reserve('a', randomUUID())
    for (const repair of [() => undefined, () => discardDangling(store, 'test')]) {
      await repair()
      expect(resolveAgent(store, 'top/Ärger/a')).toBe(grandchild)
      expect(resolveAgent(store, 'top/Ärger/a/b')).toBe(below.id)
      expect(livingChild(store, child, 'a')).toBeUndefined()
    }
    const next = await newSession(store, { name: 'a', parent: child })
    await next.close(() => false)
    expect(resolveAgent(store, 'top/Ärger/a')).toBe(next.id)
  })

  test('leads also where the indexes were deleted', () => {
    for (const directory of ['roots', `agents/${top}/children`, `agents/${child}/children`])
      rmSync(join(store.address, directory), { recursive: true })
    expect(resolveAgent(store, 'top/Ärger/a')).toBe(grandchild)
    expect(livingChild(store, child, 'a')).toBe(grandchild)
  })

  test('in a cycle that was forged on disk is found, or not, but does not go on for ever', () => {
    rewriteBirth(store, child, { name: 'Ärger', parent: grandchild, path: 'top/Ärger' })
    store.names(grandchild).reserve('Ärger', child)
    expect(resolveAgent(store, 'top/ärger/a/ärger/a')).toBe(grandchild)
    rmSync(join(store.address, `agents/${top}/children`), { recursive: true })
    expect(() => resolveAgent(store, 'top/ärger/a')).toThrow(
      expect.objectContaining({ code: 'AGENT_NOT_FOUND' }),
    )
  })
})

describe('a bare name that is not the name of a root', () => {
  test('means the one living agent that has it, wherever it is', async () => {
    const top = await spawned('top')
    const session = await newSession(store, { name: 'deep', parent: top })
    await session.close(() => false)
    expect(resolveAgent(store, 'DEEP')).toBe(session.id)
    const root = await spawned('deep')
    expect(resolveAgent(store, 'deep')).toBe(root)
    await terminate(session.id)
    expect(resolveAgent(store, 'deep')).toBe(root)
  })

  test('is a failure of storage, and not of the name, while the disk does not give an agent', async () => {
    const parent = await spawned('lead')
    const session = await newSession(store, { name: 'kid', parent })
    await session.close(() => false)
    withFaults(failing('EMFILE', ({ point, path }) => point === 'log.read' && path.includes(session.id)))
    expect(resolveAgent(store, 'lead')).toBe(parent)
    expect(() => resolveAgent(store, 'kid')).toThrow(expect.objectContaining({ code: 'STORAGE_FAILED' }))
  })

  test('of several is ambiguous, with their ids', async () => {
    const ids: string[] = []
    for (const parent of [await spawned('one'), await spawned('two')]) {
      const session = await newSession(store, { name: 'twin', parent })
      await session.close(() => false)
      ids.push(session.id)
    }
    expect(() => resolveAgent(store, 'twin')).toThrow(
      expect.objectContaining({
        code: 'AGENT_AMBIGUOUS',
        message: `"twin" is the name of 2 agents: ${ids.sort().join(', ')}`,
        hint: expect.stringContaining('the path'),
      }),
    )
    await terminate(ids[0] as string)
    expect(resolveAgent(store, 'twin')).toBe(ids[1])
  })
})

function messageOf(act: () => unknown): string {
  try {
    act()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
