/** A turn as a person sees it in a terminal. The panes are the expected ones, with times as `T`. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Pane, shellLine } from '../support/pane.js'
import { hasTmux } from '../support/terminal.js'

const GATED = 'until [ -e tested ]; do sleep 0.05; done; echo ok'
/** A turn with wide characters, a tool that runs until the file `tested` exists, and a reply whose end waits for `read`. */
const LONG_TURN = [
  { say: 'Ich prüfe das: 日本語', tools: [{ name: 'shell', input: { command: GATED } }] },
  { pieces: [{ say: 'All tests' }, { say: ' pass.\nNothing is left.', after_file: 'read' }] },
]

async function houseWith(responses: object[], name = 'bot'): Promise<House> {
  const house = new House({ SUBSTRAT_RETRY_DELAYS: '10ms' })
  house.write('turn.json', JSON.stringify({ responses }))
  await house.spawn(name, '--option', 'scenario=turn.json', '--allow', 'all')
  return house
}

describe.skipIf(!hasTmux).concurrent('in a terminal (needs tmux)', () => {
  test.each([
    [60, /^bot · shell: until \[ -e.*… · T · turn T · 3 in 4 out$/],
    [100, /^bot · shell: until .*; echo ok · T · turn T · 3 in 4 out$/],
    [200, /^bot · shell: until .*; echo ok · T · turn T · 3 in 4 out$/],
  ])(
    'a turn of %i columns has its text, its tools and its status, and the reply once',
    async (columns, status) => {
      const house = await houseWith(LONG_TURN)
      const terminal = new Pane(house, columns, shellLine(house, 'send', 'bot', 'is it right'))
      const [text, line = '', ...more] = (await terminal.until(/turn T · 3 in/)).split('\n')
      expect([text, ...more]).toEqual(['Ich prüfe das: 日本語'])
      expect(line).toMatch(status)
      house.write('tested', '')
      const pane = await terminal.until(/writing/)
      const done =
        columns < 100 ? expect.stringMatching(/^→ shell: until .*… … T ✓$/) : `→ shell: ${GATED} … T ✓`
      const shown = ['Ich prüfe das: 日本語', done, 'All tests']
      expect(pane.split('\n').slice(0, 3)).toEqual(shown)
      expect(pane.split('\n')[3]).toMatch(/^bot · writing · T · turn T · 3 in 4 out$/)
      house.write('read', '')
      const end = (await terminal.until(/exit/)).split('\n')
      expect(end).toEqual([
        ...shown.slice(0, 2),
        'All tests pass.',
        'Nothing is left.',
        'T · 6 in 10 out',
        '[exit 0]',
      ])
    },
  )

  test('a change of the width in the middle of a line leaves no remains', async () => {
    const house = await houseWith(LONG_TURN)
    const terminal = new Pane(house, 100, shellLine(house, 'send', 'bot', 'is it right'))
    await terminal.until(/turn T · 3 in/)
    terminal.resize(40)
    await terminal.until(/^bot · shell: until.*… · T/m)
    house.write('tested', '')
    await terminal.until(/writing/)
    terminal.resize(60)
    house.write('read', '')
    const pane = await terminal.until(/exit/)
    expect(pane).not.toMatch(/turn T/)
    expect(pane).toMatch(/All tests pass\.\nNothing is left\.\nT · 6 in 10 out\n\[exit 0\]$/)
  })

  test('text of a request that is retried is marked as discarded', async () => {
    const fail = { type: 'overloaded', attempts: 1, after_text: true }
    const house = await houseWith([{ say: 'Half of', fail }])
    const terminal = new Pane(house, 100, shellLine(house, 'send', 'bot', 'hello'))
    expect(await terminal.until(/exit/)).toBe(
      [
        'Half of',
        'substrat: its AI provider is too busy to answer: the scenario makes this request fail: overloaded;',
        'trying again in T',
        'substrat: the text above is discarded: its request did not complete',
        'Half of',
        'T · 1 in 2 out',
        '[exit 0]',
      ].join('\n'),
    )
  })

  test('the stderr of a program is shown in whole lines, above the status, and once', async () => {
    const house = new House()
    const command =
      'printf "\\033[31mone\\033[0m\\ntw" >&2; until [ -e go ]; do sleep 0.05; done; echo "o" >&2; echo Done.'
    await house.spawn('bot', '--provider', 'exec', '--option', `command=${command}`)
    const terminal = new Pane(house, 100, shellLine(house, 'send', 'bot', 'hello'))
    expect(await terminal.until(/turn T/)).toBe('one\nbot · working · T · turn T')
    house.write('go', '')
    expect(await terminal.until(/exit/)).toBe('one\ntwo\nDone.\nT\n[exit 0]')
  })

  test("without a terminal's display the stderr of a program is not shown, and the log has it", async () => {
    const house = new House()
    await house.spawn('bot', '--provider', 'exec', '--option', 'command=echo one >&2; echo Done.')
    const terminal = new Pane(house, 100, `${shellLine(house, 'send', 'bot', 'hello')} --no-live`)
    expect(await terminal.until(/exit/)).toBe('Done.\n[exit 0]')
    expect((await house.run(['log', 'bot'])).stdout).toContain('stderr: one\n')
  })

  test('escape sequences in the text are shown as codes', async () => {
    const house = await houseWith([{ pieces: [{ say: 'a\u001b' }, { say: ']0;owned\u0007 b\u001b[2J' }] }])
    const terminal = new Pane(house, 100, shellLine(house, 'send', 'bot', 'hello'))
    expect(await terminal.until(/exit/)).toBe('a\\x1b]0;owned\\x07 b\\x1b[2J\nT · 1 in 2 out\n[exit 0]')
  })

  test.each([
    ['--no-live', (line: string) => `${line} --no-live`],
    ['TERM=dumb', (line: string) => `TERM=dumb ${line}`],
    ['CI', (line: string) => `CI=true ${line}`],
    ['a stderr that is a file', (line: string) => `${line} 2>err`],
  ])('with %s only the reply is printed', async (_, changed) => {
    const house = await houseWith(LONG_TURN)
    house.write('tested', '')
    const line = changed(shellLine(house, 'send', 'bot', 'is it right'))
    const terminal = new Pane(house, 100, `${line}; echo end`)
    house.write('read', '')
    expect(await terminal.until(/exit/)).toBe('All tests pass.\nNothing is left.\nend\n[exit 0]')
  })

  test('a reply that goes to a file is not in the terminal, which has the status', async () => {
    const house = await houseWith(LONG_TURN)
    const terminal = new Pane(house, 100, `${shellLine(house, 'send', 'bot', 'is it right')} >reply`)
    expect(await terminal.until(/turn T · 3 in/)).toBe(`bot · shell: ${GATED} · T · turn T · 3 in 4 out`)
    house.write('tested', '')
    house.write('read', '')
    expect(await terminal.until(/exit/)).toBe(`→ shell: ${GATED} … T ✓\nT · 6 in 10 out\n[exit 0]`)
    expect(readFileSync(`${house.workspace}/reply`, 'utf8')).toBe('All tests pass.\nNothing is left.\n')
  })

  test('with LC_ALL=C all signs are ASCII, and with NO_COLOR there are no colours', async () => {
    const house = await houseWith(LONG_TURN)
    const line = shellLine(house, 'send', 'bot', 'is it right')
    const terminal = new Pane(house, 100, `LC_ALL=C NO_COLOR=1 ${line}`)
    await terminal.until(/turn T \| 3 in/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with this one
    expect(terminal.show('-e')).not.toMatch(/\u001b/)
    house.write('tested', '')
    house.write('read', '')
    expect(await terminal.until(/exit/)).toContain(`-> shell: ${GATED} ... T ok\n`)
  })

  test('after a second of waiting for an agent its holder is named', async () => {
    const house = await houseWith(LONG_TURN)
    const first = new Pane(house, 100, shellLine(house, 'send', 'bot', 'is it right'))
    await first.until(/turn T · 3 in/)
    const second = new Pane(house, 100, shellLine(house, 'send', 'bot', 'and now'))
    const waits = /^waiting for bot: held by pid \d+ since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \(substrat send\)$/
    expect(await second.until(/waiting/)).toMatch(waits)
    house.write('tested', '')
    house.write('read', '')
    expect(await second.until(/exit/)).toBe('echo: and now\nT · 2 in 3 out\n[exit 0]')
  })
})

describe.skipIf(!hasTmux)('several agents in a terminal (needs tmux)', () => {
  test('deliver --all has a line for each running turn and a count, until each turn ends', async () => {
    const house = new House()
    for (const name of ['ada', 'bob', 'eve']) {
      const tools = [{ name: 'shell', input: { command: `until [ -e ${name} ]; do sleep 0.05; done` } }]
      house.write(`${name}.json`, JSON.stringify({ responses: [{ tools }, { say: 'done' }] }))
      await house.spawn(name, '--option', `scenario=${name}.json`, '--allow', 'all')
      await house.ok('send', name, '--queue', '--no-drain', 'go')
    }
    const status = (name: string, pane: string): string | undefined =>
      pane.split('\n').find((line) => line.startsWith(`${name} · `))
    const terminal = new Pane(house, 100, `${shellLine(house, 'deliver', '--all')} 2>&1`)
    const pane = await terminal.until(/(\w+ · shell.* in 0 out\n){3}0 of 3 agents visited · R\/s/)
    for (const name of ['ada', 'bob', 'eve'])
      expect(status(name, pane)).toBe(
        `${name} · shell: until [ -e ${name} ]; do sleep 0.05; done · T · turn T · 1 in 0 out`,
      )
    house.write('bob', '')
    const later = await terminal.until(/^1 of 3 agents visited/m)
    expect(later).toContain('bob → shell: until [ -e bob ]; do sleep 0.05; done … T ✓\n')
    expect(status('bob', later)).toBeUndefined()
    for (const name of ['ada', 'eve']) expect(status(name, later)).toMatch(/turn T/)
    house.write('ada', '')
    house.write('eve', '')
    const end = await terminal.until(/exit 0/)
    expect(end).not.toMatch(/turn T|agents visited/)
  })
})
