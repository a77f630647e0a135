/**
 * A home in which a later build of format 2 has written: its records have kinds or fields that this build does not know. A kind is
 * refused with exit 10 by each command that reads the agent, and nothing changes on disk. A field is ignored, as docs/format.md says.
 */
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { frame } from '../../src/storage/log/frame.js'
import { forgeRecords, repack, unpacked } from '../support/bundles.js'
import { House } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

const TS = '2999-01-01T00:00:00.000Z'

/** As a later build appends it: framed, with the next seq, behind the snapshot. */
function append(house: House, id: string, record: object): void {
  const seq = house.records(id).length + 1
  appendFileSync(house.agentFile(id, 'events.jsonl'), frame({ seq, ts: TS, batch: [seq, seq], ...record }))
}

/** Every file of the home, without those that only say who works in it. */
function filesOf(house: House): Record<string, string> {
  const names = readdirSync(house.home, { recursive: true, encoding: 'utf8' })
  const lasting = names.filter((name) => !/(^|\/)lock$|^unclean\/|^boots\/|^slots\//.test(name))
  return Object.fromEntries(
    lasting.flatMap((name) => {
      const file = path.join(house.home, name)
      return statSync(file).isFile() ? [[name, readFileSync(file, 'latin1')]] : []
    }),
  )
}

const DREAM = { kind: 'session.dreamt', of: 'sheep' }

test('a record of an unknown kind is refused by each command on its agent, which changes nothing', async () => {
  const house = new House()
  const id = await house.spawn('night')
  await house.ok('send', 'night', 'one', '--key', 'n1')
  append(house, id, DREAM)
  const before = filesOf(house)
  const bundle = path.join(tempDirectory(), 'night.bundle')
  for (const args of [
    ...[['show'], ['log'], ['wait'], ['resume'], ['retry'], ['cancel'], ['suspend'], ['terminate']],
    ...[['gate'], ['ungate'], ['compact'], ['deliver'], ['recover'], ['fork'], ['export']],
    ...[
      ['send', 'hello'],
      ['send', 'hello', '--key', 'n1'],
      ['send', 'hello', '--queue'],
    ],
    ...[
      ['set', '--title', 'x'],
      ['export', '--bundle', bundle],
    ],
  ]) {
    const [command = '', ...rest] = args
    const { exit, stdout, stderr } = await house.run([command, 'night', ...rest])
    expect({ exit, stdout }, `${args.join(' ')}: ${stderr}`).toMatchObject({ exit: 10 })
    expect(stderr, args.join(' ')).toContain('does not know kind "session.dreamt"')
    expect(stderr, args.join(' ')).toContain(id)
    expect(stderr, args.join(' ')).toContain('use the version of substrat that wrote it, or a newer one')
    expect(filesOf(house), args.join(' ')).toEqual(before)
  }
})

test('commands on the home exit 10 for that agent, and serve the others', async () => {
  const house = new House()
  const id = await house.spawn('night')
  await house.spawn('day')
  append(house, id, DREAM)
  const log = house.log(id)
  const { stdout } = await house.ok('list')
  expect(stdout).toMatch(/^night .*corrupt/m)
  expect(stdout).toMatch(/^day .*idle/m)
  for (const args of [
    ['recover', '--all'],
    ['doctor', '--all'],
  ]) {
    const found = await house.run(args)
    expect(found.exit, found.stderr).toBe(10)
    expect(found.stdout + found.stderr, args.join(' ')).toContain('does not know kind "session.dreamt"')
  }
  await house.ok('send', 'day', 'hello')
  expect(house.log(id)).toBe(log)
})

test('a bundle with such a record is not imported', async () => {
  const house = new House()
  await house.spawn('night')
  await house.ok('send', 'night', 'one')
  const bundle = path.join(tempDirectory(), 'night.bundle')
  await house.ok('export', 'night', '--bundle', bundle)
  const changed = unpacked(bundle)
  forgeRecords(changed, (record) =>
    record.kind === 'session.suspended' ? { ...record, ...DREAM } : undefined,
  )
  repack(bundle, changed)
  const to = new House()
  await to.spawn('other')
  const before = to.ids()
  const { exit, stderr } = await to.run(['import', '--trust', bundle])
  expect({ exit, stderr }).toMatchObject({ exit: 10, stderr: expect.stringContaining('session.dreamt') })
  expect(to.ids()).toEqual(before)
})

test('an unknown field of a known kind is ignored, and stays in the log', async () => {
  const house = new House()
  const id = await house.spawn('night')
  append(house, id, { kind: 'session.configured', title: 'Nights', mood: { is: 'calm' } })
  expect((await house.ok('show', 'night', '--json')).json.title).toBe('Nights')
  await house.ok('send', 'night', 'one')
  expect(house.log(id)).toContain('"mood":{"is":"calm"}')
  expect((await house.ok('doctor', '--all')).exit).toBe(0)
})

test('a word of a later build in a known field is refused like its kinds, and is not called damage', async () => {
  const house = new House()
  const id = await house.spawn('night')
  append(house, id, { kind: 'turn.refused', cause: 'dreaming', code: 'X', message: 'm', command: 'c' })
  const log = house.log(id)
  for (const args of [
    ['show', 'night'],
    ['send', 'night', 'hello'],
    ['doctor', '--all'],
  ]) {
    const { exit, stdout, stderr } = await house.run(args)
    expect(exit, stderr).toBe(10)
    expect(stdout + stderr).toContain('does not know the cause "dreaming" of turn.refused')
    expect(stdout + stderr).not.toContain('damaged')
  }
  expect((await house.run(['doctor', '--all', '--rebuild'])).exit).toBe(10)
  expect(house.log(id)).toBe(log)
})

test('a message of an unknown kind stays in the inbox, and inbox and doctor exit 10', async () => {
  const house = new House()
  const id = await house.spawn('night')
  await house.ok('gate', 'night')
  await house.ok('send', 'night', '--queue', 'hi')
  const inbox = path.dirname(house.agentFile(id, 'inbox/x'))
  const [name = ''] = readdirSync(inbox).filter((each) => each.endsWith('.json'))
  const file = path.join(inbox, name)
  const { crc: _, ...message } = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, frame({ ...message, kind: 'letter' }))
  const before = readFileSync(file, 'utf8')
  for (const args of [
    ['inbox', 'night'],
    ['doctor', '--all'],
  ])
    expect((await house.run(args)).exit, args.join(' ')).toBe(10)
  expect((await house.ok('deliver', '--all')).stderr).toContain(name)
  expect(readFileSync(file, 'utf8')).toBe(before)
})
