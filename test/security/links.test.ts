/** Runs a sample of `npm run stress:security`, and shows that the lab catches a broken program. */
import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import { Decoy } from '../../stress/security/decoy.js'
import { Findings } from '../../stress/security/finding.js'
import { plantLinks } from '../../stress/security/links.js'

test('no command follows a link that was planted in a home', async () => {
  const lab = MachineLab.open()
  const findings = new Findings(undefined)
  try {
    await plantLinks(lab, findings, 181)
  } finally {
    lab.close()
  }
  expect(findings.broken).toEqual([])
  expect(findings.counts.get('link in the home')).toBeGreaterThan(40)
})

test('a program that follows a link is caught, whether it writes, creates or removes a file', () => {
  const decoy = new Decoy()
  const folder = mkdtempSync(join(tmpdir(), 'substrat-links-'))
  const acts: ((link: string) => void)[] = [
    (link) => appendFileSync(join(link, 'file'), 'x'),
    (link) => writeFileSync(join(link, 'new'), ''),
    (link) => rmSync(join(link, 'x.1-1.tmp')),
  ]
  try {
    const link = join(folder, 'link')
    symlinkSync(decoy.directory, link)
    for (const act of acts) {
      decoy.reset()
      const before = decoy.print()
      act(link)
      expect(decoy.print()).not.toBe(before)
    }
  } finally {
    decoy.close()
    rmSync(folder, { recursive: true })
  }
})
