/** `tree`: parents and children, and forged files on disk, which it reports and which affect no other agent. */
import { randomUUID } from 'node:crypto'
import { readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { TreeNode } from '../../src/schema/output-overview.js'
import { House } from '../support/cli.js'
import { forgeCreated } from '../support/forge.js'
import { Gate } from '../support/gate.js'

const first = new House()
const ids = { lead: '', tests: '', a: '', docs: '', solo: '' }

/** `lead` with `tests` (and `a` below it) and `docs`; `solo`. Each test has a copy. */
beforeAll(async () => {
  ids.lead = await first.spawn('lead')
  ids.tests = await first.spawn('tests', '--parent', 'lead')
  ids.docs = await first.spawn('docs', '--parent', 'lead')
  ids.a = await first.spawn('a', '--parent', 'lead/tests')
  ids.solo = await first.spawn('solo')
})

/** Every file of the home, with its size and modification time. */
function filesOf(home: string): string[] {
  return readdirSync(home, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const { size, mtimeMs } = statSync(path.join(home, name))
      return `${name} ${size} ${mtimeMs}`
    })
    .sort()
}

function drawn(ids: string[], ...lines: string[]): string {
  const [first = ''] = lines
  return `${[first, ...lines.slice(1)].join('\n')}\n`.replace(/#(\d)/g, (_, n) =>
    (ids[n] as string).slice(0, 8),
  )
}

/** `lead(tests(a) docs) solo` */
function outline(nodes: TreeNode[]): string {
  return nodes
    .map(({ name, children }) => (children.length === 0 ? name : `${name}(${outline(children)})`))
    .join(' ')
}

describe.concurrent('tree', () => {
  test('draws children below their parents, in the order of creation, with their status', async () => {
    const house = first.copy()
    await house.ok('gate', 'lead/docs')
    await house.ok('send', 'lead/docs', 'one', '--queue', '--no-drain')
    await house.ok('suspend', 'solo', '--hold')
    const { stdout } = await house.ok('tree')
    expect(stdout).toBe(
      drawn(
        [ids.lead, ids.tests, ids.a, ids.docs, ids.solo],
        'AGENT     ID        STATUS  INBOX',
        'lead      #0  idle    0',
        '├─ tests  #1  idle    0',
        '│  └─ a   #2  idle    0',
        '└─ docs   #3  gated   1',
        'solo      #4  held    0',
      ),
    )
  })

  test('with --json nests the children in the agents', async () => {
    const house = first.copy()
    const { json } = await house.ok('tree', '--json')
    expect(outline(json.agents)).toBe('lead(tests(a) docs) solo')
    const [lead] = json.agents
    expect(lead.children[0].children[0]).toMatchObject({
      id: ids.a,
      path: 'lead/tests/a',
      parent: ids.tests,
      status: 'idle',
      inbox: 0,
      gated: false,
      hold: false,
      reminders: 0,
      children: [],
    })
    expect(json.stray).toEqual([])
  })

  test('shows one agent and all agents below it; terminated ones only with --all', async () => {
    const house = first.copy()
    await house.ok('terminate', 'lead/tests', '--recursive')
    const [all, living, branch, whole] = await Promise.all([
      house.ok('tree', '--all', '--json'),
      house.ok('tree', '--json'),
      house.ok('tree', 'lead', '--json'),
      house.ok('tree', 'lead', '--all', '--json'),
    ])
    expect(outline(all.json.agents)).toBe('lead(tests(a) docs) solo')
    expect(outline(living.json.agents)).toBe('lead(docs) solo')
    expect(outline(branch.json.agents)).toBe('lead(docs)')
    expect(outline(whole.json.agents)).toBe('lead(tests(a) docs)')
    expect((await house.ok('tree', '--all')).stdout).toMatch(/^├─ tests +\S+ +terminated /m)
  })

  test('shows with --all also an agent whose name another agent has now', async () => {
    const house = first.copy()
    await house.ok('terminate', 'lead/docs')
    await house.spawn('docs', '--parent', 'lead')
    expect(outline((await house.ok('tree', 'lead', '--json')).json.agents)).toBe('lead(tests(a) docs)')
    expect(outline((await house.ok('tree', 'lead', '--all', '--json')).json.agents)).toBe(
      'lead(tests(a) docs docs)',
    )
  })

  test('reports that there are no agents, and creates no home', async () => {
    const house = new House()
    expect((await house.ok('tree')).stdout).toBe('no agents yet (create one: substrat spawn)\n')
    expect((await house.ok('tree', '--json')).json).toEqual({ agents: [], stray: [] })
    expect(house.exists()).toBe(false)
    expect((await house.run(['tree', 'nobody'])).exit).toBe(3)
  })

  test('takes no lock and changes nothing', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('busy', ...gate.flags)
    await house.spawn('child', '--parent', 'busy')
    const sender = house.start(['send', 'busy', 'one'])
    await gate.isReached()
    const before = filesOf(house.home)
    expect((await house.ok('tree')).stdout).toMatch(/^busy +\S+ +running/m)
    await house.ok('tree', 'busy', '--all', '--json')
    expect(filesOf(house.home)).toEqual(before)
    gate.open()
    await sender.result
  })

  test('finds the children of a parent whose index was deleted', async () => {
    const house = first.copy()
    const { lead } = ids
    rmSync(house.agentFile(lead, 'children'), { recursive: true })
    expect(outline((await house.ok('tree', 'lead', '--json')).json.agents)).toBe('lead(tests(a) docs)')
  })
})

