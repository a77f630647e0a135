/** `remove` and `prune` delete terminated agents without pending answers and without children. */
import { existsSync, mkdirSync, readdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sleep } from '../../src/clock.js'
import { House } from '../support/cli.js'
import { msOf, SHARES } from '../support/moments.js'

function agentsOf(house: House): string[] {
  return readdirSync(`${house.home}/agents`)
}

/** `lead` with `a` (and `b` below it), all terminated. */
async function ended(house: House): Promise<{ lead: string; a: string; b: string }> {
  const lead = await house.spawn('lead')
  const a = await house.spawn('a', '--parent', 'lead')
  const b = await house.spawn('b', '--parent', 'lead/a')
  await house.ok('terminate', 'lead', '--recursive')
  return { lead, a, b }
}

describe.concurrent('remove', () => {
  test('removes a terminated agent with its log, its marker and its name', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    await house.ok('terminate', 'a')
    const { json } = await house.ok('remove', 'a', '--json')
    expect(json).toMatchObject({ agent: { id, path: 'a', state: 'terminated' } })
    expect(agentsOf(house)).toEqual([])
    expect(readdirSync(`${house.home}/unclean`)).toEqual([])
    expect(readdirSync(`${house.home}/roots`).sort()).toEqual(['complete', 'lock'])
    expect((await house.run(['show', id])).exit).toBe(3)
    expect((await house.run(['remove', id])).exit).toBe(3)
  })

  test('is refused for a living agent', async () => {
    const house = new House()
    await house.spawn('a')
    const refused = await house.run(['remove', 'a', '--json'])
    expect(refused.exit).toBe(13)
    expect(refused.json.error).toMatchObject({
      code: 'SESSION_STATE',
      message: 'a was not removed: it is not terminated',
      hint: 'substrat terminate a',
    })
    expect((await house.ok('send', 'a', 'hi')).stdout).toBe('echo: hi\n')
  })

  test('removes an agent with terminated children only with --recursive, the lowest first', async () => {
    const house = new House()
    const { lead } = await ended(house)
    const refused = await house.run(['remove', lead])
    expect(refused).toMatchObject({ exit: 13, stdout: '' })
    expect(refused.stderr).toContain('lead was not removed: it has the child lead/a')
    expect((await house.ok('remove', lead, '--recursive')).stdout).toBe(
      'lead/a/b is removed\nlead/a is removed\nlead is removed\n',
    )
    expect(agentsOf(house)).toEqual([])
  })

  test('is refused for an agent whose terminated child has lost its name to another agent', async () => {
    const house = new House()
    const lead = await house.spawn('lead')
    await house.spawn('a', '--parent', 'lead')
    await house.ok('terminate', 'lead/a')
    const second = await house.spawn('a', '--parent', 'lead')
    await house.ok('terminate', 'lead', '--recursive')
    await house.ok('remove', second)
    expect((await house.run(['remove', lead])).exit).toBe(13)
    await house.ok('remove', lead, '--recursive')
    expect(agentsOf(house)).toEqual([])
  })

  test('--recursive removes nothing if one of the agents is living', async () => {
    const house = new House()
    await house.spawn('lead')
    const a = await house.spawn('a', '--parent', 'lead')
    await house.spawn('b', '--parent', 'lead')
    await house.ok('terminate', 'lead/b')
    expect((await house.run(['remove', 'lead', '--recursive'])).exit).toBe(13)
    expect(agentsOf(house)).toHaveLength(3)
    await house.ok('terminate', a)
    expect((await house.ok('remove', a)).stdout).toBe('lead/a is removed\n')
    expect(house.findings(true)).toEqual([])
  })

  test('sends the answers that a dead process left pending first', async () => {
    const house = new House()
    const a = await house.spawn('a')
    await house.ok('suspend', 'a', '--hold')
    await house.ok('send', 'a', 'never taken', '--queue')
    // Its process was killed between the record of its end and the answers to pending mail.
    const [file = ''] = house.inbox(a)
    const aside = `${house.root}/${file}`
    renameSync(house.agentFile(a, `inbox/${file}`), aside)
    await house.ok('terminate', 'a')
    renameSync(aside, house.agentFile(a, `inbox/${file}`))
    house.mark(a)
    await house.ok('remove', 'a')
    expect(readdirSync(`${house.home}/operator/inbox`)).toHaveLength(1)
  })

  test('is refused for an agent with a damaged message in its inbox, and names the file', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('terminate', 'a')
    const name = 'inbox/00000000-0000-4000-8000-000000000000.json'
    writeFileSync(house.agentFile(id, name), 'half a mess')
    const refused = await house.run(['remove', 'a'])
    expect(refused.exit).toBe(13)
    expect(refused.stderr).toContain(`a message is still in its inbox: ${house.agentFile(id, name)}`)
    expect(existsSync(house.agentFile(id, 'events.jsonl'))).toBe(true)
  })

  test('killed at any moment, leaves each agent complete or gone, and nothing after recover', async () => {
    const first = new House()
    const { lead } = await ended(first)
    const takesMs = await msOf(first.copy(), 'remove', lead, '--recursive')
    for (const share of SHARES) {
      const house = first.copy()
      const command = house.start(['remove', lead, '--recursive'])
      await sleep(share * takesMs)
      await command.kill()
      expect(house.findings(), `killed after ${share} of it`).toEqual([])
      const again = await house.run(['remove', lead, '--recursive'])
      expect([0, 3], again.stderr).toContain(again.exit)
      await house.ok('recover', '--all')
      expect(agentsOf(house)).toEqual([])
      expect(readdirSync(`${house.home}/unclean`)).toEqual([])
    }
  })

  test('recover removes the rest of an agent whose removal was killed', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('terminate', 'a')
    renameSync(`${house.home}/agents/${id}`, `${house.home}/agents/.removed-${id}`)
    house.mark(id)
    expect((await house.ok('list', '--all', '--json')).json.agents).toEqual([])
    await house.ok('recover', '--all')
    expect(agentsOf(house)).toEqual([])
    expect(readdirSync(`${house.home}/unclean`)).toEqual([])
  })
})

