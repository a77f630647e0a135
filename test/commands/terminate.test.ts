/** `terminate` of an agent with children: refused, or the lowest first. A killed command can be run again. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sleep } from '../../src/clock.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { msOf, SHARES } from '../support/moments.js'
import { processesWith } from '../support/processes.js'

function operatorMail(house: House): string[] {
  try {
    return readdirSync(`${house.home}/operator/inbox`)
  } catch {
    return []
  }
}

async function states(house: House): Promise<Record<string, string>> {
  const { json } = await house.ok('list', '--all', '--json')
  return Object.fromEntries(json.agents.map(({ path, state }: Record<string, string>) => [path, state]))
}

describe.concurrent('terminate', () => {
  test('refuses a parent with living children with exit 13, and stops nothing', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const lead = await house.spawn('lead', ...gate.flags)
    const child = await house.spawn('child', '--parent', 'lead')
    const sender = house.start(['send', 'lead', 'one'])
    await gate.isReached()
    const refused = await house.run(['terminate', 'lead', '--json'])
    expect(refused.exit).toBe(13)
    expect(refused.json.error).toMatchObject({
      code: 'HAS_CHILDREN',
      message: 'lead has 1 living child: lead/child',
      hint: `terminate the children first, or all together: substrat terminate ${lead} --recursive`,
      children: [child],
    })
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: one\n' })
  })

  test('terminates a parent after its last child', async () => {
    const house = new House()
    await house.spawn('lead')
    await house.spawn('child', '--parent', 'lead')
    await house.ok('terminate', 'lead/child')
    expect((await house.ok('terminate', 'lead')).stdout).toBe('lead is terminated\n')
    expect(house.findings(true)).toEqual([])
  })

  test('--recursive terminates the lowest first, with one line each', async () => {
    const house = new House()
    await house.spawn('lead')
    await house.spawn('a', '--parent', 'lead')
    await house.spawn('b', '--parent', 'lead')
    await house.spawn('c', '--parent', 'lead/a')
    const { stdout } = await house.ok('terminate', 'lead', '--recursive', '--json')
    const lines = stdout.trim().split('\n')
    const agents = lines.map((line) => JSON.parse(line).agent)
    expect(agents.map(({ path, state }) => [path, state])).toEqual(
      ['lead/a/c', 'lead/a', 'lead/b', 'lead'].map((path) => [path, 'terminated']),
    )
    expect(house.findings(true)).toEqual([])
  })

  test('--recursive stops all their turns, also a turn that starts for the error of another', async () => {
    const house = new House()
    const gates = ['g0', 'g1', 'g2'].map((name) => new Gate(house, name))
    const paths = ['lead', 'lead/a', 'lead/a/b']
    const ids: string[] = []
    for (const [index, path] of paths.entries()) {
      const parent = path.split('/').slice(0, -1).join('/')
      const flags = [...(gates[index] as Gate).flags, ...(parent === '' ? [] : ['--parent', parent])]
      ids.push(await house.spawn(path.split('/').at(-1) as string, ...flags))
    }
    const senders = paths.map((path) => house.start(['send', path, 'one', '--json']))
    await Promise.all(gates.map((gate) => gate.isReached()))
    expect((await house.ok('terminate', 'lead', '--recursive')).stdout.trim().split('\n')).toHaveLength(3)
    for (const sender of senders) expect((await sender.result).exit).toBe(14)
    for (const id of ids) {
      expect(house.count(id, 'run.cancelled')).toBe(house.count(id, 'run.started'))
      expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    }
    expect(readdirSync(`${house.home}/unclean`)).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('sends the parent an error for a child in a turn, and runs the parent', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const lead = await house.spawn('lead')
    await house.spawn('child', '--parent', 'lead', ...gate.flags)
    const sender = house.start(['send', 'lead/child', 'one'])
    await gate.isReached()
    await house.ok('terminate', 'lead/child')
    expect((await sender.result).exit).toBe(14)
    const delivered = house.records(lead).filter(({ kind }) => kind === 'mail.delivered')
    expect(delivered).toMatchObject([{ mail_kind: 'error', from_path: 'lead/child' }])
    expect(house.count(lead, 'run.completed')).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('--no-drain leaves that turn to another command', async () => {
    const house = new House()
    const lead = await house.spawn('lead')
    await house.spawn('child', '--parent', 'lead')
    await house.ok('gate', 'lead/child')
    await house.ok('send', 'lead/child', 'one', '--from', 'lead', '--queue', '--no-drain')
    await house.ok('terminate', 'lead/child', '--no-drain')
    expect(house.inbox(lead)).toHaveLength(1)
    expect(house.count(lead, 'run.started')).toBe(0)
    await house.ok('recover', '--all')
    expect(house.count(lead, 'run.started')).toBe(1)
  })

  test('answers pending messages with an error, also those of the operator', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('suspend', 'a', '--hold')
    await house.ok('send', 'a', 'never taken', '--queue')
    await house.ok('terminate', 'a')
    expect(house.inbox(id)).toEqual([])
    expect(operatorMail(house)).toHaveLength(1)
    expect(house.findings(true)).toEqual([])
  })

  test('cancels reminders without an answer', async () => {
    const house = new House()
    const option = house.scenario('s.json', {
      tools: [{ name: 'remind_me', input: { content: 'look', delay_seconds: 3600 } }],
    })
    await house.spawn('a', '--option', option, '--allow', 'tree')
    await house.ok('send', 'a', 'one')
    expect(readdirSync(`${house.home}/unclean`)).toHaveLength(1)
    expect((await house.ok('show', 'a')).stdout).toMatch(/^reminders +\S+ \S+: look$/m)
    await house.ok('terminate', 'a')
    expect(readdirSync(`${house.home}/unclean`)).toEqual([])
  })

  test('killed at any moment and run again, leaves no orphan, and acknowledges only completed steps', async () => {
    const first = new House()
    await first.spawn('lead')
    for (const name of ['a', 'b']) await first.spawn(name, '--parent', 'lead')
    await first.spawn('c', '--parent', 'lead/a')
    const takesMs = await msOf(first.copy(), 'terminate', 'lead', '--recursive')
    for (const share of SHARES) {
      const house = first.copy()
      const command = house.start(['terminate', 'lead', '--recursive'])
      await sleep(share * takesMs)
      const { stdout } = await command.kill()
      const after = await states(house)
      for (const line of stdout.split('\n').filter(Boolean))
        expect(after[line.replace(' is terminated', '')]).toBe('terminated')
      expect(house.findings(), `killed after ${share} of it`).toEqual([])
      const again = await house.ok('terminate', 'lead', '--recursive')
      expect(again.stdout).toContain('lead is terminated\n')
      expect(Object.values(await states(house))).toEqual(Array(4).fill('terminated'))
      await house.ok('recover', '--all')
      expect(house.findings(true)).toEqual([])
    }
  })
})
