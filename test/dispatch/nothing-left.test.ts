/**
 * After a SIGKILL of substrat, no process that any provider or tool started survives, without a further command.
 * Each program here hangs, hears no signal, and has put a child into its group and another into a session of its own.
 */
import { chmodSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { isAlive, processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const REPOSITORY = path.join(import.meta.dirname, '../..')
const STUBBORN = [
  '#!/bin/sh',
  'trap "" HUP INT TERM PIPE',
  'echo $$ > self',
  'sleep 3600 & echo $! > child',
  'setsid sh -c "echo \\$\\$ > apart; exec sleep 3600" </dev/null >/dev/null 2>&1 &',
  'while :; do sleep 3600; done',
].join('\n')
const FILES = ['self', 'child', 'apart']

function begin(house: House, ...words: string[]): Running {
  house.write('stubborn', STUBBORN)
  chmodSync(path.join(house.workspace, 'stubborn'), 0o755)
  return house.start(['spawn', '--name', 'a', '--allow', 'all', ...words, 'go'])
}

async function killedAt(house: House, sender: Running): Promise<void> {
  const hasBegun = (name: string): boolean => house.read(name)?.endsWith('\n') === true
  await waitFor(() => FILES.every(hasBegun), 'the program')
  const pids = FILES.map((name) => Number(house.read(name)))
  expect(pids.map(isAlive)).toEqual([true, true, true])
  await sender.kill()
  const left = (): number[] => processesWith(`SUBSTRAT_HOME=${house.home}`)
  await waitFor(() => !pids.some(isAlive) && left().length === 0, 'the end of all that it had started')
}

describe.concurrent('a killed substrat leaves nothing that runs', () => {
  test.each(['claude-code', 'codex', 'acp', 'opencode'])(
    'started by an agent of the provider %s',
    async (name) => {
      const house = new House()
      house.plugin(
        name,
        readFileSync(path.join(REPOSITORY, `plugins/provider-${name}/dist/index.cjs`), 'utf8'),
      )
      await killedAt(
        house,
        begin(house, '--provider', name, '--option', `command=${house.workspace}/stubborn`),
      )
      await house.run(['recover', '--all', '--continue', 'none'])
      // Nor a file that its program was given.
      expect(house.findings(true)).toEqual([])
    },
  )

  test('started by exec', async () => {
    const house = new House()
    await killedAt(house, begin(house, '--provider', 'exec', '--option', 'command=./stubborn'))
  })

  test('started by a tool', async () => {
    const house = new House()
    const tools = [{ name: 'shell', input: { command: './stubborn' } }]
    await killedAt(house, begin(house, '--option', house.scenario('s.json', { tools })))
  })

  test('started by a tool server', async () => {
    const house = new House()
    const servers = JSON.stringify({ notes: { command: `${house.workspace}/stubborn` } })
    await house.ok('config', 'set', 'mcp_servers', servers)
    await killedAt(house, begin(house, '--option', house.scenario('s.json', { say: 'hi' })))
  })
})
