/** The CLI in a tool of an agent: SUBSTRAT_AGENT makes that agent the caller, and the rules of the tree hold for it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const house = new House()
const ids: Record<string, string> = {}

/** `lead` with `a` (and `deep` below it) and `b`; `other` is a root of its own. */
beforeAll(async () => {
  ids.lead = await house.spawn('lead')
  ids.a = await house.spawn('a', '--parent', 'lead')
  ids.b = await house.spawn('b', '--parent', 'lead')
  ids.deep = await house.spawn('deep', '--parent', 'lead/a')
  ids.other = await house.spawn('other')
})

function asAgent(name: string, ...args: string[]) {
  return house.run([...args, '--json'], { env: { SUBSTRAT_AGENT: ids[name] as string } })
}

describe('in a tool of an agent', () => {
  test.each([
    ['terminate', 'a', ['terminate', 'lead']],
    ['terminate itself', 'a', ['terminate', 'lead/a']],
    ['terminate a sibling', 'a', ['terminate', 'b']],
    ['remove', 'a', ['remove', 'other']],
    ['cancel a sibling', 'a', ['cancel', 'b']],
    ['cancel its parent', 'a', ['cancel', 'parent']],
    ['prune', 'lead', ['prune', '--older-than', '0s']],
    ['approve', 'lead', ['approve', 'a']],
    ['deny', 'lead', ['deny', 'a']],
    ['resume --token', 'lead', ['resume', 'a', '--token', 'st_x', '--approve']],
    ['token rotate', 'lead', ['token', 'rotate', 'a']],
    ['config set', 'lead', ['config', 'set', 'slots_max', '9']],
    ['gate a grandchild', 'lead', ['gate', 'lead/a/deep']],
    ['gate a sibling', 'a', ['gate', 'b']],
    ['gate itself', 'a', ['gate', 'lead/a']],
    ['ungate another root', 'lead', ['ungate', 'other']],
  ])('%s is refused: exit 13, and nothing is stored', async (_, caller, args) => {
    const before = house.logs()
    const refused = await asAgent(caller, ...args)
    expect(refused.exit, refused.stderr).toBe(13)
    expect(refused.json.error.code).toBe('TREE_RULES')
    expect(house.logs()).toEqual(before)
    for (const id of Object.values(ids)) expect(house.inbox(id)).toEqual([])
  })

  test('an agent gates and lets its own children', async () => {
    expect((await asAgent('lead', 'gate', 'a')).json).toMatchObject({ gated: true })
    expect(house.records(ids.a as string).at(-1)).toMatchObject({ kind: 'agent.gated', from: ids.lead })
    expect((await asAgent('lead', 'ungate', 'a')).json).toMatchObject({ gated: false })
  })

  test('an agent ends and takes away what is below it, however deep', async () => {
    expect((await asAgent('lead', 'terminate', 'lead/a/deep')).exit).toBe(0)
    expect((await asAgent('lead', 'remove', ids.deep as string)).exit).toBe(0)
    expect((await asAgent('lead', 'cancel', 'a', '--recursive')).exit).toBe(0)
    expect((await house.ok('tree', 'lead', '--all', '--json')).json.agents[0].children).toHaveLength(2)
  })

  test('cancel --all reaches only the agents below it', async () => {
    const scenario = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await house.spawn('parked', '--option', scenario)
    const child = await house.spawn('child', '--option', scenario, '--parent', 'lead/b')
    await Promise.all([house.run(['send', 'parked', 'x']), house.run(['send', 'lead/b/child', 'x'])])
    const { json } = await asAgent('lead', 'cancel', '--all')
    expect(json.agents.map(({ agent }: { agent: { id: string } }) => agent.id)).toEqual([child])
    expect((await house.ok('show', 'parked', '--json')).json.agent.status).toBe('waiting')
  })

  test('a tool may read other agents, and operator does not name an agent', async () => {
    for (const args of [['tree'], ['show', 'other'], ['log', 'parent'], ['config', 'get', 'slots_max']])
      expect((await asAgent('a', ...args)).exit).toBe(0)
    expect((await asAgent('a', 'show', 'operator')).exit).toBe(3)
  })

  test('an agent of another home is a person here', async () => {
    const there = new House()
    await there.spawn('x')
    const ended = await there.run(['terminate', 'x'], { env: { SUBSTRAT_AGENT: ids.lead as string } })
    expect(ended.exit).toBe(0)
  })
})
