import { describe, expect, test } from 'vitest'
import { Prefetched, prefetchPlan } from '../../plugins/store-postgres/src/prefetched.js'

const ROWS = [
  {
    home: { home_id: 'h' },
    config: null,
    named: { agent_id: 'a' },
    opened: { log_bytes: 3 },
    agents: ['a'],
    marked: [],
  },
  { home: null, id: 'a', snapshot: 's' },
]

describe('the first statement of a command', () => {
  test('reads the agent of show and of a send with a key, the name of send, and all agents of list and tree', () => {
    expect(prefetchPlan(['show', 'notes', '--json'])).toEqual({ word: 'notes', opens: true, lists: false })
    expect(prefetchPlan(['send', '--queue', 'notes', 'hello'])).toEqual({
      word: 'notes',
      opens: false,
      lists: false,
    })
    for (const key of [['--key', 'k1'], ['--key=k1']])
      expect(prefetchPlan(['send', 'notes', 'hello', ...key])).toMatchObject({ word: 'notes', opens: true })
    for (const command of ['list', 'tree'])
      expect(prefetchPlan([command])).toMatchObject({ word: null, lists: true })
    for (const words of [[], ['recover', '--all'], ['log', 'notes']])
      expect(prefetchPlan(words)).toEqual({ word: null, opens: false, lists: false })
    expect(prefetchPlan(['send', 'x'.repeat(200), 'notes']).word).toBe('notes')
  })

  test('gives each of its results once, and none after another statement', () => {
    const prefetched = new Prefetched()
    expect(prefetched.put(ROWS, 'notes', 1)).toEqual({ home_id: 'h', config: null })
    expect(prefetched.take('agents', 1)).toEqual(['a'])
    expect(prefetched.take('agents', 1)).toBeUndefined()
    expect(prefetched.take('open/a', 1)).toEqual([{ log_bytes: 3, snapshot: undefined, tail: undefined }])
    expect(prefetched.take('peeks', 2)).toBeUndefined()
    expect(prefetched.take('name/notes', 2)).toBeUndefined()
  })

  test('knows that no root has the name', () => {
    const prefetched = new Prefetched()
    prefetched.put([{ home: {}, config: null, named: null }], 'nobody', 1)
    expect(prefetched.take('name/nobody', 1)).toEqual([])
    expect(prefetched.take('name/other', 1)).toBeUndefined()
  })
})
