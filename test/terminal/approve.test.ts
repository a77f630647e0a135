/** A person at a terminal sees the calls before approving them. */
import { mkdirSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { parked, ran } from '../support/parked.js'
import { hasTmux, Terminal } from '../support/terminal.js'
import { waitFor } from '../support/wait.js'

// The gaps would move the beginning out of the window.
const CONTENT = `one${' '.repeat(500)}one${'\n'.repeat(61)}${'x'.repeat(20)}\n`
const COMMAND = 'echo ran >> ran; echo done'

describe.skipIf(!hasTmux).concurrent('approve at a terminal', () => {
  test('shows the whole arguments, without long gaps, and runs the calls after yes', async () => {
    const house = new House()
    const writes = { name: 'write_file', input: { path: 'made.txt', content: CONTENT } }
    await parked(house, { tools: [writes] })
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat approve a')
    await terminal.shows('[l]ater:')
    terminal.type('y')
    const lines = (await terminal.ended(before)).split('\n')
    expect(lines.slice(0, 7)).toEqual([
      '$ substrat approve a',
      'a asks to run write_file',
      '  path: made.txt',
      '  new file, 62 lines:',
      '    @@ -0,0 +1,62 @@',
      '    +one [500 spaces] one',
      '    +',
    ])
    expect(lines).toContain(`    +${'x'.repeat(20)}`)
    expect(lines).toContain('Run it? [y]es, [n]o, [e]dit, [a]lways or [l]ater: y')
    expect(lines.at(-2)).toBe('finished')
    expect(house.read('made.txt')).toBe(CONTENT)
  })

  test('denies them after no, and decides nothing at Ctrl-D', async () => {
    const house = new House()
    const { id } = await parked(house)
    const log = house.log(id)
    const terminal = new Terminal(house, { columns: 60 })
    const first = terminal.prompts()
    terminal.type('substrat approve a; echo exit $?')
    await terminal.shows(COMMAND)
    terminal.press('C-d')
    expect(await terminal.ended(first)).toContain('exit 5')
    expect(house.log(id)).toBe(log)
    const second = terminal.prompts()
    terminal.type('substrat approve a')
    await terminal.shows(/substrat approve a\n[^$]*\[l\]ater:$/)
    terminal.type('no')
    await terminal.shows('Enter for none:')
    terminal.type('')
    expect(await terminal.ended(second)).toContain('denied shell')
    expect(ran(house)).toBe(0)
  })
})

describe.skipIf(!hasTmux).concurrent('edit at the question of approve', () => {
  const editor = (script: string): string => `EDITOR="sed -i '${script}'" substrat approve a`

  test('runs the call with the arguments of the editor, and asks again before', async () => {
    const house = new House()
    const { id } = await parked(house)
    const terminal = new Terminal(house, { columns: 100 })
    const before = terminal.prompts()
    terminal.type(editor('s/ran;/edited;/'))
    await terminal.shows('[l]ater:')
    terminal.type('e')
    await terminal.shows(/command: echo ran >> edited; echo done\n.*\[l\]ater:$/)
    terminal.type('yes')
    const screen = await terminal.ended(before)
    expect(screen).toContain('approved shell: echo ran >> edited; echo done')
    expect(house.read('edited')).toBe('ran\n')
    expect(ran(house)).toBe(0)
    const records = house.records(id)
    const consumed = records.find(({ kind }) => kind === 'token.consumed')
    expect(records.find(({ kind }) => kind === 'tool.edited')).toMatchObject({
      tool: 'shell',
      input: { command: 'echo ran >> edited; echo done' },
      batch: consumed?.batch,
    })
    expect((await house.ok('log', 'a')).stdout).toContain('you changed the call: shell: echo ran >> edited')
    expect(house.findings(true)).toEqual([])
  })

  test('killed while the editor is open decides nothing, and the next edit removes the draft', async () => {
    const house = new House()
    const { id } = await parked(house)
    const log = house.log(id)
    const drafts = `${house.root}/drafts`
    mkdirSync(drafts)
    const terminal = new Terminal(house, { columns: 100, env: { TMPDIR: drafts } })
    const first = terminal.prompts()
    house.write('editor.sh', 'touch editing; until [ -e over ]; do sleep 0.05; done')
    house.write('approve.sh', 'echo $$ >pid; EDITOR="sh editor.sh" exec substrat approve a')
    terminal.type('sh approve.sh')
    await terminal.shows('[l]ater:')
    terminal.type('e')
    await waitFor(() => house.read('editing') !== undefined, 'the editor')
    process.kill(Number(house.read('pid')), 'SIGKILL')
    house.write('over', '')
    await terminal.ended(first)
    expect(readdirSync(drafts)).toHaveLength(1)
    expect(house.log(id)).toBe(log)
    const second = terminal.prompts()
    terminal.type(editor('s/ran;/edited;/'))
    await terminal.shows(/approve a\n[^$]*\[l\]ater:$/)
    terminal.type('e')
    await terminal.shows(/edited; echo done\n.*\[l\]ater:$/)
    expect(readdirSync(drafts)).toEqual([])
    terminal.type('later')
    await terminal.ended(second)
  })

  test('changes nothing if the text is not such a call, and asks again', async () => {
    const house = new House()
    const { id } = await parked(house)
    const terminal = new Terminal(house, { columns: 100 })
    const before = terminal.prompts()
    terminal.type(editor('s/shell/other/'))
    await terminal.shows('[l]ater:')
    terminal.type('edit')
    await terminal.shows(/call 1 must be of the tool shell[\s\S]*\[l\]ater:$/)
    terminal.type('y')
    await terminal.ended(before)
    expect(ran(house)).toBe(1)
    expect(house.count(id, 'tool.edited')).toBe(0)
  })
})

describe.concurrent('approve --always', () => {
  const shell = { name: 'shell', input: { command: 'echo once' } }

  test('allows the same command from the next turn on, in one batch with the approval', async () => {
    const house = new House()
    const option = house.scenario(
      's.json',
      { tools: [shell] },
      { say: 'one' },
      { tools: [shell] },
      { say: 'two' },
    )
    const id = await house.spawn('a', '--option', option)
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    const approved = await house.ok('approve', 'a', '--always')
    expect(approved.stderr).toContain('without approval from its next turn on: shell(echo once)')
    const records = house.records(id)
    const consumed = records.find(({ kind }) => kind === 'token.consumed')
    expect(records.findLast(({ kind }) => kind === 'session.configured')).toMatchObject({
      allow: ['shell(echo once)'],
      batch: consumed?.batch,
    })
    expect((await house.ok('send', 'a', 'again')).stdout).toBe('two\n')
    expect(house.findings(true)).toEqual([])
  })

  test('is refused for a command line that chains, and nothing is decided', async () => {
    const house = new House()
    const { id } = await parked(house)
    const refused = await house.run(['approve', 'a', '--always'])
    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(house.count(id, 'token.consumed')).toBe(0)
    expect(ran(house)).toBe(0)
  })
})

describe.concurrent('approve --edits', () => {
  test('runs the calls with the arguments of a file', async () => {
    const house = new House()
    const { id } = await parked(house)
    const waiting = house.records(id).find(({ kind }) => kind === 'run.waiting')
    const { token_id, asks } = waiting as unknown as { token_id: string; asks: [{ call_id: string }] }
    const [{ call_id }] = asks
    const file = house.write('edits.json', JSON.stringify([{ call_id, input: { command: 'echo edited' } }]))
    await house.ok('approve', 'a', token_id, '--edits', file)
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: 'edited\n',
    })
    expect([ran(house), house.count(id, 'tool.edited')]).toEqual([0, 1])
  })

  test('is refused without the id of the token, and for anything but a list of calls', async () => {
    const house = new House()
    const { id } = await parked(house)
    const { token_id } = (await house.ok('show', 'a', '--json')).json.wait
    const refused = async (text: string, ...words: string[]): Promise<string> => {
      const { exit, stderr } = await house.run(['approve', 'a', ...words, '--edits', '-'], { stdin: text })
      expect(exit).toBe(2)
      return stderr
    }
    expect(await refused('[]')).toContain('--edits needs the TOKEN_ID')
    for (const text of ['', '{}', '[]', '[1]', '[{"call_id":"a"}]', '[{"call_id":"a","input":[]}]'])
      expect(await refused(text, token_id)).toContain('the edits are invalid')
    expect(await refused('[{"call_id":"a","input":{}}]', token_id)).toContain('does not wait for the call a')
    expect([ran(house), house.count(id, 'token.consumed')]).toEqual([0, 0])
  })
})
