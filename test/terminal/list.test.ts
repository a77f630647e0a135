/** The list of agents as a person at a terminal sees it. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Pane, shellLine } from '../support/pane.js'
import { hasTmux, Terminal } from '../support/terminal.js'
import { waitFor } from '../support/wait.js'

const ASKS = {
  tools: [{ name: 'ask_operator', input: { question: '你好，which branch shall I use for the release?' } }],
}
const FAILS = { fail: { type: 'invalid' } }

/** One agent of each kind, oldest first. */
async function home(): Promise<House> {
  const house = new House({ TZ: 'UTC' })
  const scripted = (name: string, response: object) =>
    house.spawn(name, '--option', house.scenario(`${name}.json`, response))
  await house.spawn('held')
  await house.ok('suspend', 'held', '--hold')
  await house.spawn('gated')
  await house.ok('gate', 'gated')
  await house.spawn('later')
  await house.ok('send', 'later', 'tomorrow', '--not-before', '1d')
  await scripted('broken', FAILS)
  expect((await house.run(['send', 'broken', 'go'])).exit).toBe(9)
  await house.spawn('数据-analysis')
  await house.ok('set', '数据-analysis', '--title', '统计 the numbers of the year')
  await house.spawn('talks')
  await house.ok('send', 'talks', 'hello')
  await scripted('asks', ASKS)
  expect((await house.run(['send', 'asks', 'go'])).exit).toBe(5)
  return house
}

const rows = (screen: string): string[] =>
  screen
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/\d+ (s|min) ago */, 'AGO ').trimEnd())

describe.skipIf(!hasTmux).concurrent('list at a terminal', () => {
  test('shows the end of a rate limit, and the reason of the provider', async () => {
    const house = new House({ TZ: 'UTC' })
    const fail = { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 }
    await house.spawn('lim', '--option', house.scenario('l.json', { fail }))
    expect((await house.run(['send', 'lim', 'go'])).exit).toBe(7)
    const terminal = new Terminal(house, { columns: 120 })
    expect(await terminal.run('substrat list')).toMatch(
      /^limited {2}lim .* until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: .*the scenario makes this request fail: rate_limit$/m,
    )
    expect((await house.ok('show', 'lim')).stdout).toMatch(
      /^reason +.*the scenario makes this request fail: rate_limit$/m,
    )
  })

  test('shows one status, newest first, and the words of the latest message, with 100 columns', async () => {
    const terminal = new Terminal(await home())
    expect(rows(await terminal.run('substrat list'))).toEqual([
      'STATUS     AGENT          CHANGED     ABOUT',
      'waiting    asks           AGO asks: 你好，which branch shall I use for the release?',
      'idle       talks          AGO echo: hello',
      'idle       数据-analysis  AGO 统计 the numbers of the year',
      'failed     broken         AGO its AI provider rejected the request: the scenario makes this…',
      'scheduled  later          AGO',
      'gated      gated          AGO',
      'held       held           AGO',
    ])
  })

  test('fits in 60 columns', async () => {
    const terminal = new Terminal(await home(), { columns: 60 })
    const screen = await terminal.run('substrat list')
    expect(rows(screen)).toEqual([
      'STATUS     AGENT          CHANGED     ABOUT',
      'waiting    asks           AGO asks: 你好，which bra…',
      'idle       talks          AGO echo: hello',
      'idle       数据-analysis  AGO 统计 the numbers of t…',
      'failed     broken         AGO its AI provider rejec…',
      'scheduled  later          AGO',
      'gated      gated          AGO',
      'held       held           AGO',
    ])
  })

  test('has room for the whole words in 200 columns', async () => {
    const terminal = new Terminal(await home(), { columns: 200 })
    const screen = await terminal.run('substrat list')
    expect(screen).toContain('asks: 你好，which branch shall I use for the release?')
    expect(rows(await terminal.run('substrat list --status failed'))).toHaveLength(2)
    expect(rows(await terminal.run('substrat list --since 1h | cat')).length).toBe(8)
    expect(await terminal.run('substrat list --since 2999-01-01')).toContain('no agents match')
  })

  test('colours the statuses, unless NO_COLOR is set or the terminal is dumb', async () => {
    const house = await home()
    for (const [env, colours] of [
      ['', true],
      ['NO_COLOR=1 ', false],
      ['TERM=dumb ', false],
    ] as const) {
      const pane = new Pane(house, 100, `${env}${shellLine(house, 'list')}`)
      await pane.until(/\[exit 0\]/)
      const shown = pane.show('-e').replaceAll('\u001b', 'ESC')
      expect(shown, env).toMatch(colours ? /ESC\[31mfailedESC\[[\d;]*m +broken/ : /^failed +broken/m)
      expect(shown, env).toMatch(colours ? /ESC\[33mwaitingESC\[[\d;]*m +asks/ : /^waiting +asks/m)
      pane.close()
    }
  })

  test('--watch draws again when an agent changes; agents that need a person come first', async () => {
    const house = await home()
    const terminal = new Terminal(house)
    terminal.type('substrat list --watch')
    await terminal.shows(/^waiting .*\n(failed .*\n)/m)
    await house.ok('send', 'talks', 'once more')
    await terminal.shows('echo: once more')
    await house.ok('answer', 'asks', 'main')
    await terminal.shows(/STATUS.*\nfailed /)
    const before = terminal.prompts()
    terminal.press('C-c')
    await terminal.ended(before)
  })
})

test.skipIf(!hasTmux)(
  'tree --watch names the agents that need a person above the tree, and draws again',
  async () => {
    const house = await home()
    const terminal = new Terminal(house, { columns: 60 })
    terminal.type('substrat tree --watch')
    await terminal.shows(/^needs you: .*asks \(waiting\).*\nAGENT/m)
    await house.ok('answer', 'asks', 'main')
    await waitFor(() => /^needs you: broken \(failed\)\nAGENT/m.test(terminal.screen()), 'the answered agent')
    terminal.press('C-c')
  },
)

test('in a pipe, --watch is refused', async () => {
  const house = new House()
  const refused = await house.run(['list', '--watch'])
  expect(refused).toMatchObject({ exit: 2, stdout: '' })
  expect(refused.stderr).toContain('--watch needs a terminal')
})

test('in a pipe, --status takes the words of the terminal, and the table has them too', async () => {
  const house = await home()
  const names = async (...flags: string[]) =>
    (await house.ok('list', '--json', ...flags)).json.agents.map(({ name }: { name: string }) => name)
  expect(await names('--status', 'held')).toEqual(['held'])
  expect(await names('--status', 'scheduled')).toEqual(['later'])
  expect(await names('--status', 'failed')).toEqual(['broken'])
  expect(await names('--status', 'waiting')).toEqual(['asks'])
  expect(await names('--status', 'idle')).toEqual(['数据-analysis', 'talks'])
  expect(await names('--status', 'needs_you')).toEqual(['broken', 'asks'])
  expect(await names('--since', '2999-01-01')).toEqual([])
  expect((await house.ok('list')).stdout).toMatch(
    /^AGENT +ID +STATE +STATUS +PROVIDER +INBOX +UPDATED +TITLE\n/,
  )
  expect((await house.ok('list', '--status', 'failed')).stdout).toMatch(/^broken +\w+ +suspended +failed /m)
})
