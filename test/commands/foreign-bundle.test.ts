/** `import` of bundles that another home made, and the mode of exported bundles. */
import { chmodSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { forgeRecords, repack, unpacked } from '../support/bundles.js'
import { House } from '../support/cli.js'

const EXEC = ['--provider', 'exec', '--option', 'command=touch owned; cat', '--allow', 'all'] as const

async function exported(house: House, ...flags: string[]): Promise<string> {
  await house.spawn('notes', ...EXEC)
  const file = join(house.workspace, 'notes.bundle')
  await house.ok('export', 'notes', '--bundle', file, ...flags)
  return file
}

/** The arguments of an import into that home, whose workspace is its own. */
const into = (to: House, file: string, ...flags: string[]): string[] => [
  ...['import', file, '--workspace', to.workspace],
  ...flags,
]

describe('import of a bundle that another home made', () => {
  test.for([[[]], [['--move']]])(
    'with %j needs --trust, and names what its agents may run',
    async ([flags]) => {
      const [from, to] = [new House(), new House()]
      const file = await exported(from, ...(flags as string[]))
      const refused = await to.run(into(to, file, '--json'))
      expect(refused.exit).toBe(2)
      expect(refused.json.error).toMatchObject({
        code: 'USAGE',
        hint: `if you trust its author with that: substrat import ${file} --trust`,
        agents: [`notes: provider exec; command=touch owned; cat; --allow all; in ${to.workspace}`],
      })
      expect(to.ids()).toEqual([])
      await to.ok(...into(to, file, '--trust'))
      expect(to.ids()).toHaveLength(1)
    },
  )

  test('names the rights of the messages that a move brings along', async () => {
    const [from, to] = [new House(), new House()]
    await from.spawn('notes')
    await from.ok('send', 'notes', 'later', '--queue', '--no-drain', '--allow', 'shell')
    const file = join(from.workspace, 'notes.bundle')
    await from.ok('export', 'notes', '--bundle', file, '--move')
    const refused = await to.run(into(to, file, '--json'))
    expect([refused.exit, refused.json.error.agents]).toEqual([
      2,
      [expect.stringContaining('; --allow shell; in ')],
    ])
  })

  test('through a pipe needs --trust as well', async () => {
    const [from, to] = [new House(), new House()]
    const stdin = readFileSync(await exported(from)).toString('latin1')
    const { exit, stderr } = await to.run(into(to, '-'), { stdin: Buffer.from(stdin, 'latin1') as never })
    expect([exit, stderr]).toEqual([2, expect.stringContaining('this home did not make the bundle stdin')])
  })

  test('needs --trust again if it was changed after this home made it, with right checksums', async () => {
    const house = new House()
    const file = await exported(house)
    const bundle = unpacked(file)
    forgeRecords(bundle, (record) =>
      record.kind === 'session.created' ? { ...record, allow: ['shell'] } : undefined,
    )
    repack(file, bundle)
    const { exit, stderr } = await house.run(['import', file, '--name', 'copy'])
    expect([exit, stderr]).toEqual([2, expect.stringContaining('this home did not make the bundle')])
    expect(house.ids()).toHaveLength(1)
  })

  test('needs --trust if it says that this home made it', async () => {
    const [from, to] = [new House(), new House()]
    await to.spawn('a')
    const file = await exported(from)
    const bundle = unpacked(file)
    const home = readFileSync(join(to.home, 'home.json'), 'utf8')
    bundle.manifest.home_id = JSON.parse(home.split('\n')[0] as string).home_id
    repack(file, bundle)
    expect((await to.run(into(to, file))).exit).toBe(2)
  })
})

test('a bundle that this home made is imported without a question, also after its agents went on', async () => {
  const house = new House()
  const file = await exported(house, '--tree')
  await house.ok('send', 'notes', 'more')
  await house.ok('import', file, '--name', 'copy')
  expect(house.ids()).toHaveLength(2)
})

describe('export --bundle', () => {
  test.for(['a file', 'a link'])(
    'makes the bundle private also in place of %s with another mode',
    async (kind) => {
      const house = new House()
      await house.spawn('notes')
      const file = house.write('old', 'old')
      chmodSync(file, 0o644)
      const link = join(house.workspace, 'link')
      symlinkSync(file, link)
      await house.ok('export', 'notes', '--bundle', kind === 'a link' ? link : file)
      expect(lstatSync(file).mode & 0o777).toBe(0o600)
      writeFileSync(file, 'old')
      chmodSync(file, 0o644)
      await house.ok('export', 'notes', '--bundle', file, '--move')
      expect(lstatSync(file).mode & 0o777).toBe(0o600)
    },
  )
})
