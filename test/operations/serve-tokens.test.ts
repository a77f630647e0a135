/** The list of named tokens: a kill at each step leaves the old list or the new one. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { readServeTokens, ServeTokensReader, serveFile } from '../../src/files/serve-tokens.js'
import {
  addServeToken,
  listServeTokens,
  pageAddress,
  revokeAllServeTokens,
  revokeServeToken,
} from '../../src/operations/serve-tokens.js'
import { isAllowed, SCOPES, type Scope } from '../../src/schema/words.js'
import { lockFile } from '../../src/storage/open.js'
import { killedAt } from '../support/killed.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { tempDirectory } from '../support/temp.js'

const before = process.env.XDG_STATE_HOME
afterEach(() => {
  if (before === undefined) delete process.env.XDG_STATE_HOME
  else process.env.XDG_STATE_HOME = before
})

/** The address of a home without named tokens. */
function home(): string {
  process.env.XDG_STATE_HOME = tempDirectory()
  return '/home/of/the/test'
}

const namesIn = (of: string): string[] => listServeTokens(of).map(({ name }) => name)

function reader(of: string): ServeTokensReader {
  return new ServeTokensReader(serveFile(of, 'tokens.json'))
}

test('a right includes those before it, and no unknown word is one', () => {
  const table = SCOPES.map((may) => SCOPES.filter((needed) => isAllowed(may, needed)))
  expect(table).toEqual([['read'], ['read', 'answer'], ['read', 'answer', 'all']])
  expect(isAllowed('all', 'other' as Scope)).toBe(false)
  for (const may of ['other', 'constructor', undefined]) expect(isAllowed(may as Scope, 'read')).toBe(false)
})

const CHANGES: [string, (of: string) => Promise<unknown>, string[]][] = [
  ['add', (of) => addServeToken(of, 'third', 'all'), ['first', 'second', 'third']],
  ['revoke', (of) => revokeServeToken(of, 'first'), ['second']],
  ['revoke --all', revokeAllServeTokens, []],
]

test.each(CHANGES)(
  '%s killed at each step leaves the old list or the new one, and the next change leaves only the list',
  async (_, change, changed) => {
    const outcomes = new Set<string>()
    for (let step = 1; ; step++) {
      const of = home()
      await addServeToken(of, 'first', 'read')
      await addServeToken(of, 'second', 'answer')
      const old = listServeTokens(of)
      let isDone = false
      const died = await killedAt(step, async () => {
        await change(of)
        isDone = true
      })
      const now = namesIn(of)
      expect([old.map(({ name }) => name), changed], `step ${step}`).toContainEqual(now)
      if (isDone) expect(now, `step ${step}`).toEqual(changed)
      for (const each of listServeTokens(of).filter(({ name }) => name !== 'third'))
        expect(old, `step ${step}`).toContainEqual(each)
      outcomes.add(String(now))
      // Died in another process: then its temporary file has no living writer.
      await addServeToken(of, 'last', 'read')
      const list = serveFile(of, 'tokens.json')
      const files = readdirSync(dirname(list)).filter((name) => !name.endsWith('.tmp'))
      expect(files.sort()).toEqual([basename(list), `${basename(list)}.lock`])
      if (!died) break
    }
    expect(outcomes.size).toBe(2)
  },
)

test('a token that was added before a kill could print it is revoked, and added again', async () => {
  const of = home()
  const isRename = ({ point }: { point: string }) => point === 'serve_tokens.sync_directory'
  expect(await killedAt(1, () => addServeToken(of, 'phone', 'read'), isRename)).toBe(true)
  expect(namesIn(of)).toEqual(['phone'])
  await expect(addServeToken(of, 'phone', 'read')).rejects.toMatchObject({
    code: 'NAME_TAKEN',
    hint: expect.stringContaining('substrat serve token revoke phone'),
  })
  await revokeServeToken(of, 'phone')
  expect((await addServeToken(of, 'phone', 'read')).token).toMatch(/^[\w-]{43}$/)
})

test('changes at the same time lose nothing', async () => {
  const of = home()
  await addServeToken(of, 'old', 'read')
  const names = Array.from({ length: 20 }, (_, n) => `t${n}`)
  await Promise.all([...names.map((name) => addServeToken(of, name, 'read')), revokeServeToken(of, 'old')])
  expect(namesIn(of).sort()).toEqual(names.sort())
})

test('a change waits while another command changes the list', async () => {
  const of = home()
  await addServeToken(of, 'first', 'read')
  const other = await lockFile(`${serveFile(of, 'tokens.json')}.lock`, 'substrat test')
  const adding = addServeToken(of, 'second', 'read')
  for (let tick = 0; tick < 20; tick++) await setImmediate()
  expect(namesIn(of)).toEqual(['first'])
  await other?.release()
  await adding
  expect(namesIn(of)).toEqual(['first', 'second'])
})

