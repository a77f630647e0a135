/** Bundles move agents between a home in files and a home in PostgreSQL, in both directions. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, RUN, whyNoPostgres } from '../support/postgres.js'

const LONG = 'long '.repeat(20_000)

describe.skipIf(whyNoPostgres() !== undefined)('a bundle', () => {
  let server: Postgres
  let scratch: string
  let moves = 0
  beforeAll(() => {
    server = new Postgres()
    scratch = mkdtempSync(path.join(os.tmpdir(), 'bundles-'))
  })
  afterAll(() => {
    server?.remove()
    rmSync(scratch, { recursive: true })
  })

  const ok = (home: string, ...args: string[]): string => {
    const env = { ...server.environment('unused'), SUBSTRAT_HOME: home }
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...args], { env, encoding: 'utf8' })
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }

  /** Two agents, a message and a reply that are blobs, a key and pending mail. Returns the reply. */
  const fill = (home: string): string => {
    ok(home, 'spawn', '--name', 'lead', '--provider', 'scripted')
    ok(home, 'spawn', '--name', 'aide', '--parent', 'lead', '--provider', 'scripted')
    const reply = ok(home, 'send', 'lead', LONG, '--key', 'k1')
    ok(home, 'send', 'lead/aide', 'hello')
    ok(home, 'send', 'lead/aide', 'later', '--queue')
    return reply
  }

  const move = (from: string, to: string): void => {
    const bundle = path.join(scratch, `${++moves}.bundle`)
    ok(from, 'export', 'lead', '--bundle', bundle, '--move', '--tree')
    ok(to, 'import', '--trust', bundle)
  }

  const said = (home: string): string[] =>
    ['lead', 'lead/aide'].map((agent) => ok(home, 'log', agent, '--all', '--json'))

  for (const [from, to] of [
    ['postgres', 'files'],
    ['files', 'postgres'],
  ] as const) {
    test(`carries a tree from a home in ${from} to one in ${to} and back, with keys and pending mail`, async () => {
      const homes = {
        files: path.join(scratch, `home-${from}`),
        postgres: server.url(await server.newHome()),
      }
      const reply = fill(homes[from])
      const before = said(homes[from])
      move(homes[from], homes[to])
      const there = said(homes[to])
      expect(there.map((log, n) => log.startsWith(before[n] as string))).toEqual([true, true])
      move(homes[to], homes[from])
      expect(said(homes[from]).map((log, n) => log.startsWith(there[n] as string))).toEqual([true, true])
      for (const home of Object.values(homes)) ok(home, 'doctor', '--all')
      expect(ok(homes[from], 'send', 'lead', LONG, '--key', 'k1')).toBe(reply)
      expect(said(homes[from])[0]?.split(LONG).length).toBe(there[0]?.split(LONG).length)
      ok(homes[from], 'deliver', '--all')
      expect(ok(homes[from], 'log', 'lead/aide')).toContain('later')
    })
  }
})
