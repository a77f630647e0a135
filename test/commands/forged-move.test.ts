/** Bundles of moves that no export made. Nothing is written before a bundle is checked as a whole. */
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/format.js'
import type { Bundle } from '../../src/schema/bundle.js'
import { forgeRecords, importChangesNothing, repack, unpacked } from '../support/bundles.js'
import { House } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

const OTHER = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

async function houseWithNotes(): Promise<House> {
  const house = new House()
  await house.spawn('notes')
  await house.ok('send', 'notes', 'first question', '--key', 'k1')
  return house
}

const newFile = (): string => join(tempDirectory(), 'notes.bundle')

async function moved(house: House, ...flags: string[]): Promise<string> {
  const file = newFile()
  await house.ok('export', 'notes', '--bundle', file, ...flags)
  return file
}

describe('a forged bundle of a move is refused, and nothing is written:', () => {
  const CASES: [string, (manifest: Bundle) => void, string][] = [
    [
      'another move id',
      (manifest) => void Object.assign(manifest, { move_id: OTHER }),
      'does not end with its move',
    ],
    [
      'another home',
      (manifest) => void Object.assign(manifest, { home_id: OTHER }),
      'does not end with its move',
    ],
    [
      'a move id that is no id',
      (manifest) => void Object.assign(manifest, { move_id: '../x' }),
      'move_id in its manifest.json is invalid',
    ],
    ['a newer version', (manifest) => void Object.assign(manifest, { bundle: 2 }), 'version 2'],
    ['logs of a newer format', (manifest) => void Object.assign(manifest, { format: 3 }), 'format 3'],
  ]

  /** The bundle that all forgeries of its manifest begin with. */
  let genuine: string
  beforeAll(async () => {
    const house = await houseWithNotes()
    genuine = join(house.workspace, 'notes.bundle')
    await house.ok('export', 'notes', '--bundle', genuine, '--move')
  })

  test.each(CASES)('%s', async (_, edit, why) => {
    const file = newFile()
    const bundle = unpacked(genuine)
    edit(bundle.manifest)
    repack(file, bundle)
    for (const flags of [[], ['--hold'], ['--if-exists', 'use']]) {
      const refused = await importChangesNothing([file, ...flags])
      expect(refused.stderr).toContain(why)
      expect([2, 10]).toContain(refused.exit)
    }
  })

  test('a copy that is declared a move', async () => {
    const file = await moved(await houseWithNotes())
    const bundle = unpacked(file)
    bundle.manifest.move_id = OTHER
    repack(file, bundle)
    expect((await importChangesNothing([file])).stderr).toContain('does not end with its move')
  })

  test('the id of an agent that lives in the home', async () => {
    const victim = await houseWithNotes()
    const file = await moved(victim.copy(), '--move')
    await victim.ok('recover', '--all')
    expect(await importChangesNothing([file, '--name', 'other'], victim)).toMatchObject({
      exit: 13,
      stderr: expect.stringContaining('lives in this home'),
    })
  })
})

describe('forged mail in a bundle is refused, and nothing is written:', () => {
  type Mail = JsonObject & { message_id: string }
  /** Changes the messages, and perhaps the ids that the log names. */
  const CASES: [string, (mail: Mail[], ids: string[]) => unknown, string][] = [
    [
      'a message that the log does not name',
      (mail) => mail.push({ ...(mail[0] as Mail), message_id: OTHER }),
      'is not the mail that its log names',
    ],
    ['a message less than the log names', (mail) => mail.pop(), 'is not the mail that its log names'],
    ['two messages in another order', (mail) => mail.reverse(), 'is not the mail that its log names'],
    [
      'the same message twice',
      (mail, ids) => [mail.push(mail[0] as Mail), ids.push(ids[0] as string)],
      'is not the mail that its log names',
    ],
    ['mail that is not JSON', () => 'no JSON', 'is not JSON'],
    ['mail that is no list', () => '{}', 'is not the mail that its log names'],
    [
      'a message to another agent',
      ([first]) => Object.assign(first as Mail, { to: OTHER }),
      'a message to notes is invalid',
    ],
    [
      'a message without a sender',
      ([first]) => Object.assign(first as Mail, { from: 7 }),
      'a message to notes is invalid',
    ],
    [
      'a control that does not exist',
      ([first]) => Object.assign(first as Mail, { kind: 'control', control: { verb: 'terminate' } }),
      'a message to notes is invalid',
    ],
    [
      'a request from an agent that is not in the bundle',
      ([first]) => Object.assign(first as Mail, { kind: 'request', from: OTHER }),
      'a message to notes is invalid',
    ],
    [
      'an id that is a path',
      ([first], ids) => [
        Object.assign(first as Mail, { message_id: '../../../x' }),
        ids.splice(0, 1, '../../../x'),
      ],
      'is damaged',
    ],
  ]

  /** The bundle that all forgeries of its mail begin with: two messages. */
  let genuine: string
  beforeAll(async () => {
    const house = await houseWithNotes()
    for (const content of ['one', 'two']) await house.ok('send', 'notes', '--queue', '--no-drain', content)
    genuine = join(house.workspace, 'notes.bundle')
    await house.ok('export', 'notes', '--bundle', genuine, '--move')
  })

  test.each(CASES)('%s', async (_, change, why) => {
    const file = newFile()
    const bundle = unpacked(genuine)
    forgeRecords(bundle, (record) => {
      if (record.kind !== 'session.moved') return undefined
      const [mail, messages] = [
        JSON.parse(record.content as string) as Mail[],
        [...(record.messages as string[])],
      ]
      const changed = change(mail, messages)
      return { ...record, content: typeof changed === 'string' ? changed : JSON.stringify(mail), messages }
    })
    repack(file, bundle)
    const refused = await importChangesNothing([file])
    expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining(why)])
  })

  test('mail that was packed again without a change is imported', async () => {
    const house = await houseWithNotes()
    await house.ok('send', 'notes', '--queue', '--no-drain', 'one')
    const file = await moved(house, '--move')
    const bundle = unpacked(file)
    forgeRecords(bundle, () => undefined)
    repack(file, bundle)
    const to = new House()
    expect((await to.ok('import', '--trust', file, '--json')).json.agents).toMatchObject([{ inbox: 1 }])
  })
})
