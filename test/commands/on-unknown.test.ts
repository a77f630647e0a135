/** Calls whose result a crash lost: their identity for the world outside, and the rules that say what happens to them. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { waitFor } from '../support/wait.js'

/** Notes its identity, then hangs at its first attempt only. */
const CALL =
  'echo "$SUBSTRAT_CALL $SUBSTRAT_ATTEMPT $SUBSTRAT_MESSAGE_KEY" >> calls; if [ "$SUBSTRAT_ATTEMPT" = 1 ]; then : > started; sleep 3600; fi; echo paid'

interface Errand {
  id: string
  sender: Running
}

/** An agent whose model makes that call, up to the moment when it runs. */
async function begun(house: House, rules: string[], command = CALL, ...flags: string[]): Promise<Errand> {
  const scenario = house.scenario(
    's.json',
    { tools: [{ name: 'shell', input: { command } }] },
    { say: 'finished' },
  )
  const given = rules.flatMap((rule) => ['--on-unknown', rule])
  const id = await house.spawn('a', '--option', scenario, '--allow', 'all', ...given)
  const sender = house.start(['send', 'a', 'go', '--key', 'k', ...flags])
  await waitFor(() => house.read('started') !== undefined, 'the tool')
  return { id, sender }
}

async function killed(house: House, rules: string[], command?: string): Promise<string> {
  const { id, sender } = await begun(house, rules, command)
  await sender.kill()
  return id
}

const linesOf = (house: House): string[][] =>
  (house.read('calls') ?? '')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))

const resultsOf = (house: House, id: string): object[] =>
  house.records(id).filter(({ kind }) => kind === 'tool.finished')

