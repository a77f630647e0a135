/** Agents that move: `export --move`, `import` of a move, `import --reclaim`. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importAgents } from '../../src/operations/transfer/import.js'
import { FileStore } from '../../src/storage/file-store.js'
import { House } from '../support/cli.js'
import { contextAt } from '../support/contexts.js'
import { withFaults } from '../support/faults.js'
import { NativeHouse } from '../support/native.js'
import { clearFaults } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'

async function moved(house: House, agent = 'notes', ...flags: string[]): Promise<string> {
  const file = join(tempDirectory(), 'notes.bundle')
  await house.ok('export', agent, '--bundle', file, '--move', ...flags)
  return file
}

async function houseWithNotes(): Promise<House> {
  const house = new House()
  await house.spawn('notes')
  await house.ok('send', 'notes', 'first question', '--key', 'k1')
  return house
}

/** An agent whose turn waits for approval of a command. */
async function houseThatWaits(): Promise<House> {
  const house = new House()
  const option = house.scenario(
    's.json',
    { tools: [{ name: 'shell', input: { command: 'true' } }] },
    { say: 'done' },
  )
  await house.spawn('notes', '--option', option)
  expect((await house.run(['send', 'notes', 'go'])).exit).toBe(5)
  return house
}

describe('an agent that moves', () => {
  test('keeps its id, conversation, keys and pending mail', async () => {
    const from = await houseWithNotes()
    const { json: before } = await from.ok('show', 'notes', '--json')
    await from.ok('send', 'notes', '--queue', '--no-drain', 'second question')
    const to = new House()
    const { json } = await to.ok('import', '--trust', await moved(from), '--json')
    expect(json).toMatchObject({ created: 1, agents: [{ id: before.agent.id, name: 'notes', inbox: 1 }] })
    expect((await to.ok('send', 'notes', 'first question', '--key', 'k1')).stdout).toBe(
      'echo: first question\n',
    )
    await to.ok('deliver', 'notes')
    const contents = (await to.ok('export', 'notes', '--json')).json.messages.map(
      ({ content }: { content: string }) => content,
    )
    expect(contents).toEqual([
      'first question',
      'echo: first question',
      'second question',
      'echo: second question',
    ])
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    expect((await from.ok('doctor', '--all')).exit).toBe(0)
  })

  test('keeps its wait: the decision continues the turn in its new home, and is refused in the old one', async () => {
    const from = await houseThatWaits()
    const file = await moved(from)
    const to = new House()
    expect((await to.ok('import', '--trust', file, '--json')).json.agents).toMatchObject([
      { status: 'waiting' },
    ])
    expect(await from.run(['approve', 'notes'])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining(`was moved to ${file}`),
    })
    expect((await to.ok('approve', 'notes')).stdout).toBe('done\n')
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    expect((await from.ok('doctor', '--all')).exit).toBe(0)
  })

  test.each([
    ['send', 'notes', 'hi'],
    ['send', 'notes', '--queue', 'hi'],
    ['resume', 'notes'],
    ['retry', 'notes'],
    ['suspend', 'notes'],
    ['set', 'notes', '--title', 'x'],
    ['gate', 'notes'],
    ['spawn', '--parent', 'notes'],
  ])('refuses in its old home, with where it went: %s', async (...args) => {
    const house = await houseWithNotes()
    const file = await moved(house)
    const refused = await house.run(args)
    expect([refused.exit, refused.stderr]).toEqual([13, expect.stringContaining(`was moved to ${file}`)])
  })

  test('is shown in its old home as moved, and needs no recovery there', async () => {
    const house = await houseWithNotes()
    const file = await moved(house)
    expect((await house.ok('show', 'notes', '--json')).json.agent).toMatchObject({
      state: 'terminated',
      moved_to: file,
    })
    expect((await house.ok('list')).stdout).toContain('no agents')
    expect((await house.ok('list', '--all')).stdout).toMatch(/notes .* moved /)
    expect((await house.ok('log', 'notes')).stdout).toContain(`moved to ${file}`)
    expect((await house.ok('recover', '--all')).exit).toBe(0)
    expect((await house.ok('doctor', '--all')).exit).toBe(0)
    await house.spawn('notes')
  })

  test('keeps every byte of its log, and so do those below it', async () => {
    const from = await houseWithNotes()
    await from.spawn('below', '--parent', 'notes')
    const to = new House()
    await to.ok('import', '--trust', await moved(from, 'notes', '--tree'))
    const { agents } = (await to.ok('list', '--json')).json
    expect(agents).toHaveLength(2)
    for (const { id } of agents) {
      const [before, after] = [from, to].map(({ home }) =>
        readFileSync(join(home, 'agents', id, 'events.jsonl')),
      )
      expect(after?.subarray(0, before?.length).equals(before as Buffer)).toBe(true)
    }
  })

  test('is in the same bundle again if the command is repeated', async () => {
    const house = await houseWithNotes()
    const file = await moved(house)
    const bundle = readFileSync(file)
    writeFileSync(file, 'lost')
    const again = await house.ok('export', 'notes', '--bundle', file, '--move')
    expect(again.stdout).toContain('an earlier command has moved 1 agent')
    expect(readFileSync(file)).toEqual(bundle)
  })

  test('answers the requests of agents that stay with where it went', async () => {
    const house = await houseThatWaits()
    const lead = await house.spawn('lead')
    const option = house.scenario('t.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await house.spawn('kid', '--parent', 'lead', '--option', option)
    await house.ok('send', 'lead/kid', '--from', 'lead', '--no-drain', 'in its turn')
    expect((await house.run(['deliver', 'lead/kid'])).exit).toBe(5)
    await house.ok('send', 'lead/kid', '--from', 'lead', '--no-drain', 'in its inbox')
    const file = await moved(house, 'lead/kid')
    const pending = (await house.ok('inbox', 'lead', '--json')).json.messages
    const errors = JSON.stringify(pending)
    expect(errors).toContain(`lead/kid was moved to ${file} before it answered this request.`)
    expect(errors).toContain(`lead/kid was moved to ${file} before it received this request: in its inbox`)
    const to = new House()
    const { json } = await to.ok('import', '--trust', file, '--json')
    expect(json.agents).toMatchObject([{ path: 'kid', parent: null, inbox: 0, status: 'waiting' }])
    await to.ok('approve', 'kid')
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    expect((await house.ok('show', lead, '--json')).json.agent.state).not.toBe('terminated')
    expect((await house.ok('doctor', '--all')).exit).toBe(0)
  })

  test('does not leave its children behind', async () => {
    const house = await houseWithNotes()
    await house.spawn('kid', '--parent', 'notes')
    const refused = await house.run(['export', 'notes', '--bundle', join(tempDirectory(), 'b'), '--move'])
    expect(refused).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('children that would stay: notes/kid'),
    })
    const to = new House()
    const { json } = await to.ok(
      'import',
      '--trust',
      await moved(house, 'notes', '--tree'),
      '--name',
      'other',
      '--json',
    )
    expect(json.agents.map(({ path }: { path: string }) => path)).toEqual(['other', 'other/kid'])
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
  })

  test('begins a new session of its agent program, with the conversation, and says so', async () => {
    const from = new NativeHouse()
    await from.spawn('notes', '--provider', 'native')
    await from.ok('send', 'notes', 'remember seven')
    const to = new NativeHouse()
    const arrived = await to.ok('import', '--trust', await moved(from))
    expect(arrived.stderr).toContain('the session of native stays in the other home')
    await to.ok('send', 'notes', 'which number?')
    const [first, second] = from.told() as { session: string; prompt: string }[]
    expect(second?.session).not.toBe(first?.session)
    expect(second?.prompt).toContain('remember seven')
  })

  test('needs a file, not stdout', async () => {
    const house = await houseWithNotes()
    expect(await house.run(['export', 'notes', '--bundle', '-', '--move'])).toMatchObject({ exit: 2 })
    expect((await house.ok('send', 'notes', 'hi')).stdout).toBe('echo: hi\n')
  })
})

