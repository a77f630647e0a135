/** A person at a terminal decides a turn that waits, in the command that ran it. */
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { expectPanes } from '../support/pane-file.js'
import { MARKS, ran } from '../support/parked.js'
import { hasTmux, steady, Terminal } from '../support/terminal.js'
import { waitFor } from '../support/wait.js'

const QUESTION = { name: 'ask_operator', input: { question: 'Which branch?' } }
const WORDS = '[y]es, [n]o, [e]dit or [l]ater:'

async function houseWith(...responses: object[]): Promise<{ house: House; id: string }> {
  const house = new House()
  const id = await house.spawn('a', '--option', house.scenario('s.json', ...responses))
  return { house, id }
}

const shell = (command: string): object => ({ tools: [{ name: 'shell', input: { command } }] })
const END = { say: 'finished' }
const withoutTimes = (screen: string): string =>
  steady(screen)
    .replace(/^[\d.]+ s ·/gm, 'T ·')
    .replace(/ [\d.]+ s ✓/g, ' T ✓')

describe.skipIf(!hasTmux).concurrent('a send whose turn waits, at a terminal', () => {
  test('asks for each approval and question, and prints the reply of the same turn', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, { tools: [QUESTION] }, END)
    const terminal = new Terminal(house, { columns: 80 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    terminal.type('y')
    await terminal.shows('(Enter: later):')
    terminal.type('main')
    expect(withoutTimes(await terminal.ended(before))).toBe(
      [
        '$ substrat send a go; echo exit $?',
        'a asks to run shell',
        '  command: echo ran >> ran; echo done',
        'Run it? [y]es, [n]o, [e]dit or [l]ater: y',
        'substrat: approved shell: echo ran >> ran; echo done',
        '→ shell: echo ran >> ran; echo done … T ✓',
        'a asks: Which branch?',
        'Your answer (Enter: later): main',
        'substrat: answered "Which branch?": main',
        'finished',
        'T · 3 in 1 out',
        'exit 0',
      ].join('\n'),
    )
    expect(ran(house)).toBe(1)
    expect(house.count(id, 'run.started')).toBe(1)
    const decisions = house.records(id).filter(({ kind }) => kind === 'token.consumed')
    expect(decisions).toMatchObject([{ decision: 'approve' }, { decision: 'input' }])
    expect(house.findings(true)).toEqual([])
  })

  test('with no, gives the agent the reason', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    terminal.type('n')
    await terminal.shows('Enter for none:')
    terminal.type('Not on a Friday.')
    expect(await terminal.ended(before)).toContain('finished\n')
    expect(ran(house)).toBe(0)
    const finished = house.records(id).find(({ kind }) => kind === 'tool.finished')
    expect(JSON.stringify(finished)).toContain('Not on a Friday.')
  })

  test('with always, says what is allowed before and after, and allows it', async () => {
    const { house } = await houseWith(shell('echo once'), { say: 'one' }, shell('echo once'), { say: 'two' })
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a go')
    await terminal.shows('"always" also allows from the next turn on: shell(echo once)')
    await terminal.shows('[a]lways or [l]ater:')
    terminal.type('a')
    expect(await terminal.ended(before)).toContain('without approval from its next turn on: shell(echo once)')
    expect((await house.ok('send', 'a', 'again')).stdout).toBe('two\n')
    expect((await house.ok('show', 'a', '--json')).json.grants).toMatchObject([
      { entry: 'shell(echo once)', by: 'approve' },
    ])
  })

  test.each([
    ['later', (terminal: Terminal) => terminal.type('l')],
    ['Ctrl-D', (terminal: Terminal) => terminal.press('C-d')],
  ])('with %s, ends as a script does: exit 5 and the next command', async (_, answer) => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    const log = house.log(id)
    answer(terminal)
    const screen = await terminal.ended(before)
    expect(screen).toMatch(
      /the turn of a is waiting for approval until .*\(substrat approve a, or substrat deny a\)/,
    )
    expect(screen).toContain('exit 5')
    expect(screen).not.toContain('st_')
    expect(screen.match(/echo ran >> ran/g)).toHaveLength(1)
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect(house.log(id).startsWith(log)).toBe(true)
  })

  test('with an empty line, asks again about calls, and leaves a question for later', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, { tools: [QUESTION] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    terminal.type('')
    await terminal.shows(/type yes, no, edit or later\n.*ater:$/)
    terminal.type('y')
    await terminal.shows('(Enter: later):')
    terminal.type('')
    expect(await terminal.ended(before)).toContain('exit 5')
    expect(house.count(id, 'token.consumed')).toBe(1)
  })

  test('with Ctrl-C, ends by the signal and says that nothing was decided', async () => {
    const { house, id } = await houseWith({ tools: [QUESTION] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows('(Enter: later):')
    terminal.press('C-c')
    const screen = await terminal.ended(before)
    expect(screen).toContain('stopped by SIGINT: nothing was decided, and a is still waiting for an answer')
    expect(screen).toContain('exit 130')
    expect(house.count(id, 'token.consumed')).toBe(0)
  })

  test('does not take for an answer what was typed before the question', async () => {
    const house = new House()
    const slow = { name: 'shell', input: { command: 'until [ -e on ]; do sleep 0.05; done' } }
    const responses = [{ tools: [slow] }, { tools: [QUESTION] }, END]
    await house.spawn('a', '--allow', 'shell', '--option', house.scenario('s.json', ...responses))
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a go')
    await terminal.shows(/a · shell/)
    terminal.type('typed early')
    terminal.write('half')
    await terminal.shows('half')
    house.write('on', '')
    await terminal.shows('(Enter: later):')
    terminal.type('main')
    expect(await terminal.ended(before)).toContain('answered "Which branch?": main')
  })

  test.each(['--no-ask', '--print-token', '--json', '--stream'])('asks nothing with %s', async (flag) => {
    const { house } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house)
    expect(await terminal.run(`substrat send a go ${flag}; echo exit $?`)).toContain('exit 5')
  })

  test('asks nothing with the setting ask off, or in the background', async () => {
    const { house } = await houseWith({ tools: [MARKS] }, END)
    await house.spawn('b', '--option', house.scenario('b.json', { tools: [MARKS] }))
    const terminal = new Terminal(house)
    expect(await terminal.run('SUBSTRAT_ASK=off substrat send a go; echo exit $?')).toContain('exit 5')
    house.write('in-background', 'substrat send b go & wait $!; echo exit $?')
    // An interactive shell gives its jobs the terminal as stdin.
    expect(await terminal.run('set -m; . ./in-background')).toContain('exit 5')
  })
})

