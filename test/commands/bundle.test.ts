import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Bundle } from '../../src/schema/bundle.js'
import { repository } from '../../stress/support/lab.js'
import { archived, importChangesNothing, packed, repack, unpacked } from '../support/bundles.js'
import { House } from '../support/cli.js'
import { tempDirectory } from '../support/temp.js'

const bundleFile = (): string => join(tempDirectory(), 'notes.bundle')

/** A house with an agent `notes` that has had two turns, one of them large. */
async function houseWithNotes(): Promise<House> {
  const house = new House()
  await house.spawn('notes')
  await house.ok('send', 'notes', 'first question', '--key', 'k1')
  await house.ok('send', 'notes', 'x'.repeat(100_000))
  return house
}

async function exported(house: House, ...flags: string[]): Promise<string> {
  const file = bundleFile()
  await house.ok('export', 'notes', '--bundle', file, ...flags)
  return file
}

describe('a copy of an agent in another home', () => {
  test('has the conversation, the attachments and the settings, and a new id', async () => {
    const from = await houseWithNotes()
    await from.ok('set', 'notes', '--title', 'Notes of today')
    const file = await exported(from)
    const to = new House()
    const { json } = await to.ok('import', '--trust', file, '--json')
    expect(json).toMatchObject({
      created: 1,
      agents: [{ name: 'notes', title: 'Notes of today', status: 'idle' }],
    })
    const original = await from.ok('export', 'notes', '--json')
    const copy = await to.ok('export', 'notes', '--json')
    const contentsOf = (result: typeof original) =>
      result.json.messages.map(({ role, content }: { role: string; content: string }) => [role, content])
    expect(contentsOf(copy)).toEqual(contentsOf(original))
    expect(copy.json.agent.id).not.toBe(original.json.agent.id)
    expect((await to.ok('send', 'notes', 'next')).stdout).toBe('echo: next\n')
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
  })

  test('has no usage and no key of the original', async () => {
    const to = new House()
    await to.ok('import', '--trust', await exported(await houseWithNotes()))
    expect((await to.ok('usage', 'notes', '--json')).json.total).toMatchObject({ runs: 0, input_tokens: 0 })
    expect((await to.ok('send', 'notes', 'another question', '--key', 'k1')).stdout).toBe(
      'echo: another question\n',
    )
    expect((await to.ok('usage', 'notes', '--json')).json.total).toMatchObject({ runs: 1 })
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
  })

  test('is in the same home too, under another name', async () => {
    const house = await houseWithNotes()
    const file = await exported(house)
    const taken = await house.run(['import', '--trust', file])
    expect(taken).toMatchObject({ exit: 13, stderr: expect.stringContaining('--name NAME') })
    await house.ok('import', '--trust', file, '--name', 'notes-2')
    expect(
      (await house.ok('list', '--json')).json.agents.map(({ name }: { name: string }) => name).sort(),
    ).toEqual(['notes', 'notes-2'])
  })

  test('is created once by a command that is repeated', async () => {
    const file = await exported(await houseWithNotes())
    const to = new House()
    const first = await to.ok('import', '--trust', file, '--json')
    const second = await to.ok('import', '--trust', file, '--json')
    expect(second.stderr).toContain('an earlier command has created these copies')
    expect(second.json).toMatchObject({ created: 0, agents: [{ id: first.json.agents[0].id }] })
    expect((await to.ok('list', '--json')).json.agents).toHaveLength(1)
  })

  test('has no wait: an open turn of the original is cancelled in it', async () => {
    const from = new House()
    const option = from.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    await from.spawn('notes', '--option', option)
    expect((await from.run(['send', 'notes', 'go'])).exit).toBe(5)
    const to = new House()
    const { json } = await to.ok('import', '--trust', await exported(from), '--json')
    expect(json.agents).toMatchObject([{ status: 'idle' }])
    expect((await to.ok('log', 'notes')).stdout).toContain('the agent was copied while the turn was open')
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    expect((await from.ok('show', 'notes', '--json')).json.agent.status).toBe('waiting')
  })

  test('comes with the living agents below it', async () => {
    const from = await houseWithNotes()
    await from.ok('spawn', '--name', 'child', '--parent', 'notes', 'hello')
    await from.ok('spawn', '--name', 'leaf', '--parent', 'notes/child')
    await from.ok('spawn', '--name', 'gone', '--parent', 'notes')
    await from.ok('terminate', 'notes/gone')
    const to = new House()
    const file = await exported(from, '--tree')
    const { json } = await to.ok('import', '--trust', file, '--name', 'copy', '--json')
    expect(json.agents.map(({ path }: { path: string }) => path)).toEqual([
      'copy',
      'copy/child',
      'copy/child/leaf',
    ])
    expect((await to.ok('doctor', '--all')).exit).toBe(0)
    expect((await to.ok('send', 'copy/child', 'hi')).stdout).toBe('echo: hi\n')
  })

  test('has the given workspace', async () => {
    const workspace = tempDirectory()
    const to = new House()
    await to.ok('import', '--trust', await exported(await houseWithNotes()), '--workspace', workspace)
    expect((await to.ok('show', 'notes', '--json')).json.agent.workspace).toBe(workspace)
  })

  test('is not created without a working directory', async () => {
    const from = await houseWithNotes()
    const file = await exported(from)
    rmSync(from.workspace, { recursive: true })
    const to = new House()
    expect(await to.run(['import', '--trust', file])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(`does not exist here: ${from.workspace}`),
    })
    await to.ok('import', '--trust', file, '--workspace', to.workspace)
    expect((await to.run(['import', '--trust', 'nowhere'])).stderr).toContain('there is no file nowhere')
  })

  test('goes through a pipe, from stdout to stdin', async () => {
    const from = await houseWithNotes()
    const to = new House()
    const run = (house: House, args: string[], input?: Buffer) =>
      spawnSync(process.execPath, [join(repository, 'bin', 'run.js'), ...args], { env: house.env, input })
    const { stdout } = run(from, ['export', 'notes', '--bundle', '-'])
    expect(run(to, ['import', '--trust', '-'], stdout)).toMatchObject({ status: 0 })
    expect((await to.ok('list', '--json')).json.agents).toHaveLength(1)
  })
})

