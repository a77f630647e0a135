/** The printed units, as systemd and the cron of Debian read them. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { cronLines, SYSTEMD_UNITS, systemdUnit, type UnitFacts } from '../../src/operations/units.js'
import { House } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

const RUN_JS = path.join(import.meta.dirname, '..', '..', 'bin', 'run.js')

/** Complaints of systemd about the units of a folder. Empty if it accepts them. */
function complaints(folder: string): string {
  const files = SYSTEMD_UNITS.map((name) => path.join(folder, name))
  const { status, stdout, stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--user', '--man=no', ...files],
    {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: folder, SYSTEMD_LOG_LEVEL: 'warning' },
    },
  )
  const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('substrat-'))
  return status === 0 ? said.join('\n') : `exit ${status}: ${stdout}${stderr}`
}

function cronComplaints(text: string): string {
  const file = path.join(tempDirectory(), 'crontab')
  writeFileSync(file, text)
  const { status, stdout, stderr } = spawnSync('crontab', ['-n', file], { encoding: 'utf8' })
  return status === 0 ? '' : `${stdout}${stderr}`
}

/** Paths with all characters that need quotes, and an executable that exists. */
function oddFacts(): UnitFacts {
  const folder = path.join(tempDirectory(), `a b 50%h $HOME "q" it's`)
  mkdirSync(folder)
  const node = path.join(folder, 'node')
  writeFileSync(node, '#!/bin/sh\n')
  chmodSync(node, 0o755)
  return {
    node,
    program: node,
    environment: { SUBSTRAT_HOME: folder },
    environmentFile: `${folder}/environment`,
  }
}

function write(folder: string, facts: UnitFacts): void {
  for (const name of SYSTEMD_UNITS) writeFileSync(path.join(folder, name), systemdUnit(name, facts))
}

describe('systemd', () => {
  test('accepts the printed units, one file each', async () => {
    const house = new House({ PATH: process.env.PATH ?? '' })
    const bin = path.join(house.root, 'substrat')
    symlinkSync(RUN_JS, bin)
    const folder = tempDirectory()
    for (const name of SYSTEMD_UNITS) {
      const { status, stdout } = spawnSync(process.execPath, [bin, 'units', 'systemd', name], {
        env: house.env,
        encoding: 'utf8',
      })
      expect(status).toBe(0)
      writeFileSync(path.join(folder, name), stdout)
      if (name.endsWith('.service')) expect(stdout).toContain(`\nExecStart=${process.execPath} ${bin} `)
    }
    expect(complaints(folder)).toBe('')
  })

  test('accepts paths with special characters', () => {
    const folder = tempDirectory()
    const facts = oddFacts()
    write(folder, facts)
    expect(complaints(folder)).toBe('')
    const plain = path.join(path.dirname(path.dirname(facts.node)), 'a b 50%h $HOME')
    renameSync(path.dirname(facts.node), plain)
    write(folder, { ...facts, node: path.join(plain, 'node') })
    expect(complaints(folder)).toBe('')
  })

  test('complains about an executable that is missing, so these tests can fail', () => {
    const folder = tempDirectory()
    write(folder, { ...oddFacts(), node: '/no such/node' })
    expect(complaints(folder)).toContain('/no such/node')
  })
})

describe('cron', () => {
  test('accepts the printed lines, and paths with special characters', async () => {
    const house = new House()
    const { stdout } = await house.ok('units', 'cron')
    expect(stdout.match(/^(@reboot|\* \* \* \* \*) .* (recover|deliver) --all$/gm)).toHaveLength(2)
    expect(cronComplaints(stdout)).toBe('')
    expect(cronComplaints(cronLines(oddFacts()))).toBe('')
    expect(cronComplaints('* * * * nonsense\n')).not.toBe('')
  })

  test('runs a line as sh reads it after cron has replaced the escaped percent signs', () => {
    const facts = oddFacts()
    writeFileSync(facts.node, '#!/bin/sh\nprintf "%s|%s|%s" "$SUBSTRAT_HOME" "$0" "$*"\n')
    const line = cronLines(facts).trimEnd().split('\n').at(-1) as string
    const command = line.replace('* * * * * ', '').replaceAll('\\%', '%')
    const { stdout } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' })
    expect(stdout).toBe(`${path.dirname(facts.node)}|${facts.node}|${facts.program} deliver --all`)
  })
})
