/** `selftest` as a person runs it: with real processes, on the file system of the tests and on one that looks like NFS. */
import { readdirSync, readFileSync, statfsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { linkHooked } from '../support/plugin.js'
import { waitFor } from '../support/wait.js'

const TMPFS = 0x01021994
const NETWORK = path.join(import.meta.dirname, '../support/network-file-system.mjs')

interface Check {
  what: string
  verdict: string
  detail: string
}

function failedIn({ json }: { json: { checks: Check[] } }): Check[] {
  return json.checks.filter(({ verdict }) => verdict === 'does_not_hold')
}

function places(house: House): string[] {
  return readdirSync(house.root).filter((name) => name.includes('selftest'))
}

test('tests this machine, changes no home, and leaves nothing behind', async () => {
  const house = House.ofProcesses()
  // So many that some fall on the running tool.
  const { exit, json, stderr } = await house.run(['selftest', '--kills', '40', '--json'])
  const isInMemory = statfsSync(house.root).type === TMPFS
  const memory = 'the file system has passed power cuts'
  expect(json).toMatchObject({ home: house.home })
  expect(
    failedIn({ json })
      .map(({ what, detail }) => [what, detail])
      .filter(([what]) => what !== memory),
  ).toEqual([])
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/doctor.md'), 'utf8')
  const rows = page.split('| method |')[1]?.matchAll(/^\| ([a-z].*?) \| /gm) ?? []
  expect(json.checks.map(({ what }: Check) => what)).toEqual([...rows].map(([, what]) => what))
  expect(exit).toBe(isInMemory ? 11 : 0)
  expect(stderr).toContain(isInMemory ? `this does not hold for ${house.home}: ${memory}` : '')
  expect(house.exists()).toBe(false)
  expect(places(house)).toEqual([])
})

test('prints a row for each check, then the counts', async () => {
  const house = House.ofProcesses()
  const { stdout } = await house.run([
    'selftest',
    '--kills',
    '1',
    '--home',
    path.join(house.root, 'other/home'),
  ])
  expect(stdout).toMatch(/^check +result +detail\n/)
  expect(stdout).toMatch(/^a lock has one holder +holds +the second of two/m)
  expect(stdout).toMatch(/^a sync reaches the disk +unknown +/m)
  expect(stdout).toMatch(/other\/home: \d+ hold, [01] do(es)? not hold, \d unknown\n$/)
  expect(readdirSync(house.root)).not.toContain('other')
})

test('on a file system that is not local, only the lock of a killed holder stays', async () => {
  const house = House.ofProcesses()
  const env = { NODE_OPTIONS: `--import=${NETWORK}` }
  const result = await house.run(['selftest', '--kills', '3', '--json'], { env })
  expect(failedIn(result).map(({ what, detail }) => [what, detail])).toEqual([
    ['a killed holder loses its lock', expect.stringContaining('substrat unlock')],
  ])
  expect(result.stderr).toContain('set SUBSTRAT_HOME to a directory on a local disk')
  expect(result.exit).toBe(11)
})

test('removes its directory after a signal, and that of a killed one before the next', async () => {
  const house = House.ofProcesses()
  for (const [signal, left] of [
    ['SIGINT', 0],
    ['SIGTERM', 0],
    ['SIGKILL', 1],
  ] as const) {
    const running = house.start(['selftest'])
    await waitFor(
      () => places(house).some((name) => readdirSync(path.join(house.root, name)).includes('home')),
      'the temporary home',
    )
    const { exit } = await running.kill(signal)
    expect(exit).toBe({ SIGINT: 130, SIGTERM: 143, SIGKILL: 137 }[signal])
    expect(places(house)).toHaveLength(left)
  }
  // A program of the killed one may still write while the next one removes its files; the one after that removes the rest.
  await waitFor(
    async () => {
      await house.run(['selftest', '--kills', '1'])
      return places(house).length === 0
    },
    () => `the sweep of ${places(house)}`,
  )
})

test('refuses a home whose address has a password, and does not print it', async () => {
  const { exit, stdout, stderr } = await new House().run(['selftest', '--home', 'postgres://u:secret@h/x'])
  expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining('~/.pgpass')])
  expect(stderr).not.toContain('secret')
})

test('refuses a home that is a file or empty, before it tests anything', async () => {
  const house = new House()
  house.write('file', '')
  const at = path.join(house.workspace, 'file')
  for (const [home, why] of [
    [at, `${at} is not a directory`],
    ['', 'the address of the home is empty'],
  ] as const) {
    const { exit, stdout, stderr } = await house.run(['selftest', '--home', home])
    expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining(why)])
  }
})

test('runs beside a plugin that prints to stdout in a hook', async () => {
  const house = House.ofProcesses()
  linkHooked(house, `console.log('hello')`)
  const { stdout } = await house.run(['selftest', '--kills', '3', '--json'])
  const report = JSON.parse(stdout)
  expect(failedIn({ json: report }).map(({ what }) => what)).not.toContain('a lock has one holder')
  expect(failedIn({ json: report }).map(({ what }) => what)).not.toContain(
    'a killed send loses and repeats nothing',
  )
})