test('a bundle comes through a named pipe', async () => {
  const file = await exported(await houseWithNotes())
  const to = new House()
  const run = (command: string) =>
    spawnSync('bash', ['-c', command, process.execPath, join(repository, 'bin', 'run.js'), file], {
      env: to.env,
      encoding: 'utf8',
    })
  expect(run('"$0" "$1" import --trust <(cat "$2")')).toMatchObject({ status: 0, stderr: '' })
  expect(run('"$0" "$1" import --trust /').stderr).toContain('a directory is not a file: /')
})

describe('a bundle that is not as it was exported is refused, and nothing is written:', () => {
  const CASES: [string, (files: Map<string, Buffer>, manifest: Bundle) => unknown, string][] = [
    ['not gzip', () => Buffer.from('hello'), 'not compressed by gzip'],
    ['cut short', (files) => packed(files).subarray(0, 200), 'it is cut short'],
    ['cut short after its manifest', (files) => packed(files).subarray(0, -20), 'or is cut short'],
    ['not an archive', () => gzipSync('hello'), 'it is cut short'],
    ['no end', (files) => gzipSync(archived(files).subarray(0, -1024)), 'it has no end'],
    [
      'a file after its end',
      (files) => gzipSync(Buffer.concat([archived(files), archived(new Map([['x', Buffer.from('x')]]))])),
      'it goes on after its end',
    ],
    [
      'a second gzip member after its end',
      (files) => Buffer.concat([packed(files), gzipSync('x'.repeat(512))]),
      'it goes on after its end',
    ],
    [
      'more contents than its manifest says',
      (files) => Buffer.concat([packed(files), gzipSync(Buffer.alloc(1024 * 1024))]),
      'it has more than its manifest says',
    ],
    [
      'a manifest that is not its first file',
      (files) => packed(new Map([...files].reverse())),
      'it has no manifest.json at its beginning',
    ],
    [
      'a manifest of 17 MB',
      (files) => void files.set('manifest.json', Buffer.alloc(17 * 1024 * 1024, '[')),
      'its manifest.json is too large',
    ],
    [
      'a size of 2 GB in its manifest',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { log_bytes: 2 ** 31 }),
      'its contents are larger than',
    ],
    [
      'a negative size in its manifest',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { log_bytes: -1 }),
      'a size in its manifest.json is negative',
    ],
    ['no manifest', (files) => void files.delete('manifest.json'), 'it has no manifest.json'],
    ['a manifest that is not JSON', (files) => void files.set('manifest.json', Buffer.from('{')), 'not JSON'],
    ['a newer version', (_, manifest) => void Object.assign(manifest, { bundle: 2 }), 'version 2'],
    ['logs of a newer format', (_, manifest) => void Object.assign(manifest, { format: 3 }), 'format 3'],
    [
      'a field of another type',
      (_, manifest) => void Object.assign(manifest, { agents: 'all' }),
      'agents in its manifest.json is invalid',
    ],
    [
      'no agents',
      (files, manifest) => {
        for (const path of [...files.keys()]) if (path !== 'manifest.json') files.delete(path)
        manifest.agents = []
        return undefined
      },
      'it has no agents',
    ],
    [
      'a file beside the manifest',
      (files) => void files.set('../../etc/passwd', Buffer.from('x')),
      'does not have the file "../../etc/passwd"',
    ],
    [
      'a missing blob',
      (files) => {
        for (const path of files.keys()) if (path.includes('/blobs/')) files.delete(path)
        return undefined
      },
      'it lacks the file',
    ],
    [
      'a forged checksum',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { log_sha256: '0'.repeat(64) }),
      'does not have its checksum',
    ],
    [
      'another size',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { log_bytes: 1 }),
      'bytes instead of 1',
    ],
    [
      'a parent outside of it',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { parent: manifest.bundle_id }),
      'has no place in its tree',
    ],
    [
      'an id that is a path',
      (_, manifest) => void Object.assign(manifest.agents[0] as object, { id: '../x' }),
      'agents in its manifest.json is invalid',
    ],
    [
      'a link',
      (files) => {
        const archive = archived(files)
        archive.write('2', 156, 'latin1')
        let sum = 0
        for (let at = 0; at < 512; at++) sum += at >= 148 && at < 156 ? 0x20 : (archive[at] as number)
        archive.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
        return gzipSync(archive)
      },
      'is not a regular file',
    ],
  ]

  /** The bundle that all forgeries begin with. */
  let genuine: string
  beforeAll(async () => {
    const house = await houseWithNotes()
    genuine = join(house.workspace, 'notes.bundle')
    await house.ok('export', 'notes', '--bundle', genuine)
  })

  test.each(CASES)('%s', async (_, change, why) => {
    const file = bundleFile()
    const { files, manifest } = unpacked(genuine)
    const spoiled = change(files, manifest)
    const { length = 0 } = files.get('manifest.json') ?? {}
    if (length > 1 && length < 1024 * 1024) files.set('manifest.json', Buffer.from(JSON.stringify(manifest)))
    writeFileSync(file, Buffer.isBuffer(spoiled) ? spoiled : packed(files))
    const refused = await importChangesNothing([file])
    expect(refused.stderr).toContain(why)
    expect([2, 10]).toContain(refused.exit)
  })

  test('a log with a changed record, although its checksum was forged too', async () => {
    const file = bundleFile()
    const bundle = unpacked(genuine)
    const [agent] = bundle.manifest.agents as [Bundle['agents'][0]]
    const log = Buffer.from(bundle.files.get(`agents/${agent.id}/log`) as Buffer)
    log.write('F', log.indexOf('first question'), 'latin1')
    agent.log_sha256 = createHash('sha256').update(log).digest('hex')
    bundle.files.set(`agents/${agent.id}/log`, log)
    repack(file, bundle)
    const refused = await importChangesNothing([file])
    expect([refused.exit, refused.stderr]).toEqual([2, expect.stringContaining('is damaged')])
  })
})
