/** The question of a command that cannot be undone, at a terminal. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { hasTmux, Terminal } from '../support/terminal.js'

describe.skipIf(!hasTmux).concurrent('at a terminal', () => {
  test('terminate and remove ask, and change nothing without a yes', async () => {
    const house = new House()
    const id = await house.spawn('notes')
    const terminal = new Terminal(house)
    for (const [verb, asks] of [
      ['terminate', /Terminate notes\? .*yes or no:$/],
      ['remove', /Remove notes, with logs and files\? .*yes or no:$/],
    ] as const) {
      const before = terminal.prompts()
      terminal.type(`substrat ${verb} notes`)
      await terminal.shows(asks)
      terminal.type('no')
      expect(await terminal.ended(before)).toContain(
        `substrat: nothing was changed (without the question: substrat ${verb} notes --yes)`,
      )
    }
    expect(house.count(id, 'session.terminated')).toBe(0)
    const before = terminal.prompts()
    terminal.type('substrat terminate notes')
    await terminal.shows(/yes or no:$/)
    terminal.type('y')
    expect(await terminal.ended(before)).toContain('notes is terminated')
    expect(house.count(id, 'session.terminated')).toBe(1)
  })

  test('Ctrl-C at the question ends the command and changes nothing', async () => {
    const house = new House()
    const id = await house.spawn('notes')
    const terminal = new Terminal(house)
    const before = terminal.prompts()
    terminal.type('substrat terminate notes --recursive')
    await terminal.shows(/Terminate notes and every agent below it\? .*yes or no:$/)
    terminal.press('C-c')
    // The terminal has shown the key where the cursor was.
    expect(await terminal.ended(before)).toMatch(
      /yes or no: \^C\nsubstrat: stopped by SIGINT before it had changed anything$/,
    )
    expect(await terminal.run('echo "exit $?"')).toContain('exit 130')
    expect(house.count(id, 'session.terminated')).toBe(0)
  })

  test('--yes and --json ask nothing', async () => {
    const house = new House()
    await house.spawn('notes')
    await house.spawn('plans')
    const terminal = new Terminal(house)
    expect(await terminal.run('substrat terminate notes --yes')).toContain('notes is terminated')
    expect(await terminal.run('substrat terminate plans --json')).toContain('"state": "terminated"')
  })
})

test('without a terminal, terminate asks nothing', async () => {
  const house = new House()
  await house.spawn('notes')
  expect((await house.ok('terminate', 'notes')).stdout).toBe('notes is terminated\n')
})
