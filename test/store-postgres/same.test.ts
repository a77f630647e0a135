/** The same errand in a home in files and in one in PostgreSQL: output, JSON and exits are the same, but for ids and times. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'
import { anonymousText } from './faults/view.js'

const ASKS = { responses: [{ tools: [{ name: 'shell', input: { command: 'echo hi' } }] }, { say: 'done' }] }
const QUESTION = {
  responses: [{ tools: [{ name: 'ask_operator', input: { question: 'Which?' } }] }, { say: 'ok' }],
}
const TARGET = [{ name: 'me', on: ['completed', 'failed', 'waiting'], run: ['sh', '-c', 'cat >> notified'] }]

/** Every command that works on a home, also where it is refused. */
const ERRAND: string[][] = [
  ['list'],
  ['show', 'nobody'],
  ['spawn', '--name', 'lead', '--provider', 'scripted', '--title', 'The lead'],
  ['spawn', '--name', 'lead', '--provider', 'scripted'],
  ['spawn', '--name', 'aide', '--parent', 'lead', '--provider', 'scripted', 'hello there'],
  ['spawn', '--name', 'asks', '--provider', 'scripted', '--option', 'scenario=asks.json'],
  ['spawn', '--name', 'quest', '--provider', 'scripted', '--option', 'scenario=question.json'],
  ['config', 'set', 'notify', JSON.stringify(TARGET)],
  ['config', 'set', 'slots_max', '3'],
  ['config', 'set', 'slots_max', 'many'],
  ['config', 'get', 'slots_max', '--json'],
  ['config', 'unset', 'slots_max'],
  ['notify', 'test'],
  ['send', 'lead', 'hello', '--key', 'k1'],
  ['send', 'lead', 'hello', '--key', 'k1'],
  ['send', 'lead', 'other', '--key', 'k1'],
  ['send', 'lead', 'with json', '--json'],
  ['send', 'lead', 'streamed', '--stream'],
  ['send', 'lead', 'long '.repeat(20_000), '--key', 'k2'],
  ['send', 'lead/aide', 'later', '--queue', '--no-drain'],
  ['send', 'lead', 'one day', '--queue', '--not-before', '2099-01-01T00:00:00Z'],
  ['inbox', 'lead/aide', '--json'],
  ['inbox', 'lead'],
  ['send', 'asks', 'go'],
  ['show', 'asks', '--json'],
  ['inbox'],
  ['approve', 'asks'],
  ['approve', 'asks'],
  ['send', 'quest', 'go', '--json'],
  ['answer', 'quest', 'this one'],
  ['list', '--json'],
  ['list', '--status', 'idle'],
  ['tree'],
  ['tree', '--json'],
  ['show', 'lead'],
  ['show', 'lead', '--reply'],
  ['log', 'lead'],
  ['log', 'lead', '-n', '2', '--json'],
  ['search', 'hello'],
  ['search', 'hello', '--json'],
  ['usage'],
  ['usage', '--json', '--by', 'model'],
  ['outbox'],
  ['set', 'lead', '--title', 'Another'],
  ['set', 'lead'],
  ['gate', 'lead'],
  ['send', 'lead', 'refused'],
  ['ungate', 'lead'],
  ['suspend', 'lead', '--hold'],
  ['send', 'lead', 'refused'],
  ['resume', 'lead'],
  ['retry', 'lead'],
  ['cancel', 'lead'],
  ['fork', 'lead', '--name', 'copy'],
  ['export', 'lead', '--bundle', 'lead.bundle', '--tree'],
  ['import', 'lead.bundle', '--name', 'again'],
  ['deliver', '--all'],
  ['deliver', 'lead', '--json'],
  ['wait', 'lead', '--json'],
  ['recover', '--all', '--json'],
  ['token', 'rotate', 'asks'],
  ['doctor', '--all'],
  ['unlock', 'lead'],
  ['terminate', 'lead'],
  ['terminate', 'lead', '--recursive'],
  ['send', 'lead', 'too late'],
  ['remove', 'lead'],
  ['prune', '--older-than', '0s', '--json'],
  ['list', '--all'],
  ['complete', '--', 'show', ''],
]

/** Files only: a lock that a person removes, and the places of logs and settings. */
const DIFFERENT = [/^unlock/]

test.skipIf(whyNoPostgres() !== undefined)('an errand through every command', async () => {
  const server = new Postgres()
  const root = mkdtempSync(path.join(os.tmpdir(), 'same-'))
  try {
    const transcript = (kind: string, home: string): string[] => {
      // The same path for both: agents have it in their records.
      const cwd = path.join(root, 'workspace')
      rmSync(cwd, { recursive: true, force: true })
      mkdirSync(cwd)
      writeFileSync(path.join(cwd, 'asks.json'), JSON.stringify(ASKS))
      writeFileSync(path.join(cwd, 'question.json'), JSON.stringify(QUESTION))
      return ERRAND.map((argv) => {
        const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], {
          cwd,
          env: { ...server.environment('unused'), SUBSTRAT_HOME: home },
          encoding: 'utf8',
        })
        const words = argv.join(' ').slice(0, 60)
        expect(status, `${kind}: ${words}: ${stderr}`).not.toBe(1)
        // Agents are visited in the order of their ids, which are random, and at the same time.
        const lines = masked(stdout, home).split('\n')
        const printed = argv.includes('--all') ? lines.sort() : lines
        return `${words}\nexit ${status}\n${printed.join('\n')}\n${masked(stderr, home)}`
      })
    }
    const files = transcript('files', path.join(root, 'home'))
    const database = transcript('PostgreSQL', server.url(await server.newHome()))
    const isCompared = (line: string): boolean => !DIFFERENT.some((pattern) => pattern.test(line))
    expect(database.filter(isCompared)).toEqual(files.filter(isCompared))
  } finally {
    server.remove()
    rmSync(root, { recursive: true, force: true })
  }
})

function masked(text: string, home: string): string {
  return (
    anonymousText(text.replaceAll(`${home}/config.json`, 'HOME').replaceAll(home, 'HOME'))
      .replaceAll(/\b[0-9a-f]{8}\b/g, 'SHORT')
      .replaceAll(/\b\d\d:\d\d(:\d\d)?\b/g, 'CLOCK')
      .replaceAll(/"(pid|process_group|start_time|uptime_ms|duration_ms|bytes|log_bytes)":\d+/g, '"$1":0')
      // Only a shared home has it.
      .replaceAll(/\s*"workspace_host": ?\{[^}]*\},?/g, '')
      .replaceAll(/,?"host_(id|name)":"[^"]*"/g, '')
      .replaceAll(/^host .*\n/gm, '')
      .replaceAll(/\bpid \d+/g, 'pid N')
      .replaceAll(/\d+(\.\d+)? ?(ms|s)\b/g, 'TIME')
  )
}
