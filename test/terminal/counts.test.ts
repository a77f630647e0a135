/** Commands over many agents: how many are done, and how many per second, as a person at a terminal sees it. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Pane, shellLine } from '../support/pane.js'
import { hasTmux } from '../support/terminal.js'
import { waitFor } from '../support/wait.js'

const SLOW_DISK = `NODE_OPTIONS=--import=${pathToFileURL(join(import.meta.dirname, '../support/slow-disk.mjs')).href}`

/** The counts of the command, in the order in which they were drawn: `3 of 8 agents checked · 9.7/s`. */
function counts(pane: Pane, what: string): number[] {
  const drawn = pane.recorded.matchAll(new RegExp(`(\\d+) of (\\d+) ${what} · (\\d+|\\d\\.\\d)/s`, 'g'))
  return [...drawn].map(([, done]) => Number(done))
}

function expectToGrow(drawn: number[]): void {
  expect(drawn.length).toBeGreaterThan(1)
  expect(drawn).toEqual([...drawn].sort((a, b) => a - b))
  expect(drawn.at(-1)).toBeGreaterThan(drawn[0] as number)
}

async function tree(): Promise<House> {
  const house = new House()
  await house.spawn('lead')
  for (let child = 1; child < 8; child++) await house.spawn(`c${child}`, '--parent', 'lead')
  return house
}

describe.skipIf(!hasTmux).concurrent('the count of a command over many agents (needs tmux)', () => {
  test.each([60, 200])('doctor --all shows it until the report, with %i columns', async (columns) => {
    const house = await tree()
    const pane = new Pane(house, columns, `${SLOW_DISK} ${shellLine(house, 'doctor', '--all')}`)
    const end = await pane.until(/exit/)
    expectToGrow(counts(pane, 'agents checked'))
    expect(pane.recorded).toContain('of 8 agents checked')
    expect(end.replaceAll('\n', '')).toMatch(
      /^\S+: format 2, 8 agents; nothing is wrong \(read every log\)\[exit 0\]$/,
    )
  })

  test('export --bundle and import show it', async () => {
    const house = await tree()
    const bundle = shellLine(house, 'export', 'lead', '--tree', '--bundle', 'b')
    const writes = new Pane(house, 100, `${SLOW_DISK} ${bundle}`)
    expect(await writes.until(/exit 0/)).not.toContain('agents read')
    expectToGrow(counts(writes, 'agents read'))
    const reads = new Pane(
      house,
      100,
      `${SLOW_DISK} ${shellLine(house, 'import', '--trust', 'b', '--name', 'copy')}`,
    )
    expect(await reads.until(/exit 0/)).not.toContain('agents imported')
    expectToGrow(counts(reads, 'agents imported'))
  })

  test('recover --all shows it below the turns that it continues', async () => {
    const house = new House()
    for (const name of ['ada', 'bob', 'eve']) {
      const option = house.scenario(`${name}.json`, { say: 'done', after_file: name })
      await house.spawn(name, '--option', option)
      await house.ok('send', name, '--queue', '--no-drain', 'go')
    }
    const killed = house.start(['deliver', '--all'])
    const ids = (await house.ok('list', '--json')).json.agents.map(({ id }: { id: string }) => id)
    const isAsking = (id: string): boolean => house.count(id, 'model.requested') > 0
    await waitFor(() => ids.every(isAsking), 'the requests of the turns')
    await killed.kill()
    const pane = new Pane(house, 100, shellLine(house, 'recover', '--all'))
    await pane.until(/(\w+ · .*turn T.*\n){3}0 of 3 agents visited · R\/s$/)
    house.write('bob', '')
    await pane.until(/^(ada|eve) · .*\n(ada|eve) · .*\n1 of 3 agents visited · R\/s$/m)
    house.write('ada', '')
    house.write('eve', '')
    expect(await pane.until(/exit/)).not.toMatch(/turn T|agents visited/)
  })

  test('in a pipe and with --no-live there is none', async () => {
    const house = await tree()
    const line = `${SLOW_DISK} ${shellLine(house, 'doctor', '--all')}`
    const panes = [new Pane(house, 100, `${line} --no-live`), new Pane(house, 100, `${line} 2>&1 | cat`)]
    for (const pane of panes) {
      await pane.until(/exit/)
      expect(pane.recorded).not.toContain('agents checked')
    }
  })
})
