/** The change that a call would make to a file. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fileChange } from '../../../src/console/print/file-change.js'
import { tempDirectory } from '../../support/temp.js'

function workspaceWith(files: Record<string, string | Buffer>): string {
  const workspace = tempDirectory()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(workspace, name), content)
  return workspace
}

const write = (path: string, content: string) => ({ tool: 'write_file', input: { path, content } })
const edit = (path: string, old_text: string, new_text: string) => ({
  tool: 'edit_file',
  input: { path, old_text, new_text },
})

describe('a call that writes a file', () => {
  test('is shown with three lines around each change', () => {
    const lines = Array.from({ length: 9 }, (_, at) => `${at + 1}\n`)
    const workspace = workspaceWith({ f: lines.join('') })
    expect(fileChange(workspace, edit('f', '5\n', 'five\n'), 100)).toEqual({
      fields: ['old_text', 'new_text'],
      head: 'change of the file, +1 -1',
      lines: ['@@ -2,7 +2,7 @@', ' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8'],
    })
  })

  test('is shown whole if the file is new', () => {
    expect(fileChange(workspaceWith({}), write('f', 'one\n'), 100)).toEqual({
      fields: ['content'],
      head: 'new file, 1 line',
      lines: ['@@ -0,0 +1,1 @@', '+one'],
    })
  })

  test('is cut after the given lines, and says how many are left', () => {
    const content = 'x\n'.repeat(50)
    const change = fileChange(workspaceWith({}), write('f', content), 10)
    expect(change).toMatchObject({ head: 'new file, 50 lines' })
    expect((change as { lines: string[] }).lines.slice(9)).toEqual(['+x', '[41 more lines of this diff]'])
  })

  test('says that nothing changes, and that the end of the file has no line break', () => {
    const workspace = workspaceWith({ f: 'one' })
    expect(fileChange(workspace, write('f', 'one'), 100)).toMatchObject({
      head: 'changes nothing: the file has this text already',
    })
    expect(fileChange(workspace, write('f', 'one\n'), 100)).toMatchObject({
      lines: ['@@ -1,1 +1,1 @@', '-one', '\\ No newline at end of file', '+one'],
    })
  })

  test('bounds a long line, and shows a gap as its length', () => {
    const change = fileChange(
      workspaceWith({}),
      write('f', `${'x'.repeat(500)}\na${' '.repeat(200)}b\n`),
      100,
    )
    const [, first, second] = (change as { lines: string[] }).lines
    expect(first).toBe(`+${'x'.repeat(299)}… [201 more characters]`)
    expect(second).toBe('+a [200 spaces] b')
  })
})

describe('the same for the tools of agent programs', () => {
  test('Write and Edit of claude', () => {
    const workspace = workspaceWith({ f: 'a a\n' })
    const input = { file_path: 'f', old_string: 'a', new_string: 'b', replace_all: true }
    expect(fileChange(workspace, { tool: 'Edit', input }, 100)).toMatchObject({
      lines: ['@@ -1,1 +1,1 @@', '-a a', '+b b'],
    })
    const whole = { tool: 'Write', input: { file_path: join(workspace, 'f'), content: 'c\n' } }
    expect(fileChange(workspace, whole, 100)).toMatchObject({ fields: ['content'] })
  })

  test('not if the program has shortened the text', () => {
    const input = { file_path: 'f', content: 'c…', sha256: 'x' }
    expect(fileChange(workspaceWith({}), { tool: 'Write', input }, 100)).toBeUndefined()
  })
})

describe('there is no diff, and a sentence says why', () => {
  test.each([
    ['of a binary file', write('binary', 'x'), /binary is not text, and has 3 bytes/],
    ['of a file in another encoding', write('latin', 'x'), /latin is not text/],
    ['of a large file', write('huge', 'x'), /huge is larger than 524288 bytes/],
    ['of a large new text', write('f', 'x'.repeat(600_000)), /the new text is larger than/],
    ['of a directory', write('directory', 'x'), /is not a regular file/],
    ['outside of the workspace', write('../f', 'x'), /is outside the workspace/],
    ['through a symlink', write('link', 'x'), /is outside the workspace/],
    ['of a missing file that is edited', edit('f', 'a', 'b'), /f does not exist, so the call fails/],
    ['of a text that is not there', edit('twice', 'b', 'c'), /is not in twice, so the call fails/],
    ['of a text that is there twice', edit('twice', 'a', 'c'), /more than once, so the call fails/],
  ])('%s', (_, call, why) => {
    const workspace = workspaceWith({
      binary: Buffer.from([1, 0, 2]),
      latin: Buffer.from([0xe9]),
      huge: 'x'.repeat(600_000),
      twice: 'a a',
    })
    mkdirSync(join(workspace, 'directory'))
    symlinkSync('/etc/passwd', join(workspace, 'link'))
    expect(fileChange(workspace, call, 100)).toMatch(why)
  })

  test('its workspace is on another host', () => {
    expect(fileChange(undefined, write('f', 'x'), 100)).toBe(
      'no diff: the workspace of the agent is on another host',
    )
  })
})

test('other calls, and calls without their fields, have no change', () => {
  const workspace = workspaceWith({})
  expect(fileChange(workspace, { tool: 'shell', input: { command: 'x' } }, 100)).toBeUndefined()
  expect(fileChange(workspace, { tool: 'write_file', input: { path: 'f' } }, 100)).toBeUndefined()
})