describe.skipIf(!hasTmux).concurrent('the other commands ask too', () => {
  test('retry, resume and deliver of one agent', async () => {
    const fails = { fail: { type: 'invalid' } }
    const { house, id } = await houseWith(fails)
    expect((await house.run(['send', 'a', 'go'])).exit).not.toBe(0)
    house.scenario('s.json', { tools: [MARKS] }, { say: 'retried' }, { tools: [MARKS] }, END)
    const terminal = new Terminal(house)
    const decides = async (line: string, end: RegExp): Promise<void> => {
      const before = terminal.prompts()
      terminal.type(line)
      await terminal.shows(new RegExp(`${line}\n[^$]*ater:$`))
      terminal.type('y')
      expect(await terminal.ended(before)).toMatch(end)
    }
    await decides('substrat retry a', /retried/)
    await house.ok('send', 'a', '--queue', '--no-drain', 'more')
    await decides('substrat deliver a', /^a: 1 turn, completed$/m)
    expect(ran(house)).toBe(2)
    expect(house.count(id, 'token.consumed')).toBe(2)
    await house.spawn('b', '--option', house.scenario('b.json', { tools: [MARKS] }, END))
    expect((await house.run(['send', 'b', 'go'])).exit).toBe(5)
    await decides('substrat resume b', /finished/)
    expect(house.findings(true)).toEqual([])
  })

  test('deliver then runs the mail behind the turn, which may wait again', async () => {
    const { house } = await houseWith({ tools: [MARKS] }, END, { tools: [MARKS] }, END)
    for (const text of ['one', 'two']) await house.ok('send', 'a', '--queue', '--no-drain', text)
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat deliver a; echo exit $?')
    await terminal.shows(/ater:$/)
    terminal.type('y')
    await terminal.shows(/ater:[\s\S]*ater:$/)
    terminal.type('l')
    expect(await terminal.ended(before)).toMatch(
      /a: 2 turns, waiting\n[\s\S]*waiting for approval[\s\S]*exit 5/,
    )
    expect(ran(house)).toBe(1)
  })

  test('spawn with a prompt, and answer whose turn asks again', async () => {
    const house = new House()
    const option = house.scenario(
      's.json',
      { tools: [QUESTION] },
      { tools: [QUESTION] },
      { tools: [MARKS] },
      END,
    )
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type(`substrat spawn go --name a --provider scripted --option ${option}`)
    await terminal.shows('(Enter: later):')
    terminal.type('')
    await terminal.ended(before)
    const second = terminal.prompts()
    terminal.type('substrat answer a main')
    await terminal.shows(/answer a main\n[^$]*later\):$/)
    terminal.type('next')
    await terminal.shows(WORDS)
    terminal.type('y')
    expect(await terminal.ended(second)).toContain('finished')
  })
})

