/** Runs a sample of `npm run stress:hosts`, and shows that the lab catches programs that outlive their lease. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { whyNoNetwork } from '../../stress/hosts/network.js'
import { whyNoPostgres } from '../support/postgres.js'

const root = join(import.meta.dirname, '../..')
const SMALL = ['--seed', '3', '--minutes', '0.5', '--hosts', '2', '--agents', '2']

/** Returns the output of the lab, also when it failed. */
async function lab(...words: string[]): Promise<string> {
  const argv = [join(root, 'stress/run.mjs'), 'hosts', ...SMALL, ...words]
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { cwd: root }, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}

describe.skipIf((whyNoPostgres() ?? whyNoNetwork()) !== undefined)('hosts of a home in PostgreSQL', () => {
  test('lose and double nothing while networks, holders, hosts and the server fail', async () => {
    expect(await lab()).toContain('violations: 0\n')
  })

  test('are seen to run two tools of an agent at once if programs outlive the lease', async () => {
    // It ends as soon as it sees them.
    expect(await lab('--canary', '--minutes', '5')).toMatch(/^caught: /m)
  })
})
