/** The line of usage and cost after a turn. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { hasTmux, Terminal } from '../support/terminal.js'

const LINE = /^[\d.]+ s · \d+ in \d+ out$/m

describe.skipIf(!hasTmux)('after a turn at a terminal', () => {
  test('the last line has its usage, on stderr, unless the turn ran earlier', async () => {
    const house = new House()
    await house.spawn('bot')
    const terminal = new Terminal(house)
    const shown = await terminal.run('substrat send bot --key k go')
    expect(shown).toMatch(LINE)
    expect(shown.indexOf('echo: go')).toBeLessThan(shown.search(LINE))
    const again = await terminal.run('substrat send bot --key k go')
    expect(again).toContain('echo: go')
    expect(again).not.toMatch(LINE)
    for (const quiet of ['substrat send bot go 2>/dev/null', 'substrat send bot go --json']) {
      const lines = await terminal.run(quiet)
      expect(lines).toContain('echo: go')
      expect(lines).not.toMatch(LINE)
    }
  })

  test('a failed turn has the line too, and a turn without usage its time', async () => {
    const house = new House()
    const responses = [
      { tools: [{ name: 'shell', input: { command: 'true' } }] },
      { fail: { type: 'billing' } },
    ]
    await house.spawn('fails', '--allow', 'shell', '--option', house.scenario('s.json', ...responses))
    await house.spawn('runs', '--provider', 'exec', '--option', 'command=echo hi')
    const terminal = new Terminal(house)
    expect(await terminal.run('substrat send fails go')).toMatch(/failed: [\s\S]*\n[\d.]+ s · 1 in \d out$/)
    expect(await terminal.run('substrat send runs go')).toMatch(/\nhi\n[\d.]+ s$/)
  })
})
