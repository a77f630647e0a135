/** The commands that show agents, at three widths, with wide characters. Their panes are in panes/, to be read. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { expectPanes } from '../support/pane-file.js'
import { hasTmux, Terminal } from '../support/terminal.js'

const LONG = '请统计一下今年的数字，然后告诉我结果。这是一条比较长的消息，用来测试窄终端的换行。'

/** One home for all widths: the commands here only read. */
let shared: Promise<House> | undefined

function home(): Promise<House> {
  shared ??= newHome()
  return shared
}

async function newHome(): Promise<House> {
  const house = new House({ TZ: 'UTC' })
  const scripted = (name: string, ...responses: object[]): Promise<string> =>
    house.spawn(name, '--option', house.scenario(`${name}.json`, ...responses))
  await house.spawn('held')
  await house.ok('suspend', 'held', '--hold')
  await house.spawn('later')
  await house.ok('send', 'later', 'tomorrow', '--not-before', '1d')
  await scripted('broken', { fail: { type: 'invalid' } })
  expect((await house.run(['send', 'broken', 'go'])).exit).toBe(9)
  await house.spawn('数据-analysis')
  await house.ok('set', '数据-analysis', '--title', '统计 the numbers of the year 👍')
  await house.ok('send', '数据-analysis', LONG)
  await house.spawn('检查员', '--parent', '数据-analysis')
  await house.spawn('writer', '--parent', '数据-analysis')
  await scripted('asks', {
    tools: [{ name: 'ask_operator', input: { question: '你好，which branch shall I use for the release?' } }],
  })
  expect((await house.run(['send', 'asks', 'go'])).exit).toBe(5)
  await scripted('runs', { tools: [{ name: 'shell', input: { command: 'echo 日本語 && rm -rf build' } }] })
  expect((await house.run(['send', 'runs', 'build it'])).exit).toBe(5)
  await house.ok('send', '数据-analysis', '--queue', '--no-drain', '下一条 message')
  await house.ok('deliver', '--all')
  return house
}

const COMMANDS = [
  'list',
  'tree',
  'show held',
  'show 数据-analysis',
  'show asks',
  'show broken',
  'log 数据-analysis -n 5',
  'inbox',
  'search 数字',
]

describe.skipIf(!hasTmux).concurrent('in a terminal (needs tmux)', () => {
  test.each([60, 100, 200])('with %i columns each command fits, with aligned columns', async (columns) => {
    const house = await home()
    const panes: { title: string; pane: string }[] = []
    for (const command of COMMANDS) {
      const terminal = new Terminal(house, { columns, env: { PAGER: 'cat' } })
      const [title = '', ...lines] = (await terminal.run(`substrat ${command}`)).split('\n')
      panes.push({ title, pane: lines.join('\n') })
      terminal.close()
    }
    for (const command of ['list --watch', 'tree --watch']) {
      const terminal = new Terminal(house, { columns })
      terminal.type(`substrat ${command}`)
      const pane = await terminal.shows(/^STATUS[\s\S]*^held |^needs you[\s\S]*runs +\w+ +waiting +0$/m)
      panes.push({ title: `$ substrat ${command}`, pane: pane.slice(pane.indexOf('\n') + 1) })
      terminal.close()
    }
    expectPanes(`columns-${columns}`, panes)
  })

  test('with LC_ALL=C each sign that substrat draws is ASCII', async () => {
    const house = new House()
    await house.spawn('lead')
    await house.spawn('writer', '--parent', 'lead')
    await house.ok('send', 'lead', `the numbers of ${'a very long '.repeat(10)}year`)
    const terminal = new Terminal(house, { columns: 60, env: { LC_ALL: 'C', PAGER: 'cat' } })
    const ran: string[] = []
    for (const words of [
      'tree',
      'show lead',
      'search year',
      'list',
      'log lead',
      'spawn --name lead',
      'gate ghost',
    ])
      ran.push(await terminal.run(`substrat ${words}`))
    const screen = ran.join('\n')
    expect(screen).toMatch(/^`- writer/m)
    expect(screen).toContain("substrat send lead '...'")
    expect(screen).toMatch(/ echo: the numbers.*\.\.\.$/m)
    // tmux shows other characters as underscores in this locale.
    expect(screen).not.toMatch(/[^ -~\n]|__/)
  })
})
