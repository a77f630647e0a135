import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readWorkspaceFile, writeWorkspaceFile } from '../../src/files/workspace.js'
import { withFaults } from '../support/faults.js'
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

describe('a path outside the workspace is refused', () => {
  const PATHS: [string, () => string][] = [
    ['by its absolute path', () => join(outside, 'secret')],
    ['with ..', () => `../${outside.split('/').at(-1)}/secret`],
    ['with .. in the middle', () => `folder/../../${outside.split('/').at(-1)}/secret`],
    ['the directory above', () => '..'],
    ['the root', () => '/'],
    [
      'through a symlink to a file',
      () => {
        symlinkSync(join(outside, 'secret'), join(workspace, 'link'))
        return 'link'
      },
    ],
    [
      'through a symlink to a directory',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/secret'
      },
    ],
    [
      'through a symlink to a directory, for a new file',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/new'
      },
    ],
    [
      'through a symlink to a directory, for new directories',
      () => {
        symlinkSync(outside, join(workspace, 'link'))
        return 'link/new/er/file'
      },
    ],
    [
      'through a symlink to a symlink',
      () => {
        symlinkSync(outside, join(workspace, 'first'))
        symlinkSync('first', join(workspace, 'link'))
        return 'link/new'
      },
    ],
    [
      'through a relative symlink',
      () => {
        symlinkSync(`../../${outside.split('/').at(-1)}`, join(workspace, 'folder', 'link'))
        return 'folder/link/secret'
      },
    ],
  ]

  test.each(PATHS)('%s', async (_, path) => {
    const name = path()
    expect(() => read(name)).toThrow('is outside the workspace')
    expect(() => writeWorkspaceFile(workspace, name, 'x')).toThrow('is outside the workspace')
    expect(readdirSync(outside)).toEqual(['secret'])
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
  })

  test('a sibling whose name has the same prefix', () => {
    const sibling = `${workspace}-2`
    expect(() => read(join(sibling, 'x'))).toThrow('is outside the workspace')
  })

  test('a broken symlink', async () => {
    symlinkSync(join(outside, 'new'), join(workspace, 'link'))
    expect(() => read('link')).toThrow('is a broken symbolic link')
    expect(() => writeWorkspaceFile(workspace, 'link', 'x')).toThrow('is a broken symbolic link')
    expect(() => writeWorkspaceFile(workspace, 'link/x', 'x')).toThrow('is a broken symbolic link')
    expect(readdirSync(outside)).toEqual(['secret'])
  })
})

describe('a path inside the workspace is read and written', () => {
  test.each([
    ['by its name', () => 'inside'],
    ['by its absolute path', () => join(workspace, 'inside')],
    ['with .. that stays inside', () => 'folder/../inside'],
    [
      'through a symlink that stays inside',
      () => {
        symlinkSync('../inside', join(workspace, 'folder', 'link'))
        return 'folder/link'
      },
    ],
  ])('%s', async (_, path) => {
    const name = path()
    expect(read(name)).toBe('inside')
    writeWorkspaceFile(workspace, name, 'changed')
    expect(readFileSync(join(workspace, 'inside'), 'utf8')).toBe('changed')
  })

  test('a file whose name begins with two dots', async () => {
    writeWorkspaceFile(workspace, '..a', 'x')
    expect(read('..a')).toBe('x')
  })

  test('through a workspace that is itself a symlink', async () => {
    const link = join(outside, 'workspace')
    symlinkSync(workspace, link)
    writeWorkspaceFile(link, 'new/file', 'x')
    expect(readWorkspaceFile(link, join(link, 'new/file'), MAX).toString()).toBe('x')
  })
})

describe('a read or write refuses', () => {
  test('a FIFO, without waiting for its other end', async () => {
    execFileSync('mkfifo', [join(workspace, 'fifo')])
    expect(() => read('fifo')).toThrow('fifo is not a regular file')
    expect(() => writeWorkspaceFile(workspace, 'fifo', 'x')).toThrow('fifo is not a regular file')
  })

  test.each(['folder', '.', ''])('a directory, %j', async (path) => {
    expect(() => read(path)).toThrow(/is not a regular file|the path is empty/)
    expect(() => writeWorkspaceFile(workspace, path, 'x')).toThrow(/is not a regular file|the path is empty/)
  })

  test('a name with a NUL byte', async () => {
    expect(() => read('inside\0')).toThrow('contains a NUL byte')
    expect(() => writeWorkspaceFile(workspace, 'new\0', 'x')).toThrow('contains a NUL byte')
    expect(existsSync(join(workspace, 'new'))).toBe(false)
  })

  test('a file over the size limit, without reading it', () => {
    writeFileSync(join(workspace, 'huge'), '')
    truncateSync(join(workspace, 'huge'), 2 ** 42)
    expect(() => read('huge')).toThrow(`huge is larger than ${MAX} bytes`)
    writeFileSync(join(workspace, 'whole'), 'x'.repeat(MAX))
    expect(read('whole')).toHaveLength(MAX)
  })

  test('a missing file', () => {
    expect(() => read('nothing')).toThrow('nothing does not exist')
    expect(() => read('no/such/path')).toThrow('no/such/path does not exist')
  })
})

describe('a symlink that replaces a file after the check', () => {
  const swapAt = (step: string): void => {
    let isDone = false
    withFaults(({ point }) => {
      if (isDone || point !== step) return undefined
      isDone = true
      rmSync(join(workspace, 'inside'))
      symlinkSync(join(outside, 'secret'), join(workspace, 'inside'))
      return undefined
    })
  }

  test('is not read', () => {
    swapAt('workspace.open')
    expect(() => read('inside')).toThrow('ELOOP')
  })

  test('is not written through: the new file replaces it', () => {
    swapAt('workspace.write.open')
    writeWorkspaceFile(workspace, 'inside', 'changed')
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
    expect(read('inside')).toBe('changed')
  })

  test('does not block, and neither does a FIFO', () => {
    withFaults(({ point }) => {
      if (point !== 'workspace.open') return undefined
      rmSync(join(workspace, 'inside'))
      execFileSync('mkfifo', [join(workspace, 'inside')])
      return undefined
    })
    expect(() => read('inside')).toThrow('inside is not a regular file')
  })
})

test('a new workspace file follows the umask, and an existing one keeps its mode', () => {
  const before = process.umask(0o027)
  try {
    writeWorkspaceFile(workspace, 'new', 'x')
    expect(statSync(join(workspace, 'new')).mode & 0o777).toBe(0o640)
    chmodSync(join(workspace, 'inside'), 0o755)
    writeWorkspaceFile(workspace, 'inside', 'x')
    expect(statSync(join(workspace, 'inside')).mode & 0o777).toBe(0o755)
  } finally {
    process.umask(before)
  }
})