describe('a home has an agent once', () => {
  test('also if its move is imported twice, under another name or after its end', async () => {
    const file = await moved(await houseWithNotes())
    const to = new House()
    const [first] = (await to.ok('import', '--trust', file, '--json')).json.agents
    for (const flags of [[], ['--name', 'other']])
      expect(await to.run(['import', '--trust', file, ...flags])).toMatchObject({
        exit: 13,
        stderr: expect.stringContaining('already ended in this home'),
      })
    expect((await to.ok('import', '--trust', file, '--if-exists', 'use')).stdout).toBe(`${first.id}\n`)
    await to.ok('terminate', 'notes')
    expect((await to.run(['import', '--trust', file])).exit).toBe(13)
    expect((await to.ok('list', '--all', '--json')).json.agents).toHaveLength(1)
  })

  test('also if its own bundle comes back', async () => {
    const house = await houseWithNotes()
    const copy = house.copy()
    const file = await moved(house)
    expect(await house.run(['import', '--trust', file])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('--reclaim'),
    })
    expect(await copy.run(['import', '--trust', file])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('lives in this home'),
    })
  })

  test('also after it was there and back', async () => {
    const here = await houseWithNotes()
    const there = new House()
    const out = await moved(here)
    await there.ok('import', '--trust', out)
    await there.ok('send', 'notes', 'there')
    const back = await moved(there)
    await here.ok('import', '--trust', back)
    expect((await here.ok('send', 'notes', 'here')).stdout).toBe('echo: here\n')
    for (const file of [out, back]) expect((await here.run(['import', '--trust', file])).exit).toBe(13)
    expect((await here.ok('doctor', '--all')).exit).toBe(0)
    await there.ok('import', '--trust', await moved(here))
    expect((await there.ok('export', 'notes')).stdout).toContain('echo: here')
    expect((await there.ok('doctor', '--all')).exit).toBe(0)
    expect((await there.run(['import', '--trust', back])).exit).toBe(13)
  })

  test.each([
    ['remove', 'notes'],
    ['prune', '--older-than', '1ms'],
  ])('also if it came and then left by %s', async (...words) => {
    const from = await houseWithNotes()
    const file = await moved(from)
    const to = new House()
    await to.ok('import', '--trust', file)
    await to.ok('terminate', 'notes')
    await to.ok(...words)
    for (const flags of [[], ['--if-exists', 'use'], ['--hold'], ['--name', 'other']])
      expect(await to.run(['import', '--trust', file, ...flags])).toMatchObject({
        exit: 13,
        stderr: expect.stringMatching(/already ended in this home: (notes|other) .* was removed since/),
      })
    expect((await to.ok('list', '--all', '--json')).json.agents).toEqual([])
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    await from.ok('import', '--reclaim', 'notes')
    await to.ok('import', '--trust', await moved(from))
    expect((await to.ok('send', 'notes', 'again')).stdout).toBe('echo: again\n')
    expect((await to.run(['import', '--trust', file])).exit).toBe(13)
  })

  test('also if it came with a tree and was removed from it', async () => {
    const from = await houseWithNotes()
    await from.spawn('below', '--parent', 'notes')
    const file = await moved(from, 'notes', '--tree')
    const to = new House()
    const [top] = (await to.ok('import', '--trust', file, '--json')).json.agents
    await to.ok('terminate', 'notes/below')
    await to.ok('remove', 'notes/below')
    expect((await to.run(['import', '--trust', file])).stderr).toContain('already ended in this home')
    expect((await to.ok('import', '--trust', file, '--if-exists', 'use')).stdout).toBe(`${top.id}\n`)
    expect((await to.ok('list', '--all', '--json')).json.agents).toHaveLength(1)
  })

  test('also if a bundle does not follow from its latest move', async () => {
    const here = await houseWithNotes()
    const there = new House()
    await there.ok('import', '--trust', await moved(here))
    await here.ok('import', '--reclaim', 'notes')
    const rival = await moved(there)
    await moved(here)
    expect(await here.run(['import', '--trust', rival])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('this bundle is not from there'),
    })
  })

  test('but its move can begin again if the held agent was removed', async () => {
    const file = await moved(await houseWithNotes())
    const to = new House()
    await to.ok('import', '--trust', file, '--hold')
    await to.ok('remove', 'notes')
    await to.ok('import', '--trust', file)
    expect((await to.ok('send', 'notes', 'hi')).stdout).toBe('echo: hi\n')
  })

  test('and opens it only when a held import is completed', async () => {
    const file = await moved(await houseThatWaits())
    const to = new House()
    await to.ok('import', '--trust', file, '--hold')
    for (const args of [
      ['send', 'notes', 'hi'],
      ['approve', 'notes'],
      ['resume', 'notes'],
    ])
      expect((await to.run(args)).exit).toBe(13)
    expect(await to.run(['import', '--reclaim', 'notes'])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('has not arrived'),
    })
    await to.ok('recover', '--all')
    await to.ok('import', '--trust', file)
    expect((await to.ok('approve', 'notes')).stdout).toBe('done\n')
  })
})