describe.skipIf(!hasTmux).concurrent('a decision elsewhere while the person is asked', () => {
  test('is said, and the reply of the turn is printed', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    terminal.write('half')
    await house.ok('approve', 'a')
    const screen = await terminal.ended(before)
    expect(screen).toMatch(/substrat: a was approved by you at \S+ \S+; nothing was decided here/)
    expect(screen).toContain('finished\n')
    expect(screen).toMatch(/exit 0$/)
    expect(house.count(id, 'token.consumed')).toBe(1)
  })

  test('does not hold the agent: another message replaces the turn, and the command says so', async () => {
    const { house } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    expect((await house.ok('send', 'a', 'other', '--timeout', '0s')).stdout).toBe('finished\n')
    const screen = await terminal.ended(before)
    expect(screen).toContain('substrat: a got another message by you at ')
    expect(screen).toContain('the turn of a was cancelled')
    expect(screen).not.toContain('exit 0')
  })

  test('asks again with the new token if the old one was replaced', async () => {
    const { house } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows(WORDS)
    await house.ok('token', 'rotate', 'a')
    await terminal.shows(/ater:[\s\S]*ater:$/)
    terminal.type('y')
    expect(await terminal.ended(before)).toContain('finished\n')
  })
})

describe.skipIf(!hasTmux)('a send that is killed', () => {
  const killed = async (
    house: House,
    answer: (terminal: Terminal) => Promise<void>,
    { signal = 'SIGKILL' as NodeJS.Signals, asked = WORDS } = {},
  ): Promise<string> => {
    const terminal = new Terminal(house, { columns: 120 })
    const before = terminal.prompts()
    house.write('send.sh', 'echo $$ >pid; exec substrat send a go')
    terminal.type('sh send.sh; echo exit $?')
    await terminal.shows(asked)
    await answer(terminal)
    process.kill(Number(house.read('pid')), signal)
    return terminal.ended(before)
  }

  test.each([
    ['SIGHUP', 129],
    ['SIGTERM', 143],
  ] as const)('by %s while it asks decides nothing and says so', async (signal, exit) => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const screen = await killed(house, async () => {}, { signal })
    expect(screen).toContain(`stopped by ${signal}: nothing was decided, and a is still waiting for approval`)
    expect(screen).toContain(`exit ${exit}`)
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect((await house.ok('approve', 'a')).stdout).toBe('finished\n')
    expect(ran(house)).toBe(1)
  })

  test('between the decision and its continuation loses no answer, and the next command does not ask again', async () => {
    const { house, id } = await houseWith({ tools: [QUESTION] }, END)
    const preload = path.join(import.meta.dirname, '../support/kill-after-record.mjs')
    const env = { NODE_OPTIONS: `--import=${preload}`, KILL_AFTER: 'token.consumed' }
    const terminal = new Terminal(house, { env })
    const before = terminal.prompts()
    terminal.type('substrat send a go; echo exit $?')
    await terminal.shows('(Enter: later):')
    terminal.type('main')
    expect(await terminal.ended(before)).toContain('exit 137')
    // The decision and the next request are one batch, and the model has not been asked.
    expect([house.count(id, 'token.consumed'), house.count(id, 'model.responded')]).toEqual([1, 1])
    const screen = await new Terminal(house, { columns: 120 }).run('substrat resume a')
    expect(screen).toContain('finished')
    expect(screen).not.toContain('later')
    const decisions = house.records(id).filter(({ kind }) => kind === 'token.consumed')
    expect(decisions).toMatchObject([{ decision: 'input' }])
    const answer = house.records(id).find(({ kind }) => kind === 'tool.finished')
    expect(answer).toMatchObject({ content: 'main' })
    expect(house.findings(true)).toEqual([])
  })

  test('while it asks leaves the wait as it was (row H)', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    await killed(house, async () => {})
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect((await house.ok('show', 'a', '--json')).json.agent.status).toBe('waiting')
    expect((await house.ok('approve', 'a')).stdout).toBe('finished\n')
    expect(house.findings(true)).toEqual([])
  })

  test('after the answer leaves what a killed approve leaves: the next command continues the turn with the decision', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, { ...END, after_file: 'never' })
    await killed(house, async (terminal) => {
      terminal.type('y')
      await waitFor(() => ran(house) === 1, 'the approved command')
      await house.waitForRecord(id, 'tool.finished')
    })
    house.scenario('s.json', { tools: [MARKS] }, END)
    expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
    expect([ran(house), house.count(id, 'token.consumed')]).toEqual([1, 1])
    expect(house.findings(true)).toEqual([])
  })
})

