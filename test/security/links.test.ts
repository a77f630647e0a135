/** A sample of `npm run stress:security`, on each run of the tests; and that it would tell. */
import { spawnSync } from 'node:child_process'
import { expect, test, vi } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import { Findings } from '../../stress/security/finding.js'
import { plantLinks } from '../../stress/security/links.js'
import { repository } from '../../stress/support/lab.js'

vi.setConfig({ testTimeout: 120_000 })

test('no command follows a link that was planted in a home', async () => {
  const lab = MachineLab.open()
  const findings = new Findings(undefined)
  try {
    await plantLinks(lab, findings, 61)
  } finally {
    lab.close()
  }
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('link in the home')).toBeGreaterThan(100)
})

test('a program that follows them is caught', () => {
  const canary = ['--canary', 'links in a home are followed', '--only', 'home/unclean to directory']
  const { stdout, status } = spawnSync(process.execPath, ['stress/run.mjs', 'security', ...canary], {
    cwd: repository,
    encoding: 'utf8',
  })
  expect(stdout).toContain('it changes what is outside')
  expect(status).toBe(1)
})