describe.concurrent('a forged parent or log', () => {
  test('a missing parent: the agent is listed separately with the reason, exit 10', async () => {
    const house = first.copy()
    const { tests } = ids
    const nobody = randomUUID()
    forgeCreated(house, tests, { parent: nobody })
    const program = await house.run(['tree', '--json'])
    expect(program.exit).toBe(10)
    expect(outline(program.json.agents)).toBe('lead(docs) solo')
    expect(outline(program.json.stray)).toBe('tests(a)')
    expect(program.json.stray[0]).toMatchObject({ id: tests, why: `its parent ${nobody} does not exist` })
    const person = await house.run(['tree'])
    expect(person.exit).toBe(10)
    expect(person.stdout).toContain(`not in the tree:\ntests: its parent ${nobody} does not exist\n\n`)
    expect(person.stdout).toMatch(/^└─ a /m)
    expect(person.stderr).toMatch(/^substrat: 1 agent has no place in the tree: .*\n$/)
    // The other agents still run.
    expect((await house.ok('send', 'lead/docs', 'hi')).stdout).toBe('echo: hi\n')
    expect((await house.run(['tree', 'lead'])).exit).toBe(0)
    expect((await house.run(['tree', tests])).exit).toBe(10)
    expect(house.findings().map(({ agent_id }) => agent_id)).toContain(tests)
  })

  test('a cycle: each agent is shown once, no command loops, and the agents can be removed', async () => {
    const house = first.copy()
    const { lead, tests, a } = ids
    forgeCreated(house, lead, { parent: a, path: 'x/lead' })
    const { exit, json } = await house.run(['tree', '--json'])
    expect(exit).toBe(10)
    expect(outline(json.agents)).toBe('solo')
    expect(json.stray.map(({ id }: TreeNode) => id).sort()).toEqual([lead, tests, a].sort())
    expect(outline(json.stray.filter(({ id }: TreeNode) => id === lead))).toBe('lead(docs)')
    for (const { why } of json.stray) expect(why).toBe('its ancestors form a cycle')
    expect((await house.run(['tree', lead, '--json'])).exit).toBe(10)
    expect((await house.run(['terminate', lead])).exit).toBe(13)
    expect((await house.run(['cancel', lead, '--recursive'])).exit).toBe(0)
    expect((await house.ok('send', 'solo', 'hi')).stdout).toBe('echo: hi\n')
    expect(house.findings().filter(({ invariant }) => invariant.includes('parent exists'))).toHaveLength(3)
    // Without an index, each agent is found below the other without end, so none is the lowest.
    const scanned = house.copy()
    rmSync(scanned.agentFile(a, 'children'), { recursive: true })
    expect((await scanned.run(['terminate', lead, '--recursive'])).exit).toBe(13)
    // The remedy.
    await house.ok('terminate', lead, '--recursive')
    await house.ok('remove', lead, '--recursive')
    expect((await house.ok('tree', '--json')).json.stray).toEqual([])
  })

  test('an agent that is its own parent', async () => {
    const house = first.copy()
    const { solo } = ids
    forgeCreated(house, solo, { parent: solo, path: 'solo/solo' })
    const { exit, json } = await house.run(['tree', '--json'])
    expect([exit, outline(json.agents), outline(json.stray)]).toEqual([10, 'lead(tests(a) docs)', 'solo'])
  })

  test('an unreadable log: its children are shown below it', async () => {
    const house = first.copy()
    const { tests } = ids
    rmSync(house.agentFile(tests, 'session.json'))
    house.damage(tests, (log) => log.replace('session.created', 'session.creased'))
    const { exit, json, stderr } = await house.run(['tree', '--json'])
    expect(exit).toBe(10)
    expect(outline(json.agents)).toBe('lead(docs) solo')
    expect(json.stray).toMatchObject([
      { id: tests, status: 'corrupt', why: expect.stringContaining('events.jsonl is damaged') },
    ])
    expect(outline(json.stray[0].children)).toBe('a')
    expect(stderr).toContain('events.jsonl is damaged at byte 0')
  })

  test('a living agent below one that is terminated', async () => {
    const house = first.copy()
    const { docs, solo } = ids
    await house.ok('terminate', 'solo')
    forgeCreated(house, docs, { parent: solo, path: 'solo/docs' })
    const { exit, json } = await house.run(['tree', '--json'])
    expect([exit, outline(json.agents), outline(json.stray)]).toEqual([10, 'lead(tests(a))', 'docs'])
    expect(json.stray[0].why).toBe('it is alive, but its parent solo is terminated')
  })
})

test('a wide name does not move the columns beside it, also in a pipe', async () => {
  const house = new House()
  await house.spawn('報告')
  await house.spawn('notes')
  const [head = '', wide = '', narrow = ''] = (await house.ok('tree')).stdout.split('\n')
  // Two letters, each two columns wide.
  expect(wide.indexOf('idle')).toBe(head.indexOf('STATUS') - 2)
  expect(narrow.indexOf('idle')).toBe(head.indexOf('STATUS'))
})
