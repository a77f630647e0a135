/** The agent setting `context`: where a person sets it, sees it, and which providers can have it. */

import path from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

/** An agent program with a session of its own. Its reply says whether it is a new one. */
const OWN_SESSION = `
module.exports = {
  kind: 'agent', description: 'remembers by itself', options: {},
  async create() { return session(0) },
  async restore(state) { return session(Number(Buffer.from(state).toString())) },
  async inspect() { return { type: 'unfinished' } },
}
function session(turns) {
  return {
    async *send() {
      turns += 1
      yield { type: 'done', reply: 'turn ' + turns + ' of this session' }
    },
    async suspend() { return Buffer.from(String(turns)) },
    async stop() {},
  }
}`

async function shownContext(house: House, agent: string): Promise<string> {
  return (await house.ok('show', agent, '--json')).json.context
}

test('spawn and set record it, show and its JSON print it, and it takes effect in the next turn', async () => {
  const house = new House()
  const id = await house.spawn('a', '--provider', 'scripted', '--context', 'turn')
  expect(house.records(id)[0]).toMatchObject({ kind: 'session.created', context: 'turn' })
  expect(await shownContext(house, 'a')).toBe('turn')
  expect((await house.ok('show', 'a')).stdout).toMatch(
    /^context +turn: each turn begins a new conversation$/m,
  )
  await house.ok('send', 'a', 'one')
  expect(house.records(id).find(({ kind }) => kind === 'run.started')).toMatchObject({ fresh: true })
  await house.ok('set', 'a', '--context', 'last:2')
  expect(house.records(id).findLast(({ kind }) => kind === 'session.configured')).toMatchObject({
    context: 'last:2',
  })
  expect((await house.ok('show', 'a')).stdout).toMatch(
    /^context +last:2: a turn begins with the 2 turns before it$/m,
  )
  for (const each of ['two', 'three', 'four']) await house.ok('send', 'a', each)
  const starts = house.records(id).flatMap((record) => (record.kind === 'run.started' ? [record] : []))
  expect(starts.map(({ keeps_seq }) => keeps_seq)).toEqual([undefined, undefined, undefined, starts[1]?.seq])
  expect((await house.ok('log', 'a')).stdout).toContain('changed: context')
  await house.ok('set', 'a', '--context', 'all')
  expect(await shownContext(house, 'a')).toBe('all')
  expect((await house.ok('show', 'a')).stdout).not.toMatch(/^context /m)
  expect((await house.ok('doctor', '--all')).exit).toBe(0)
})

test('a fork, a copy from a bundle and a child of the same provider keep it', async () => {
  const house = new House()
  await house.spawn('a', '--provider', 'scripted', '--context', 'last:2')
  await house.ok('send', 'a', 'one')
  await house.ok('fork', 'a', '--name', 'b')
  expect(await shownContext(house, 'b')).toBe('last:2')
  const bundle = path.join(tempDirectory(), 'a.bundle')
  await house.ok('export', 'a', '--bundle', bundle)
  const other = new House()
  await other.ok('import', bundle, '--trust')
  expect(await shownContext(other, 'a')).toBe('last:2')
  const calls = { tools: [{ name: 'spawn_agent', input: { name: 'kid' } }] }
  await house.spawn(
    'p',
    '--provider',
    'scripted',
    '--context',
    'turn',
    '--allow',
    'tree',
    '--option',
    house.scenario('s.json', calls),
  )
  await house.ok('send', 'p', 'make one')
  expect(await shownContext(house, 'p/kid')).toBe('turn')
})

test('the setting context is the default of new agents, and of no other', async () => {
  const house = new House()
  house.plugin('native', OWN_SESSION)
  await house.spawn('before', '--provider', 'scripted')
  await house.ok('config', 'set', 'context', 'last:3')
  await house.spawn('after', '--provider', 'scripted')
  await house.spawn('program', '--provider', 'native')
  await house.spawn('own', '--provider', 'scripted', '--context', 'all')
  const all = ['before', 'after', 'program', 'own']
  expect(await Promise.all(all.map((agent) => shownContext(house, agent)))).toEqual([
    'all',
    'last:3',
    'all',
    'all',
  ])
  const wrong = await house.run(['config', 'set', 'context', 'last:0'])
  expect([wrong.exit, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('all, turn, or last:N with N from 1 to 999'),
  ])
})

test('another word is refused, and nothing is created or changed', async () => {
  const house = new House()
  await house.spawn('a', '--provider', 'scripted')
  for (const word of ['', 'last', 'last:0', 'last:1000', 'last:-1', 'turns', 'ALL']) {
    const changed = await house.run(['set', 'a', '--context', word])
    expect([changed.exit, changed.stderr], word).toEqual([2, expect.stringContaining('is not a context')])
    expect((await house.run(['spawn', '--name', 'b', '--context', word])).exit, word).toBe(2)
  }
  expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
  expect(await shownContext(house, 'a')).toBe('all')
})

test('an agent program has a new session in each turn with turn, and cannot have last:N', async () => {
  const house = new House()
  house.plugin('native', OWN_SESSION)
  const refused = await house.run(['spawn', '--name', 'a', '--provider', 'native', '--context', 'last:2'])
  expect(refused.exit).toBe(2)
  expect(refused.stderr).toContain('an agent of the provider native keeps its conversation itself')
  expect(refused.stderr).toContain('--context turn')
  await house.spawn('a', '--provider', 'native')
  expect((await house.run(['set', 'a', '--context', 'last:2'])).exit).toBe(2)
  for (const turn of [1, 2])
    expect((await house.ok('send', 'a', 'Go')).stdout).toContain(`turn ${turn} of this session`)
  await house.ok('set', 'a', '--context', 'turn')
  for (let time = 0; time < 2; time++)
    expect((await house.ok('send', 'a', 'Go')).stdout).toContain('turn 1 of this session')
  await house.ok('set', 'a', '--context', 'all')
  expect((await house.ok('send', 'a', 'Go')).stdout).toContain('turn 2 of this session')
})

test('exec gets the last turns with history=on, without which last:N is refused', async () => {
  const house = new House()
  const without = await house.run([
    'spawn',
    '--name',
    'a',
    '--provider',
    'exec',
    '-o',
    'command=cat',
    '--context',
    'last:1',
  ])
  expect([without.exit, without.stderr]).toEqual([
    2,
    expect.stringContaining('gets no conversation without --option history=on'),
  ])
  await house.spawn(
    'a',
    '--provider',
    'exec',
    '-o',
    'command=echo heard',
    '-o',
    'history=on',
    '--context',
    'last:1',
  )
  for (const each of ['one', 'two']) await house.ok('send', 'a', each)
  await house.ok('set', 'a', '--option', 'command=cat')
  const { stdout } = await house.ok('send', 'a', 'three')
  expect(stdout).toContain('User: two')
  expect(stdout).not.toContain('User: one')
  expect(stdout.trimEnd()).toMatch(/three$/)
  const off = await house.run(['set', 'a', '--option', 'history=off'])
  expect([off.exit, off.stderr]).toEqual([2, expect.stringContaining('history=on')])
})