test('a reader sees each change, and reads an unchanged list once', async () => {
  const of = home()
  const list = reader(of)
  expect([...list.current().values()]).toEqual([])
  await addServeToken(of, 'first', 'read')
  const one = list.current()
  expect([...one.values()].map(({ name }) => name)).toEqual(['first'])
  expect(list.current()).toBe(one)
  await revokeServeToken(of, 'first')
  await addServeToken(of, 'other', 'read')
  expect([...list.current().values()].map(({ name }) => name)).toEqual(['other'])
})

test('a new list is written, fsynced and renamed, and its name is fsynced', async () => {
  const of = home()
  await addServeToken(of, 'first', 'read')
  const steps = recordOperations()
  await addServeToken(of, 'second', 'read')
  clearFaults()
  const changes = steps
    .map(({ point }) => point)
    .filter((point) => /^serve_tokens\.(?!read|stat|list)/.test(point))
  expect(changes).toEqual([
    'serve_tokens.open',
    'serve_tokens.write',
    'serve_tokens.fsync',
    'serve_tokens.rename',
    'serve_tokens.sync_directory',
  ])
})

test('the list has the hash of a token, and not the token', async () => {
  const of = home()
  const { token } = await addServeToken(of, 'first', 'read')
  const path = serveFile(of, 'tokens.json')
  expect(readFileSync(path, 'utf8')).not.toContain(token)
  const hash = createHash('sha256').update(token).digest('hex')
  expect(readServeTokens(path)).toMatchObject([{ name: 'first', may: 'read', sha256: hash }])
  expect(token).not.toBe((await addServeToken(of, 'second', 'read')).token)
})

/** A change of the list, and the code of its refusal. */
const SPOILED: [string, string, (list: string) => void][] = [
  ['other users can read it', 'HOME_EXPOSED', (list) => chmodSync(list, 0o640)],
  ['other users can write it', 'HOME_EXPOSED', (list) => chmodSync(list, 0o602)],
  [
    'it is a symbolic link',
    'HOME_EXPOSED',
    (list) => [renameSync(list, `${list}.x`), symlinkSync(`${list}.x`, list)],
  ],
  [
    'a FIFO is in its place',
    'CORRUPT',
    (list) => [rmSync(list), execFileSync('mkfifo', ['-m', '600', list])],
  ],
  ['it is too large', 'CORRUPT', (list) => truncateSync(list, 17 * 1024 * 1024)],
  ['it is cut off', 'CORRUPT', (list) => truncateSync(list, 100)],
  ['it has another name', 'CORRUPT', (list) => edit(list, (text) => text.replace('first', 'First'))],
  ['it has another right', 'CORRUPT', (list) => edit(list, (text) => text.replace('"read"', '"root"'))],
  ['a name is there twice', 'CORRUPT', (list) => edit(list, (text) => text.replace('second', 'first'))],
  ['a token is there twice', 'CORRUPT', (list) => edit(list, sameToken)],
  ['it is of another form', 'CORRUPT', (list) => writeFileSync(list, '[]\n')],
]

test.each(SPOILED)('a list is refused if %s', async (_, code, spoil) => {
  const of = home()
  for (const name of ['first', 'second']) await addServeToken(of, name, 'read')
  const path = serveFile(of, 'tokens.json')
  const list = reader(of)
  expect(list.current().size).toBe(2)
  spoil(path)
  for (const read of [() => readServeTokens(path), () => list.current(), () => list.current()])
    expect(read).toThrow(expect.objectContaining({ code }))
  rmSync(path)
  expect([readServeTokens(path), list.current().size]).toEqual([[], 0])
})

test.skipIf(process.getuid?.() !== 0)('a list of another user is refused', async () => {
  const of = home()
  await addServeToken(of, 'first', 'read')
  chownSync(serveFile(of, 'tokens.json'), 12345, 12345)
  expect(() => listServeTokens(of)).toThrow('other users can read or change it')
})

function edit(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

function sameToken(text: string): string {
  const { tokens } = JSON.parse(text)
  return JSON.stringify({ tokens: [tokens[0], { ...tokens[1], sha256: tokens[0].sha256 }] })
}

test.each([
  ['https://box.example:8443', 'https://box.example:8443'],
  ['http://[::1]:4777/', 'http://[::1]:4777'],
  [undefined, 'http://127.0.0.1:4777'],
])('the link of %s begins with %s', (given, address) => {
  expect(pageAddress(given)).toBe(address)
})

test.each([
  'box',
  'ftp://box',
  'https://box/sub',
  'https://box/?a',
  'https://a:b@box',
  'javascript:alert(1)',
])('%s is refused as the address of a server', (given) => {
  expect(() => pageAddress(given)).toThrow('is not the address of a server')
})
