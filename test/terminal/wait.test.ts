/** The progress of a wait for many agents, in one line of a terminal. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Pane, shellLine } from '../support/pane.js'
import { hasTmux } from '../support/terminal.js'

describe.skipIf(!hasTmux)('in a terminal (needs tmux)', () => {
  test('wait --all says how many agents are done, running and waiting for a person', async () => {
    const house = new House()
    const scripts = {
      asker: { tools: [{ name: 'shell', input: { command: 'true' } }] },
      slow: { after_file: 'go', say: 'ready' },
      rest: { say: 'x' },
    }
    for (const [name, script] of Object.entries(scripts)) {
      await house.spawn(name, '--option', house.scenario(`${name}.json`, script))
      if (name !== 'rest') await house.ok('send', name, 'go', '--queue', '--no-drain')
    }
    const terminal = new Pane(house, 100, shellLine(house, 'wait', '--all'))
    const pane = await terminal.until(/need/)
    expect(pane.split('\n').at(-1)).toBe('1 of 3 done, 1 running, 1 needs you: asker')
    house.write('go', '')
    const end = await terminal.until(/exit/)
    expect(end).toMatch(/^asker: waiting$/m)
    expect(end).toMatch(/^slow: idle\nrest: idle\n\[exit 5\]$/m)
    expect(end).not.toContain('of 3 done')
  })
})
