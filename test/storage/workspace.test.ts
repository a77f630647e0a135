import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readWorkspaceFile, writeWorkspaceFile } from '../../src/storage/workspace.js'
import { tempDirectory } from '../support/temp.js'

const MAX = 1000
let workspace: string
let outside: string

beforeEach(() => {
  workspace = tempDirectory()
  outside = tempDirectory()
  writeFileSync(join(outside, 'secret'), 'secret')
  writeFileSync(join(workspace, 'inside'), 'inside')
  mkdirSync(join(workspace, 'folder'))
})

const read = (path: string): string => readWorkspaceFile(workspace, path, MAX).toString()

describe('what is outside the workspace is refused, however it is named:', () => {
  const PATHS: [string, () => string][] = [
    ['by its absolute path', () => join(outside, 'secret')],
    ['with ..', () => `../${outside.split('/').at(-1)}/secret`],
    ['with .. in the middle', () => `folder/../../${outside.split('/').at(-1)}/secret`],
    ['the directory above', () => '..'],
    ['the root', () => '/'],
    [
      'through a link to a file',
      () => {
        symlinkSync(join(outside, 'secret'), join(workspace, 'link'))
        return 'link'
      },
    ],
    [
      'through a link to a directory',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/secret'
      },
    ],
    [
      'through a link to a directory, and a file that is not there yet',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/new'
      },
    ],
    [
      'through a link to a directory, and directories that are not there yet',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/new/er/file'
      },
    ],
    [
      'through a link to a link',
      () => {
        symlinkSync(outside, join(workspace, 'first'))
        symlinkSync('first', join(workspace, 'link'))
        return 'link/new'
      },
    ],
    [
      'through a relative link',
      () => {
        symlinkSync(`../../${outside.split('/').at(-1)}`, join(workspace, 'folder', 'link'))
        return 'folder/link/secret'
      },
    ],
  ]

  test.each(PATHS)('%s', async (_, path) => {
    const name = path()
    expect(() => read(name)).toThrow('is outside the workspace')
    await expect(writeWorkspaceFile(workspace, name, 'x')).rejects.toThrow('is outside the workspace')
    expect(readdirSync(outside)).toEqual(['secret'])
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
  })

  test('a sibling whose name begins alike', () => {
    const sibling = `${workspace}-2`
    expect(() => read(join(sibling, 'x'))).toThrow('is outside the workspace')
  })

  test('a link that leads nowhere', async () => {
    symlinkSync(join(outside, 'new'), join(workspace, 'link'))
    expect(() => read('link')).toThrow('is a link that leads nowhere')
    await expect(writeWorkspaceFile(workspace, 'link', 'x')).rejects.toThrow('is a link that leads nowhere')
    await expect(writeWorkspaceFile(workspace, 'link/x', 'x')).rejects.toThrow('is a link that leads nowhere')
    expect(readdirSync(outside)).toEqual(['secret'])
  })
})

describe('what is inside is read and written:', () => {
  test.each([
    ['by its name', () => 'inside'],
    ['by its absolute path', () => join(workspace, 'inside')],
    ['with .. that stays inside', () => 'folder/../inside'],
    [
      'through a link that stays inside',
      () => {
        symlinkSync('../inside', join(workspace, 'folder', 'link'))
        return 'folder/link'
      },
    ],
  ])('%s', async (_, path) => {
    const name = path()
    expect(read(name)).toBe('inside')
    await writeWorkspaceFile(workspace, name, 'changed')
    expect(readFileSync(join(workspace, 'inside'), 'utf8')).toBe('changed')
  })

  test('a file whose name begins with two dots', async () => {
    await writeWorkspaceFile(workspace, '..a', 'x')
    expect(read('..a')).toBe('x')
  })

  test('through a workspace that is itself a link', async () => {
    const link = join(outside, 'workspace')
    symlinkSync(workspace, link)
    await writeWorkspaceFile(link, 'new/file', 'x')
    expect(readWorkspaceFile(link, join(link, 'new/file'), MAX).toString()).toBe('x')
  })
})

describe('what is no plain file is refused:', () => {
  test('a FIFO, without waiting for its other end', async () => {
    execFileSync('mkfifo', [join(workspace, 'fifo')])
    expect(() => read('fifo')).toThrow('fifo is no plain file')
    await expect(writeWorkspaceFile(workspace, 'fifo', 'x')).rejects.toThrow('fifo is no plain file')
  })

  test.each(['folder', '.', ''])('a directory, %j', async (path) => {
    expect(() => read(path)).toThrow(/is no plain file|the path is empty/)
    await expect(writeWorkspaceFile(workspace, path, 'x')).rejects.toThrow(
      /is no plain file|the path is empty/,
    )
  })

  test('a name with a NUL', async () => {
    expect(() => read('inside\0')).toThrow('has a NUL')
    await expect(writeWorkspaceFile(workspace, 'new\0', 'x')).rejects.toThrow('has a NUL')
    expect(existsSync(join(workspace, 'new'))).toBe(false)
  })

  test('what is larger than the bound, without reading it', () => {
    writeFileSync(join(workspace, 'huge'), '')
    truncateSync(join(workspace, 'huge'), 2 ** 42)
    expect(() => read('huge')).toThrow(`huge is larger than ${MAX} bytes`)
    writeFileSync(join(workspace, 'whole'), 'x'.repeat(MAX))
    expect(read('whole')).toHaveLength(MAX)
  })

  test('what is not there', () => {
    expect(() => read('nothing')).toThrow('there is no file nothing')
    expect(() => read('no/such/path')).toThrow('there is no file no/such/path')
  })
})
