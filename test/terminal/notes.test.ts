/** Notes and errors in terminals of several widths. The panes are in test/terminal/panes/notes.txt. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Pane, shellLine } from '../support/pane.js'
import { expectPanes } from '../support/pane-file.js'
import { hasTmux } from '../support/terminal.js'

/** Their errors are long, name a command, and come from a command of ours, from oclif, and before any command. */
const LINES = [
  ['send', 'bot', 'again'],
  ['send', 'bot', 'hi', '--no-such-flag'],
  ['no-such-command'],
  ['remove', 'bot', '--yes'],
]

async function waitingHouse(): Promise<House> {
  const house = new House()
  const tools = [{ name: 'shell', input: { command: 'npm test' } }]
  house.write('turn.json', JSON.stringify({ responses: [{ say: 'Now', tools }] }))
  await house.spawn('bot', '--option', 'scenario=turn.json')
  await house.run(['send', 'bot', 'begin'])
  return house
}

describe.skipIf(!hasTmux)('in a terminal (needs tmux)', () => {
  test('no word and no command of a note or an error is cut', async () => {
    const panes: { title: string; pane: string }[] = []
    for (const columns of [40, 80, 120]) {
      const house = await waitingHouse()
      for (const words of LINES) {
        const terminal = new Pane(house, columns, `${shellLine(house, ...words)} --no-live </dev/null`)
        panes.push({
          title: `substrat ${words.join(' ')} (${columns} columns)`,
          pane: await terminal.until(/exit/),
        })
        terminal.close()
      }
    }
    expectPanes('notes', panes)
  })

  test('in a pipe each is one line', async () => {
    const house = await waitingHouse()
    for (const words of LINES) expect((await house.run(words)).stderr).toMatch(/^[^\n]{50,}\n$/)
  })
})