describe.concurrent('a call whose result a crash lost', () => {
  test('runs again with the rule rerun: with the same identity, another attempt, and the key of its message', async () => {
    const house = new House()
    const id = await killed(house, ['shell=rerun'])
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    const [first = [], second = []] = linesOf(house)
    expect(first).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), '1', 'k'])
    expect(second).toEqual([first[0], '2', 'k'])
    expect(resultsOf(house, id)).toMatchObject([
      { content: expect.stringContaining('paid'), is_error: false },
    ])
    expect(house.count(id, 'tool.repeated')).toBe(1)
    expect((await house.ok('send', 'a', 'go', '--key', 'k')).stdout).toBe('finished\n')
    expect(house.findings(true)).toEqual([])
  })

  test('is done if the check says so: its output is the result, and nothing runs again', async () => {
    const house = new House()
    const check = 'cat > asked; echo "$SUBSTRAT_CALL" > checked; echo receipt 7'
    const id = await killed(house, [`shell=check ${check}`])
    expect((await house.ok('send', 'a', 'go', '--key', 'k')).stdout).toBe('finished\n')
    expect(linesOf(house)).toHaveLength(1)
    expect(JSON.parse(house.read('asked') ?? '')).toEqual({ tool: 'shell', input: { command: CALL } })
    expect(house.read('checked')?.trim()).toBe(linesOf(house)[0]?.[0])
    expect(resultsOf(house, id)).toMatchObject([{ content: 'receipt 7\n', is_error: false }])
    expect(house.records(id).filter(({ kind }) => kind === 'tool.checked')).toMatchObject([{ found: 'done' }])
    expect(house.findings(true)).toEqual([])
  })

  test('runs again if the check says that it was not done', async () => {
    const house = new House()
    const id = await killed(house, ['shell(ls)=stop', 'all=check exit 1'])
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(linesOf(house).map(([, attempt]) => attempt)).toEqual(['1', '2'])
    expect(house.kinds(id).filter((kind) => kind.startsWith('tool.'))).toEqual([
      'tool.started',
      'tool.check_started',
      'tool.checked',
      'tool.repeated',
      'tool.finished',
    ])
  })

  test.each([
    ['exits with another status', 'echo no idea >&2; exit 3', /The check exited 3: no idea/],
    ['is not there', '/nonexistent/check', /The check exited 127/],
    ['dies of a signal', 'kill -9 $$', /The check was killed by SIGKILL/],
    ['hangs', 'sleep 3600', /The check was stopped after 2 s/],
    [
      'exits 1 only when it is stopped',
      "trap 'exit 1' TERM; while :; do sleep 0.1; done",
      /was stopped after 2 s/,
    ],
  ])('is left to a person if the check %s', async (_, check, said) => {
    const house = new House({ SUBSTRAT_TOOL_TIMEOUT: '2s' })
    const { id, sender } = await begun(house, [`shell=check ${check}`])
    await sender.kill()
    expect((await house.run(['send', 'a', 'go', '--key', 'k'])).exit).toBe(6)
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect(resultsOf(house, id)).toMatchObject([{ content: expect.stringMatching(said), is_error: true }])
    expect(house.count(id, 'tool.check_started')).toBe(1)
    expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
    expect(linesOf(house)).toHaveLength(1)
    expect(house.findings(true)).toEqual([])
  })

  test.each(['rerun', 'check exit 1'])(
    'is left to a person if its rule, %s, is gone when the turn continues',
    async (rule) => {
      const house = new House()
      const { id, sender } = await begun(house, [`shell=${rule}`])
      await sender.kill()
      await house.ok('set', 'a', '--on-unknown', '')
      expect((await house.run(['recover', '--all'])).exit).toBe(6)
      expect(resultsOf(house, id)).toMatchObject([{ is_error: true }])
      expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
      expect(linesOf(house)).toHaveLength(1)
      expect(house.findings(true)).toEqual([])
    },
  )

  test.each(['rerun', 'check exit 1'])(
    'is left to a person if it cannot run again, with the rule %s, because its workspace is gone',
    async (rule) => {
      const house = new House()
      const workspace = join(house.workspace, 'gone')
      mkdirSync(workspace)
      const command = `: > ../started; sleep 3600`
      const scenario = house.scenario(
        's.json',
        { tools: [{ name: 'shell', input: { command } }] },
        { say: 'ok' },
      )
      const option = scenario.replace('=', `=${house.workspace}/`)
      const rules = ['--on-unknown', `shell=${rule}`]
      const id = await house.spawn('a', '-w', workspace, '--option', option, '--allow', 'all', ...rules)
      const sender = house.start(['send', 'a', 'go'])
      await waitFor(() => house.read('started') !== undefined, 'the tool')
      await sender.kill()
      rmSync(workspace, { recursive: true })
      expect((await house.run(['recover', '--all'])).exit).toBe(6)
      expect(resultsOf(house, id)).toMatchObject([{ content: expect.stringMatching(/outcome unknown/) }])
    },
  )

  test('is left to a person if it kills substrat again and again', async () => {
    const house = new House()
    const command = 'echo ran >> calls; : > started; [ ! -e deadly ] || kill -9 $PPID; sleep 3600'
    const id = await killed(house, ['shell=rerun'], command)
    house.write('deadly', '')
    for (let n = 0; n < 2; n++) await house.start(['recover', '--all']).result
    const before = linesOf(house).length
    expect((await house.run(['send', 'a', 'another'])).exit).toBe(6)
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect(linesOf(house)).toHaveLength(before)
    expect(house.count(id, 'run.cancelled')).toBe(0)
  })

  test('has no more of the output of its check in the log than a result may have', async () => {
    const house = new House()
    const id = await killed(house, [`shell=check head -c 100000000 /dev/zero | tr '\\0' x`])
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    const [result] = resultsOf(house, id) as { content: string }[]
    expect(result?.content.length).toBeLessThan(200_000)
  })

  test('is checked again if the check is killed', async () => {
    const house = new House()
    const check = 'if [ -e looked ]; then echo seen; else : > looked; sleep 3600; fi'
    const id = await killed(house, [`shell=check ${check}`])
    const recovering = house.start(['recover', '--all'])
    await waitFor(() => existsSync(join(house.workspace, 'looked')), 'the check')
    await recovering.kill()
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(resultsOf(house, id)).toMatchObject([{ content: 'seen\n' }])
    expect(linesOf(house)).toHaveLength(1)
  })

  test('follows the rule of the agent before that of the settings', async () => {
    const house = new House({ SUBSTRAT_ON_UNKNOWN: '["shell=stop"]' })
    const { id, sender } = await begun(house, ['shell(other)=stop', 'shell=rerun'])
    await sender.kill()
    expect((await house.ok('show', 'a')).stdout).toMatch(/^cut short +shell\(other\)=stop\n +shell=rerun$/m)
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect(linesOf(house)).toHaveLength(2)
    expect(house.findings(true)).toEqual([])
    expect(house.count(id, 'tool.repeated')).toBe(1)
  })
})

describe.concurrent('a call that a stop signal cuts short', () => {
  async function signalled(rules: string[]): Promise<{ house: House; id: string; exit: number | null }> {
    const house = new House()
    const { id, sender } = await begun(house, rules)
    sender.child.kill('SIGTERM')
    await sender.says('again to stop now')
    sender.child.kill('SIGTERM')
    return { house, id, exit: (await sender.result).exit }
  }

  test('is left to a person too', async () => {
    const { house, id, exit } = await signalled([])
    expect(exit).toBe(143)
    expect((await house.run(['send', 'a', 'go', '--key', 'k'])).exit).toBe(6)
    expect(house.count(id, 'model.requested')).toBe(1)
    expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
  })

  test('follows its rule', async () => {
    const { house, exit } = await signalled(['shell=check echo receipt'])
    expect(exit).toBe(143)
    expect((await house.ok('send', 'a', 'go', '--key', 'k')).stdout).toBe('finished\n')
    expect(linesOf(house)).toHaveLength(1)
  })
})