describe('two imports at once', () => {
  /** All commands run at the same time, as processes. */
  async function atOnce(house: House, ...commands: string[][]) {
    return Promise.all(commands.map((args) => house.start(args).result))
  }

  async function withTree(): Promise<House> {
    const house = await houseWithNotes()
    await house.spawn('below', '--parent', 'notes')
    await house.ok('send', 'notes/below', '--queue', '--no-drain', 'pending')
    return house
  }

  const ROUNDS = Number(process.env.RACES ?? 3)

  test('leave each agent of a move once, with its mail', async () => {
    const file = await moved(await withTree(), 'notes', '--tree')
    for (let round = 0; round < ROUNDS; round++) {
      const to = new House()
      const ends = await atOnce(to, ['import', '--trust', file], ['import', '--trust', file])
      for (const { exit, stderr } of ends.filter((end) => end.exit !== 0))
        expect([exit, stderr]).toEqual([
          expect.any(Number),
          expect.stringMatching(/at the same time|already ended/),
        ])
      await to.ok('import', '--trust', file, '--if-exists', 'use')
      const { agents } = (await to.ok('list', '--json')).json
      expect(agents.map(({ path, inbox }: { path: string; inbox: number }) => [path, inbox]).sort()).toEqual([
        ['notes', 0],
        ['notes/below', 1],
      ])
      expect((await to.ok('doctor', '--all')).exit).toBe(0)
      await to.ok('deliver', '--all')
      expect(to.count(agents[1].id, 'run.completed') + to.count(agents[0].id, 'run.completed')).toBe(2)
    }
  })

  test('create each copy of a bundle once, also without a name', async () => {
    const from = await withTree()
    const [named, unnamed] = ['named', 'unnamed'].map((name) => join(tempDirectory(), name)) as [
      string,
      string,
    ]
    const { stdout: id } = await from.ok('spawn')
    await from.ok('export', 'notes', '--bundle', named, '--tree')
    await from.ok('export', id.trim(), '--bundle', unnamed)
    for (let round = 0; round < ROUNDS; round++) {
      const to = new House()
      const commands = [named, named, unnamed, unnamed].map((file) => ['import', '--trust', file])
      for (const { exit, stderr } of await atOnce(to, ...commands))
        if (exit !== 0) expect([exit, stderr]).toEqual([4, expect.stringContaining('at the same time')])
      for (const file of [named, unnamed]) await to.ok('import', '--trust', file)
      expect((await to.ok('list', '--json')).json.agents).toHaveLength(3)
      expect((await to.ok('doctor', '--all')).exit).toBe(0)
    }
  })

  test('and a spawn that takes the name leave one agent with the name', async () => {
    const file = await moved(await houseWithNotes())
    for (let round = 0; round < ROUNDS; round++) {
      const to = new House()
      const ends = await atOnce(to, ['import', '--trust', file], ['spawn', '--name', 'notes'])
      expect(ends.map(({ exit }) => exit).sort()).toEqual([0, 13])
      expect((await to.ok('list', '--json')).json.agents).toMatchObject([{ name: 'notes' }])
      expect((await to.ok('doctor', '--all')).exit).toBe(0)
      const isImported = ends[0]?.exit === 0
      expect((await to.run(['import', '--trust', file, '--name', 'other'])).exit).toBe(isImported ? 13 : 0)
    }
  })

  test('do not replace the log of an agent that the other one has opened', async () => {
    const here = await houseWithNotes()
    const there = new House()
    await there.ok('import', '--trust', await moved(here))
    const back = await moved(there)
    const lock = join(here.home, 'agents', readdirSync(join(here.home, 'agents'))[0] as string, 'lock')
    let other: number | null | undefined
    withFaults(({ point, path }) => {
      if (other !== undefined || point !== 'lock.open' || path !== lock) return undefined
      other = null
      const [program, ...args] = here.command('import', '--trust', back)
      other = spawnSync(program, args, { env: here.env, cwd: here.workspace }).status
      const [sender, ...words] = here.command('send', 'notes', 'after the move')
      spawnSync(sender, words, { env: here.env, cwd: here.workspace })
      return undefined
    })
    const { ctx } = contextAt(FileStore.openForWrite(here.home), { bounds: { waitMs: 50 } })
    const late = importAgents(ctx, { bundle: readFileSync(back), name: null, workspace: null })
    await expect(late).rejects.toMatchObject({ code: 'LOCKED' })
    clearFaults()
    expect(other).toBe(0)
    expect((await here.ok('export', 'notes')).stdout).toContain('echo: after the move')
  })
})