describe.skipIf(!hasTmux).concurrent('an answer at the terminal', () => {
  test('may be the number of a choice, or any other text', async () => {
    const asks = { name: 'ask_operator', input: { question: 'Which branch?', choices: ['main', 'next'] } }
    const { house, id } = await houseWith({ tools: [asks] }, { tools: [asks] }, END)
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a go')
    const screen = await terminal.shows('Your answer, or a number from 1 to 2 (Enter: later):')
    expect(screen).toContain('a asks: Which branch?\n  1. main\n  2. next\n')
    terminal.type('2')
    await terminal.shows(/answered .*: next\n[\s\S]*later\):$/)
    terminal.type('9')
    expect(await terminal.ended(before)).toMatch(/answered .*: 9\nfinished/)
    expect(house.count(id, 'token.consumed')).toBe(2)
  })

  test('may edit the call in a line, on a system without an editor', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120, env: { VISUAL: '', EDITOR: '' } })
    const before = terminal.prompts()
    terminal.type(`PATH=${house.root}/bin substrat send a go`)
    await terminal.shows(WORDS)
    terminal.type('e')
    const line = 'shell command: echo ran >> ran; echo done'
    expect(await terminal.shows(line)).toContain('neither VISUAL nor EDITOR names an editor')
    terminal.press('C-u')
    terminal.type('echo ran >> edited')
    await terminal.shows(/ {2}command: echo ran >> edited\n.*ater:$/)
    terminal.type('y')
    expect(await terminal.ended(before)).toContain('finished')
    expect([house.read('edited'), ran(house)]).toEqual(['ran\n', 0])
    expect(house.count(id, 'tool.edited')).toBe(1)
  })

  test('Ctrl-C in that line decides nothing, and ends the command', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    const terminal = new Terminal(house, { columns: 120, env: { VISUAL: '', EDITOR: '' } })
    const before = terminal.prompts()
    terminal.type(`PATH=${house.root}/bin substrat send a go; echo exit $?`)
    await terminal.shows(WORDS)
    terminal.type('e')
    await terminal.shows('shell command: echo ran >> ran; echo done')
    terminal.press('C-c')
    const screen = await terminal.ended(before)
    expect(screen).toContain('stopped by SIGINT: nothing was decided, and a is still waiting for approval')
    expect(screen).toContain('exit 130')
    expect([ran(house), house.count(id, 'token.consumed')]).toEqual([0, 0])
  })

  test('Ctrl-C in the editor is a key of the editor', async () => {
    const { house, id } = await houseWith({ tools: [MARKS] }, END)
    house.write(
      'editor.sh',
      'trap "touch interrupted" INT; touch editing; until [ -e over ]; do sleep 0.05; done; sed -i s/ran\\;/edited\\;/ "$1"',
    )
    const terminal = new Terminal(house, { columns: 120, env: { VISUAL: '', EDITOR: 'sh editor.sh' } })
    const before = terminal.prompts()
    terminal.type('substrat send a go')
    await terminal.shows(WORDS)
    terminal.type('e')
    await waitFor(() => house.read('editing') !== undefined, 'the editor')
    terminal.press('C-c')
    await waitFor(() => house.read('interrupted') !== undefined, 'the signal')
    house.write('over', '')
    await terminal.shows(/ {2}command: echo ran >> edited; echo done\n.*ater:$/)
    terminal.type('y')
    expect(await terminal.ended(before)).toContain('finished')
    expect([house.read('edited'), ran(house)]).toEqual(['ran\n', 0])
    expect(house.count(id, 'token.consumed')).toBe(1)
  })
})

/** A house whose agent edits one file and writes a new one, in one wait. */
async function writerHouse(): Promise<House> {
  const house = new House({ TZ: 'UTC' })
  const lines = Array.from({ length: 12 }, (_, at) => `line ${at + 1}`)
  house.write('notes.md', `${lines.join('\n')}\n`)
  const edit = {
    path: 'notes.md',
    old_text: 'line 5\n',
    new_text: 'line five, which is longer\nand one more\n',
  }
  const long = `a${' long'.repeat(80)}`
  const tools = [
    { name: 'edit_file', input: edit },
    { name: 'write_file', input: { path: 'new.md', content: `first\n${long}\nlast` } },
  ]
  await house.spawn('writer', '--option', house.scenario('w.json', { tools }, END))
  return house
}

describe.skipIf(!hasTmux)('files that a call writes', () => {
  test('are shown as a diff, at each width', async () => {
    const panes = []
    for (const columns of [60, 100, 200]) {
      const house = await writerHouse()
      const terminal = new Terminal(house, { columns })
      const before = terminal.prompts()
      terminal.type('substrat send writer go')
      const asked = await terminal.shows('[l]ater:')
      terminal.type('l')
      await terminal.ended(before)
      const shown = await terminal.run('substrat show writer')
      const [, calls] = /(^asks to run[\s\S]*)^waits for/m.exec(shown) ?? []
      panes.push({ title: `## ${columns} columns`, pane: `${asked}\n\n$ substrat show writer\n…\n${calls}…` })
    }
    expectPanes('asking', panes)
  })
})
