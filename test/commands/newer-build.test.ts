/**
 * A home in which a later build of format 2 has written: its records have kinds or fields that this build does not know. A kind is
 * refused with exit 10 by each command that reads the agent, and nothing changes on disk. A field is ignored, as docs/format.md says.
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { taken } from '../../src/storage/conformance/case.js'
import { frame } from '../../src/storage/log/frame.js'
import { forgeRecords, repack, unpacked } from '../support/bundles.js'
import { House } from '../support/cli.js'
import { IN_POSTGRES, storeAt, storedIn } from '../support/postgres-homes.js'
import { tempDirectory } from '../support/temp.js'

const TS = '2999-01-01T00:00:00.000Z'

/** As a later build appends it: framed, with the next seq, behind the snapshot. */
async function append(house: House, id: string, record: object): Promise<void> {
  const seq = house.records(id).length + 1
  const lease = await taken(storeAt(house.home), id)
  const bytes = frame({ seq, ts: TS, batch: [seq, seq], ...record })
  lease.append({ id: randomUUID(), offset: lease.log.size(), bytes, blobs: [], isUpgrade: false })
  await lease.release()
}

/** All that the home stores, without what only says who works in it. */
function stored(house: House): unknown {
  if (IN_POSTGRES) return storedIn(house.home)
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
  await append(house, id, DREAM)
  const before = stored(house)
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
    expect(stored(house), args.join(' ')).toEqual(before)
  }
})

test('commands on the home exit 10 for that agent, and serve the others', async () => {
  const house = new House()
  const id = await house.spawn('night')
  await house.spawn('day')
  await append(house, id, DREAM)
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
  await append(house, id, { kind: 'session.configured', title: 'Nights', mood: { is: 'calm' } })
  expect((await house.ok('show', 'night', '--json')).json.title).toBe('Nights')
  await house.ok('send', 'night', 'one')
  expect(house.log(id)).toContain('"mood":{"is":"calm"}')
  expect((await house.ok('doctor', '--all')).exit).toBe(0)
})

test('a word of a later build in a known field is refused like its kinds, and is not called damage', async () => {
  const house = new House()
  const id = await house.spawn('night')
  await append(house, id, { kind: 'turn.refused', cause: 'dreaming', code: 'X', message: 'm', command: 'c' })
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

describe('a message of a later build', () => {
  const NEWER = 'use the version of substrat that wrote it, or a newer one'

  /** An inbox with such a message, and one from the same sender that this build knows. */
  async function withLetter(change: object): Promise<{ house: House; id: string; messageId: string }> {
    const house = new House()
    const id = await house.spawn('night')
    await house.ok('send', 'night', '--queue', '--no-drain', 'hi')
    await house.ok('send', 'night', '--queue', '--no-drain', 'ho')
    const { mail } = storeAt(house.home)
    const [messageId = ''] = mail.ids(id)
    const line = mail.read(id, messageId)
    if (line === undefined || 'damage' in line) throw new Error('the message is intact')
    const { crc: _, ...message } = line.object
    mail.replace(id, messageId, { ...message, ...change })
    return { house, id, messageId }
  }

  test.each([
    ['of an unknown kind', { kind: 'letter' }, 'the kind "letter" of a message'],
    ['with an unknown control', { kind: 'control', control: { verb: 'dream' } }, 'the control "dream"'],
  ])(
    '%s is not damage: each command that delivers mail exits 10 and changes nothing',
    async (_, change, what) => {
      const { house, messageId } = await withLetter(change)
      const before = stored(house)
      for (const args of [
        ['inbox', 'night'],
        ['deliver', 'night'],
        ['deliver', '--all'],
        ['recover', 'night'],
        ['recover', '--all'],
        ['wait', 'night'],
        ['send', 'night', 'behind the others'],
        ['doctor', '--all'],
        ['doctor', '--all', '--rebuild'],
      ]) {
        const { exit, stdout, stderr } = await house.run(args)
        const said = stdout + stderr
        expect(exit, `${args.join(' ')}: ${said}`).toBe(10)
        expect(said, args.join(' ')).toContain(`does not know ${what}`)
        expect(said, args.join(' ')).toContain(messageId)
        expect(said, args.join(' ')).toContain(NEWER)
        expect(said, args.join(' ')).not.toMatch(/complete message|move it away|damaged/)
        expect(stored(house), args.join(' ')).toEqual(before)
      }
    },
  )

  test('does not stop a message that overtakes it, and then no mail is delivered', async () => {
    const { house, id } = await withLetter({ kind: 'letter' })
    const { exit, stderr } = await house.run(['send', 'night', '--first', 'now'])
    expect(exit, stderr).toBe(0)
    expect(stderr).toContain('does not know the kind "letter" of a message')
    expect(house.count(id, 'mail.delivered')).toBe(0)
    expect(house.inbox(id)).toHaveLength(2)
    expect((await house.run(['inbox', 'night', '--json'])).json).toMatchObject({
      damaged: [],
      unknown: [{ unknown: 'the kind "letter" of a message' }],
    })
  })

  test('does not stop the other agents', async () => {
    const { house } = await withLetter({ kind: 'letter' })
    const day = await house.spawn('day')
    await house.ok('send', 'day', '--queue', '--no-drain', 'hi')
    expect((await house.run(['deliver', '--all'])).exit).toBe(10)
    expect(house.count(day, 'run.completed')).toBe(1)
  })
})