describe('import --reclaim', () => {
  test.each(['file', 'agent'])('takes a moved agent back with its mail, by its %s', async (by) => {
    const house = await houseWithNotes()
    await house.ok('send', 'notes', '--queue', '--no-drain', 'pending')
    const file = await moved(house)
    await house.ok('import', '--reclaim', by === 'file' ? file : 'notes')
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([{ name: 'notes', inbox: 1 }])
    await house.ok('deliver', 'notes')
    expect((await house.ok('import', '--reclaim', 'notes')).stderr).toContain('is in this home already')
    expect((await house.run(['import', '--trust', file])).exit).toBe(13)
    expect((await house.ok('doctor', '--all')).exit).toBe(0)
    const to = new House()
    await to.ok('import', '--trust', await moved(house))
    expect((await to.ok('send', 'notes', 'hi')).stdout).toBe('echo: hi\n')
  })

  test('refuses what did not move, a copy, the bundle of an earlier move, and a name that is taken', async () => {
    const house = await houseWithNotes()
    expect((await house.run(['import', '--reclaim', 'notes'])).stderr).toContain('did not move')
    const copy = join(tempDirectory(), 'copy')
    await house.ok('export', 'notes', '--bundle', copy)
    expect((await house.run(['import', '--reclaim', copy])).stderr).toContain('do not move')
    const early = await moved(house)
    await house.ok('import', '--reclaim', early)
    const late = await moved(house)
    expect((await house.run(['import', '--reclaim', early])).stderr).toContain('a later move')
    await house.spawn('notes')
    expect(await house.run(['import', '--reclaim', late])).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('is taken by agent'),
    })
    await house.ok('terminate', 'notes')
    await house.ok('import', '--reclaim', late)
    expect((await house.ok('doctor', '--all')).exit).toBe(0)
  })
})
