/** The log of an agent as a person at a terminal sees it. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { hasTmux, Terminal } from '../support/terminal.js'

const WORDS = 'a line of words that is too long for one row of a narrow terminal, so that it goes on below'

async function home(): Promise<House> {
  const house = new House({ TZ: 'UTC' })
  await house.spawn('bot')
  await house.ok('send', 'bot', WORDS)
  return house
}

const rows = (screen: string): string[] =>
  screen
    .split('\n')
    .slice(1)
    .map((line) =>
      line.replace(/^\d\d:\d\d:\d\d/, 'HH:MM:SS').replace(/^\w+day, \d{4}-\d\d-\d\d, UTC$/, 'DAY'),
    )

/** 100 lines, more than an entry shows. */
const LONG = Array.from({ length: 100 }, (_, index) => `line ${index + 1}`).join('\n')

describe.skipIf(!hasTmux).concurrent('log at a terminal', () => {
  test('has a heading for the day, local times and a hanging indent in 60 columns', async () => {
    const terminal = new Terminal(await home(), { columns: 60, env: { PAGER: 'cat' } })
    expect(rows(await terminal.run('substrat log bot -n 2'))).toEqual([
      'DAY',
      'HH:MM:SS  you: a line of words that is too long for one row',
      '          of a narrow terminal, so that it goes on below',
      'HH:MM:SS  agent: echo: a line of words that is too long for',
      '          one row of a narrow terminal, so that it goes on',
      '          below',
    ])
  })

  test('has the roles in colours, and none with NO_COLOR; a pipe has the plain lines', async () => {
    const terminal = new Terminal(await home(), { columns: 200, env: { PAGER: 'cat -v' } })
    expect(await terminal.run('substrat log bot -n 1')).toContain('^[[32;1magent:^[[39;22m echo: a line')
    expect(await terminal.run('NO_COLOR=1 substrat log bot -n 1')).toContain('  agent: echo: a line')
    expect(await terminal.run('substrat log bot -n 1 | cat')).toMatch(/^\d{4}-\d\d-\d\d [\d:]+Z {2}agent: /m)
    expect(await terminal.run('TERM=dumb substrat log bot -n 1')).toMatch(
      /^\d{4}-\d\d-\d\d [\d:]+Z {2}agent: /m,
    )
  })

  test('folds long texts, and --all and --grep show them', async () => {
    const house = await home()
    expect((await house.run(['send', 'bot', '-'], { stdin: LONG })).exit).toBe(0)
    const terminal = new Terminal(house, { rows: 250, env: { PAGER: 'cat' } })
    const folded = await terminal.run('substrat log bot -n 1')
    expect(folded).toMatch(/line 40\n {10}… 60 more lines; --all shows everything$/)
    expect(await terminal.run('substrat log bot -n 1 --all')).toMatch(/line 100$/)
    expect(await terminal.run('substrat log bot --grep "line 99" -n 1')).toMatch(/line 100$/)
  })

  test('escapes control characters of texts', async () => {
    const house = await home()
    await house.ok('send', 'bot', 'red \u001b[31m text')
    const terminal = new Terminal(house, { env: { PAGER: 'cat' } })
    expect(await terminal.run('substrat log bot -n 1')).toContain('echo: red \\x1b[31m text')
  })

  test('opens less for more than a screen, which q and Ctrl-C leave in order', async () => {
    const house = await home()
    for (let turn = 0; turn < 12; turn++) await house.ok('send', 'bot', `message ${turn}`)
    const terminal = new Terminal(house, { rows: 15 })
    const before = terminal.prompts()
    terminal.type('substrat log bot; echo "exit $?"')
    await terminal.shows(/^:$/m)
    terminal.press('C-c')
    terminal.press('G')
    await terminal.shows('(END)')
    terminal.press('q')
    expect(await terminal.ended(before)).toContain('exit 0')
    expect(await terminal.run('substrat log bot -n 1; stty -a | grep -o " echo "')).toMatch(
      /message 11\n echo$/,
    )
    expect(await terminal.run('substrat log bot --no-pager | tail -n 1')).toContain('message 11')
  })

  test('a pager that ends early, is missing or fails changes no exit status', async () => {
    const house = await home()
    for (let turn = 0; turn < 5; turn++) await house.run(['send', 'bot', '-'], { stdin: 'x'.repeat(100_000) })
    const terminal = new Terminal(house)
    const run = (pager: string): Promise<string> =>
      terminal.run(`SUBSTRAT_PAGER='${pager}' substrat log bot; echo "exit $?"`)
    expect(await run('head -n 1')).toMatch(/day, \d{4}-\d\d-\d\d, UTC\nexit 0$/)
    expect(await run('exit 3')).toMatch(/exit 0$/)
    const missing = await run('no-such-pager -x')
    expect(missing).toContain(
      'substrat: the pager no-such-pager -x cannot run; name another one in SUBSTRAT_PAGER',
    )
    expect(missing).toMatch(/created as bot.*(\n.*)+exit 0$/)
  })

  test('SIGTERM ends the pager, too, and the terminal is as before', async () => {
    const house = await home()
    for (let turn = 0; turn < 12; turn++) await house.ok('send', 'bot', `message ${turn}`)
    const terminal = new Terminal(house, { rows: 15 })
    const before = terminal.prompts()
    terminal.type('sh -c \'echo $$ > pid; exec substrat log bot\'; echo "exit $?"')
    await terminal.shows(/^:$/m)
    process.kill(Number(house.read('pid')), 'SIGTERM')
    expect(await terminal.ended(before)).toContain('exit 143')
    expect(await terminal.run('stty -a | grep -o " echo "')).toContain('\n echo')
  })
})
