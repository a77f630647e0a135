/** A person at a terminal answers an agent's question, or replaces it. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { parked } from '../support/parked.js'
import { hasTmux, steady, Terminal } from '../support/terminal.js'

const QUESTION = { name: 'ask_operator', input: { question: 'Which branch?' } }

describe.skipIf(!hasTmux).concurrent('a plain send to an agent that asks a question', () => {
  test('asks first, and gives the message as the answer if the person says so', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION] })
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a main')
    await terminal.shows('[l]eave it:')
    terminal.type('a')
    expect(steady(await terminal.ended(before)).replace(/\d+ s ·/, 'T ·')).toBe(
      [
        '$ substrat send a main',
        'substrat: a asks: Which branch?',
        'Is your message the answer? [a]nswer, [r]eplace the waiting turn, or [l]eave it: a',
        'substrat: answered "Which branch?": main',
        'finished',
        'T · 2 in 1 out',
      ].join('\n'),
    )
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({ content: 'main' })
    expect(house.count(id, 'run.started')).toBe(1)
  })

  test('replaces the turn if the person says so, and says what was given up', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION] })
    const terminal = new Terminal(house, { columns: 200 })
    const before = terminal.prompts()
    terminal.type('substrat send a main')
    await terminal.shows('[l]eave it:')
    terminal.type('replace')
    const screen = await terminal.ended(before)
    expect(screen).toContain(
      `substrat: gave up the question "Which branch?" of a; this message starts a new turn (instead of send: substrat answer a '…')\nfinished`,
    )
    expect(house.count(id, 'run.started')).toBe(2)
  })

  test('leaves the turn as it is at an empty or other answer and at Ctrl-D', async () => {
    const house = new House()
    const { id } = await parked(house, { tools: [QUESTION] })
    const log = house.log(id)
    const terminal = new Terminal(house, { columns: 60 })
    const before = terminal.prompts()
    terminal.type('substrat send a main; echo exit $?')
    await terminal.shows('[l]eave it:')
    terminal.type('')
    await terminal.shows('type answer, replace or leave')
    terminal.press('C-d')
    expect(await terminal.ended(before)).toContain('exit 5')
    expect(house.log(id)).toBe(log)
  })

  test('asks nothing with --if-waiting, --key or --json', async () => {
    const house = new House()
    await parked(house, { tools: [QUESTION] })
    const terminal = new Terminal(house)
    expect(await terminal.run('substrat send a main --if-waiting fail; echo exit $?')).toContain('exit 5')
    expect(await terminal.run('substrat send a main --key k; echo exit $?')).toContain('exit 5')
    expect(await terminal.run('substrat send a main --json; echo exit $?')).toContain('exit 0')
  })
})

test.skipIf(!hasTmux)(
  'a send to an agent that needs approval offers to replace it, not to answer it',
  async () => {
    const house = new House()
    await parked(house)
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat send a stop')
    await terminal.shows('[r]eplace it, or [l]eave it:')
    terminal.press('C-c')
    await terminal.ended(before)
    expect((await house.ok('show', 'a', '--json')).json.agent.status).toBe('waiting')
  },
)

describe.skipIf(!hasTmux).concurrent('the inbox of a person at a terminal', () => {
  const fails = { fail: { type: 'invalid' } }
  const failed = 'substrat: the turn of bot failed: its AI provider rejected the request'

  test('does not repeat the error that the command has just shown, also after the next turn', async () => {
    const house = new House()
    await house.spawn('bot', '--option', house.scenario('s.json', fails))
    const terminal = new Terminal(house)
    expect(await terminal.run('substrat send bot go')).toContain(failed)
    expect(await terminal.run('substrat inbox')).toBe('$ substrat inbox\nno messages')
    await house.ok('recover', '--all')
    await house.ok('send', 'bot', 'again')
    expect(house.operatorMail()).toEqual([])
    expect(house.findings(true)).toEqual([])
  })

  test('has an error that went to a file, and that of an agent to which deliver gave a turn', async () => {
    const house = new House()
    await house.spawn('bot', '--option', house.scenario('s.json', fails, fails))
    const terminal = new Terminal(house)
    await terminal.run('substrat send bot go 2>err')
    expect(house.read('err')).toContain(failed)
    expect(house.operatorMail()).toHaveLength(1)
    await house.spawn('other', '--option', house.scenario('s.json', fails))
    await house.ok('send', 'other', '--queue', '--no-drain', 'go')
    await terminal.run('substrat deliver --all')
    expect(await terminal.run('substrat inbox')).toMatch(/error \w+ from bot[\s\S]*error \w+ from other/)
  })
})
