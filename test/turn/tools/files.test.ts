import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Bench, bench } from '../../support/toolboxes.js'

function write(made: Bench, path: string, text: string | Buffer): string {
  const file = join(made.workspace, path)
  writeFileSync(file, text)
  return file
}

const edit = (made: Bench, old_text: string, new_text: string): ReturnType<Bench['run']> =>
  made.run('edit_file', { path: 'a.txt', old_text, new_text })

test('a file is read as it is', async () => {
  const made = bench()
  write(made, 'a.txt', 'one\r\ntwo\n')
  expect(await made.run('read_file', { path: 'a.txt' })).toMatchObject({
    content: 'one\r\ntwo\n',
    is_error: false,
  })
})

test('a file is written whole, with its parent directories', async () => {
  const made = bench()
  expect(await made.run('write_file', { path: 'deep/er/a.txt', content: 'é' })).toMatchObject({
    content: 'wrote 2 bytes',
    is_error: false,
  })
  expect(readFileSync(join(made.workspace, 'deep/er/a.txt'), 'utf8')).toBe('é')
  await made.run('write_file', { path: 'deep/er/a.txt', content: '' })
  expect(readFileSync(join(made.workspace, 'deep/er/a.txt'), 'utf8')).toBe('')
})

test('a file that is written again keeps its mode, and a symlink stays a symlink', async () => {
  const made = bench()
  chmodSync(write(made, 'run.sh', 'old'), 0o755)
  symlinkSync('run.sh', join(made.workspace, 'link.sh'))
  await made.run('write_file', { path: 'link.sh', content: 'new' })
  expect(readFileSync(join(made.workspace, 'run.sh'), 'utf8')).toBe('new')
  expect(statSync(join(made.workspace, 'run.sh')).mode & 0o777).toBe(0o755)
  expect(lstatSync(join(made.workspace, 'link.sh')).isSymbolicLink()).toBe(true)
})

describe('an edit', () => {
  test('replaces text that occurs once, and nothing else', async () => {
    const made = bench()
    const file = write(made, 'a.txt', 'one two three')
    expect(await edit(made, 'two', '$& $1 2')).toMatchObject({ content: 'edited', is_error: false })
    expect(readFileSync(file, 'utf8')).toBe('one $& $1 2 three')
  })

  test.each([
    ['four', 'the old text is not in the file'],
    ['', 'the old text is not in the file'],
    ['o', 'the old text is in the file more than once: include more of the text around it'],
    ['aa', 'the old text is in the file more than once: include more of the text around it'],
  ])('of %j is refused and changes nothing', async (old, why) => {
    const made = bench()
    const file = write(made, 'a.txt', 'one two aaa')
    expect(await edit(made, old, 'x')).toMatchObject({ content: why, is_error: true })
    expect(readFileSync(file, 'utf8')).toBe('one two aaa')
  })

  test('in a file that is not UTF-8 is refused, because other bytes would change too', async () => {
    const made = bench()
    const bytes = Buffer.from([0x61, 0xff, 0xfe, 0x62])
    const file = write(made, 'a.txt', bytes)
    expect(await edit(made, 'a', 'x')).toMatchObject({ content: 'a.txt is not UTF-8 text', is_error: true })
    expect(readFileSync(file)).toEqual(bytes)
  })

  test('in a missing file is refused', async () => {
    expect(await edit(bench(), 'a', 'b')).toMatchObject({ content: 'a.txt does not exist', is_error: true })
  })
})

test.each([
  ['read_file', {}, 'path'],
  ['write_file', { path: 'a' }, 'content'],
  ['write_file', { path: 'a', content: 7 }, 'content'],
  ['edit_file', { path: 'a', old_text: 'x' }, 'new_text'],
])('%s %j is an error that names the missing field', async (name, input, field) => {
  const made = bench()
  expect(await made.run(name, input)).toMatchObject({
    content: `the input needs ${field}, as text`,
    is_error: true,
  })
  expect(existsSync(join(made.workspace, 'a'))).toBe(false)
})

test('a path with a file in place of a directory is an error', async () => {
  const made = bench()
  write(made, 'a.txt', 'x')
  mkdirSync(join(made.workspace, 'folder'))
  expect(await made.run('write_file', { path: 'a.txt/b', content: 'x' })).toMatchObject({ is_error: true })
  expect(await made.run('read_file', { path: 'a.txt/b' })).toMatchObject({ is_error: true })
  expect(await made.run('write_file', { path: 'folder', content: 'x' })).toMatchObject({ is_error: true })
  expect(readFileSync(join(made.workspace, 'a.txt'), 'utf8')).toBe('x')
})