describe.concurrent('prune', () => {
  test('and remove at the same time remove each agent once, and neither fails', async () => {
    const house = new House()
    for (let round = 0; round < 4; round++) {
      const { lead } = await ended(house)
      const [remove, ...prunes] = await Promise.all([
        house.run(['remove', lead, '--recursive']),
        house.run(['prune', '--older-than', '0s']),
        house.run(['prune', '--older-than', '0s']),
      ])
      expect([0, 3], remove.stderr).toContain(remove.exit)
      for (const { exit, stderr } of prunes) expect(exit, stderr).toBe(0)
      await house.ok('prune', '--older-than', '0s')
      expect(agentsOf(house)).toEqual([])
    }
  })

  test('removes agents terminated before the age, the lowest first; --dry-run only lists them', async () => {
    const house = new House()
    await ended(house)
    await house.spawn('alive')
    const { json } = await house.ok('prune', '--older-than', '0s', '--dry-run', '--json')
    expect(json).toMatchObject({ dry_run: true, kept: [], messages: 0 })
    expect(json.removed.map(({ path }: { path: string }) => path)).toEqual(['lead/a/b', 'lead/a', 'lead'])
    expect(agentsOf(house)).toHaveLength(4)
    const { stdout } = await house.ok('prune', '--older-than', '0s')
    expect(stdout).toBe('lead/a/b is removed\nlead/a is removed\nlead is removed\n')
    expect(agentsOf(house)).toHaveLength(1)
    expect((await house.ok('prune', '--older-than', '0s')).stdout).toBe('nothing is old enough to remove\n')
    expect(house.findings(true)).toEqual([])
  })

  test('keeps agents terminated later, and their parents', async () => {
    const house = new House()
    await ended(house)
    expect((await house.ok('prune', '--older-than', '30d')).stdout).toBe('nothing is old enough to remove\n')
    expect(agentsOf(house)).toHaveLength(3)
  })

  test('keeps the parent of an agent that stays, and gives the reason', async () => {
    const house = new House()
    const { b } = await ended(house)
    const file = house.agentFile(b, 'inbox/00000000-0000-4000-8000-000000000000.json')
    writeFileSync(file, 'half a mess')
    const { json } = await house.ok('prune', '--older-than', '0s', '--json')
    expect(json.removed).toEqual([])
    expect(json.kept.map(({ path }: { path: string }) => path)).toEqual(['lead/a/b', 'lead/a', 'lead'])
    expect(json.kept[0].why).toContain(file)
    expect(json.kept[1].why).toBe('it has the child lead/a/b')
  })

  test('removes messages that the operator took before the age', async () => {
    const house = new House()
    await house.spawn('a')
    const taken = `${house.home}/operator/taken`
    mkdirSync(taken, { recursive: true })
    const [old, fresh] = ['0', '1'].map((n) => `${taken}/${n}0000000-0000-4000-8000-000000000000.json`)
    for (const file of [old, fresh]) writeFileSync(file as string, '{}')
    const longAgo = Date.now() / 1000 - 40 * 24 * 3600
    utimesSync(old as string, longAgo, longAgo)
    expect((await house.ok('prune', '--older-than', '30d', '--dry-run')).stdout).toBe(
      '1 delivered message would be removed\n',
    )
    expect((await house.ok('prune', '--older-than', '30d', '--json')).json.messages).toBe(1)
    expect(readdirSync(taken)).toEqual(['10000000-0000-4000-8000-000000000000.json'])
  })

  test('keeps messages that an interrupted turn may send again', async () => {
    const house = new House()
    const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await house.spawn('a', '--option', option)
    expect((await house.run(['send', 'a', 'one'])).exit).toBe(5)
    const taken = `${house.home}/operator/taken`
    mkdirSync(taken, { recursive: true })
    const name = '00000000-0000-4000-8000-000000000000.json'
    writeFileSync(`${taken}/${name}`, '{}')
    expect((await house.ok('prune', '--older-than', '0s', '--json')).json.messages).toBe(0)
    await house.ok('cancel', 'a')
    expect((await house.ok('prune', '--older-than', '0s', '--json')).json.messages).toBe(1)
  })

  test('needs --older-than', async () => {
    const house = new House()
    for (const args of [[], ['--older-than', 'old'], ['--older-than', '30']])
      expect((await house.run(['prune', ...args])).exit).toBe(2)
    expect(house.exists()).toBe(false)
  })
})