/** A tool server, written by hand. Its tool notes `_meta`, and hangs at the first attempt. */
const SERVER = `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
const [annotations] = process.argv.slice(2).map((text) => JSON.parse(text))
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })
  if (method === 'tools/list') say(id, { tools: [{ name: 'pay', inputSchema: { type: 'object' }, annotations }] })
  if (method !== 'tools/call') return
  appendFileSync('meta', JSON.stringify(params._meta) + '\\n')
  if (params._meta['substrat/attempt'] > 1) say(id, { content: [{ type: 'text', text: 'paid' }] })
})`

describe.concurrent('a call of an MCP tool that a crash cut short', () => {
  async function recovered(
    annotations: object,
    trusts: 'on' | 'off',
  ): Promise<{ house: House; exit: number | null }> {
    const house = new House({ SUBSTRAT_RECOVERY_MCP_HINTS: trusts })
    const file = house.write('server.mjs', SERVER)
    const args = [file, JSON.stringify(annotations)]
    await house.ok('config', 'set', 'mcp_servers', JSON.stringify({ s: { command: process.execPath, args } }))
    const scenario = house.scenario('s.json', { tools: [{ name: 's__pay', input: {} }] }, { say: 'finished' })
    await house.spawn('a', '--option', scenario, '--allow', 'all')
    const sender = house.start(['send', 'a', 'go', '--key', 'k'])
    await waitFor(() => house.read('meta') !== undefined, 'the call')
    await sender.kill()
    return { house, exit: (await house.run(['recover', '--all'])).exit }
  }
  const metaOf = (house: House): object[] =>
    (house.read('meta') ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)

  test.each([{ idempotentHint: true }, { readOnlyHint: true }])(
    'runs again with the same identity, if its server says %o and the setting trusts it',
    async (annotations) => {
      const { house, exit } = await recovered(annotations, 'on')
      const [first, second] = metaOf(house)
      expect([exit, metaOf(house).length]).toEqual([0, 2])
      expect(first).toMatchObject({ 'substrat/attempt': 1, 'substrat/message_key': 'k' })
      expect(second).toEqual({ ...first, 'substrat/attempt': 2 })
    },
  )

  test.each([
    ['the setting is off', { idempotentHint: true }, 'off'],
    ['its server says nothing', {}, 'on'],
    ['its server says no', { idempotentHint: false, readOnlyHint: 'yes' }, 'on'],
  ] as const)('is left to a person if %s', async (_, annotations, trusts) => {
    const { house, exit } = await recovered(annotations, trusts)
    expect([exit, metaOf(house).length]).toEqual([6, 1])
  })
})

test('each call of a turn, and of each turn, has another identity', async () => {
  const house = new House()
  const note = (name: string): object => ({
    name: 'shell',
    input: { command: `echo "$SUBSTRAT_CALL" >> ${name}` },
  })
  const calls = { tools: [note('ids'), note('ids')] }
  const scenario = house.scenario('s.json', calls, { say: 'ok' }, calls, { say: 'ok' })
  await house.spawn('a', '--option', scenario, '--allow', 'all')
  for (const message of ['one', 'two']) await house.ok('send', 'a', message)
  const ids = (house.read('ids') ?? '').trim().split('\n')
  expect([ids.length, new Set(ids).size]).toEqual([4, 4])
})

test('a command of exec has the identity of its turn, which a retry keeps', async () => {
  const house = new House()
  const command = 'echo "$SUBSTRAT_CALL $SUBSTRAT_ATTEMPT $SUBSTRAT_MESSAGE_KEY" >> calls; [ -e ok ]'
  await house.ok('spawn', '--name', 'a', '--provider', 'exec', '--option', `command=${command}`)
  expect((await house.run(['send', 'a', 'go', '--key', 'k'])).exit).toBe(9)
  house.write('ok', '')
  await house.ok('retry', 'a')
  await house.ok('send', 'a', 'more')
  const [first = [], second = [], third = []] = linesOf(house)
  expect(first.slice(1)).toEqual(['1', 'k'])
  expect(second).toEqual([first[0], '2', 'k'])
  expect(third.slice(1)).toEqual(['1'])
  expect(third[0]).not.toBe(first[0])
})

test.each([
  ['no action', 'shell', /is not a rule/],
  ['an unknown action', 'shell=again', /is not a rule/],
  ['a check without a command', 'shell=check', /is not a rule/],
  ['a check of blanks', 'shell=check   ', /is not a rule/],
  ['a tool that is not there', 'shel=rerun', /there is no tool shel; did you mean shell/],
  ['a pattern that matches nothing', 'shell(a; b)=rerun', /is not a rule/],
])('a rule with %s is refused, and no agent is made', async (_, rule, why) => {
  const house = new House()
  const refused = await house.run(['spawn', '--name', 'a', '--provider', 'scripted', '--on-unknown', rule])
  expect([refused.exit, refused.stderr]).toEqual([2, expect.stringMatching(why)])
  expect((await house.run(['show', 'a'])).exit).toBe(3)
  expect((await house.run(['config', 'set', 'on_unknown', JSON.stringify([rule])])).exit).toBe(
    rule.startsWith('shel=') ? 0 : 2,
  )
})
