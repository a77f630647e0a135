/** One session of a person at a terminal. Its panes are in panes/session.txt, to be read from the beginning. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { expectPanes } from '../support/pane-file.js'
import { hasTmux, Terminal } from '../support/terminal.js'

const shell = (command: string): object => ({ name: 'shell', input: { command } })
const until = (file: string): string => `until [ -e ${file} ]; do sleep 0.05; done`

/** The scenarios of the agents. A file in the workspace lets a command or a reply go on. */
const SCENARIOS: Record<string, object[]> = {
  bot: [
    { say: 'I run the tests first.', tools: [shell(`${until('tested')}; echo 212 passed`)] },
    { pieces: [{ say: 'All 212 tests' }, { say: ' pass. Nothing is left to do.', after_file: 'read' }] },
  ],
  asker: [
    { tools: [{ name: 'ask_operator', input: { question: 'Which branch shall I release?' } }] },
    { say: 'I release main.' },
  ],
  cleaner: [{ tools: [shell('rm -rf build cache')] }, { say: 'It is clean.' }],
  ...Object.fromEntries(
    ['ada', 'bob', 'eve'].map((name) => [
      name,
      [{ tools: [shell(until(name))] }, { say: `${name} is done.` }],
    ]),
  ),
}

/** The three agents begin in any order. */
function inOrder(lines: string[]): string[] {
  const kindOf = (line = ''): string | undefined =>
    /^(?:ada|bob|eve) ·|^(?:ada|bob|eve): |^substrat: delivering /.exec(line)?.[0].replace(/^\w+/, '')
  const agentOf = (line: string): string => /\b(ada|bob|eve)\b/.exec(line)?.[1] ?? ''
  const groups: string[][] = []
  for (const [index, line] of lines.entries())
    if (kindOf(line) !== undefined && kindOf(line) === kindOf(lines[index - 1])) groups.at(-1)?.push(line)
    else groups.push([line])
  return groups.flatMap((group) => group.sort((a, b) => agentOf(a).localeCompare(agentOf(b))))
}

class Session {
  readonly panes: { title: string; pane: string }[] = []

  constructor(readonly house: House) {}

  /** Keeps the screen from the latest prompt on. */
  keep(title: string, terminal: Terminal): void {
    const screen = terminal.screen()
    const lines = screen.slice(screen.lastIndexOf('\n$ substrat') + 1).split('\n')
    this.panes.push({ title: `## ${title}`, pane: inOrder(lines).join('\n') })
  }

  terminal(columns: number): Terminal {
    return new Terminal(this.house, { columns, env: { PAGER: 'cat', EDITOR: `sed -i 's/ cache//'` } })
  }
}

test.skipIf(!hasTmux)('a session at a terminal (needs tmux)', async () => {
  const house = new House({ TZ: 'UTC' })
  const session = new Session(house)
  for (const [name, responses] of Object.entries(SCENARIOS)) {
    const allow = name === 'cleaner' ? [] : ['--allow', 'all']
    await house.spawn(name, '--option', house.scenario(`${name}.json`, ...responses), ...allow)
  }

  const wide = session.terminal(120)
  let before = wide.prompts()
  wide.type('substrat send bot "is it right"')
  await wide.shows(/bot · shell: .* · turn .*in/)
  session.keep('A long turn: its tool runs', wide)
  house.write('tested', '')
  await wide.shows(/bot · writing/)
  session.keep('A long turn: its reply comes', wide)
  house.write('read', '')
  await wide.ended(before)
  session.keep('A long turn: its end', wide)

  before = wide.prompts()
  wide.type('substrat send asker "release it"')
  await wide.shows('(Enter: later):')
  wide.type('')
  await wide.ended(before)
  session.keep('A question, left for later', wide)
  before = wide.prompts()
  wide.type('substrat answer asker main')
  await wide.ended(before)
  session.keep('The question answered', wide)

  before = wide.prompts()
  wide.type('substrat send cleaner "make room"')
  await wide.shows('[l]ater:')
  session.keep('A call that needs approval', wide)
  wide.type('e')
  await wide.shows(/command: rm -rf build\n.*\n.*\[l\]ater:$/)
  wide.type('y')
  await wide.ended(before)
  session.keep('The call edited and approved', wide)

  for (const name of ['ada', 'bob', 'eve']) await house.ok('send', name, '--queue', '--no-drain', 'go')
  before = wide.prompts()
  wide.type('substrat deliver --all')
  await wide.shows(/(\w+ · shell.* in 0 out\n){3}3 of 6 agents visited/)
  session.keep('Three agents side by side', wide)
  house.write('bob', '')
  await wide.shows(/^4 of 6 agents visited/m)
  session.keep('Three agents: one has ended its turn', wide)
  house.write('ada', '')
  await wide.shows(/^5 of 6 agents visited/m)
  house.write('eve', '')
  await wide.ended(before)
  session.keep('Three agents: the end', wide)

  const narrow = session.terminal(40)
  before = narrow.prompts()
  narrow.type('substrat list')
  await narrow.ended(before)
  session.keep('A narrow terminal: the agents', narrow)
  before = narrow.prompts()
  narrow.type('substrat log cleaner --last-turn')
  await narrow.ended(before)
  session.keep('A narrow terminal: what happened', narrow)

  expect(house.findings(true)).toEqual([])
  expectPanes('session', session.panes)
})
