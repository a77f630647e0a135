import { execFileSync } from 'node:child_process'
import fs, { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { FORMAT } from '../../../src/format.js'
import { statIfThere } from '../../../src/host/disk/facts.js'
import * as io from '../../../src/host/disk/io.js'
import { confine } from '../../../src/host/disk/operation.js'
import { failing, withFaults } from '../../support/faults.js'
import { clearFaults } from '../../support/operations.js'
import { Child, useChildren } from '../../support/storage-process.js'
import { tempDirectory } from '../../support/temp.js'

useChildren()

function newFile(text = 'what was there\n'): string {
  const path = join(tempDirectory(), 'file')
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

describe('a failed sync', () => {
  const SYNCS: [string, (path: string) => void][] = [
    ['fsync', (path) => io.fsync('point', io.open('open', path, 'write'))],
    ['fdatasync', (path) => io.fdatasync('point', io.open('open', path, 'write'))],
    ['sync_directory', (path) => io.syncDirectory('point', join(path, '..'))],
  ]

  test.each(SYNCS)('is SYNC_FAILED and exit status 15, for %s', (_, sync) => {
    const path = newFile()
    withFaults(failing('EIO', ({ point }) => point === 'point'))
    expect(() => sync(path)).toThrow(
      expect.objectContaining({
        code: 'SYNC_FAILED',
        exitStatus: 15,
        message: expect.stringContaining('(EIO): its content on disk is unknown'),
        facts: expect.objectContaining({ errno: 'EIO', point: 'point' }),
      }),
    )
  })

  test('is SYNC_FAILED if the kernel refuses the descriptor', () => {
    const file = { fd: 1_000_000, path: 'none' }
    for (const sync of [io.fsync, io.fdatasync])
      expect(() => sync('point', file)).toThrow(
        expect.objectContaining({ code: 'SYNC_FAILED', facts: expect.objectContaining({ errno: 'EBADF' }) }),
      )
  })

  test('is SYNC_FAILED if the kernel cannot sync the directory', () => {
    const fsync = vi.spyOn(fs, 'fsyncSync').mockImplementation(() => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    })
    syncBuiltinESMExports()
    try {
      expect(() => io.syncDirectory('point', tempDirectory())).toThrow(
        expect.objectContaining({ code: 'SYNC_FAILED' }),
      )
      expect(fsync).toHaveBeenCalledOnce()
    } finally {
      fsync.mockRestore()
      syncBuiltinESMExports()
    }
  })

  test.each(SYNCS)('is not retried, for %s', (_, sync) => {
    const path = newFile()
    let tries = 0
    withFaults(({ point }) => {
      if (point !== 'point') return undefined
      tries += 1
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    })
    expect(() => sync(path)).toThrow()
    expect(tries).toBe(1)
  })
})

test('syncing a directory refuses a file or a FIFO in its place', () => {
  const path = newFile()
  expect(() => io.syncDirectory('point', path)).toThrow(
    expect.objectContaining({ facts: expect.objectContaining({ errno: 'ENOTDIR' }) }),
  )
})

describe('any other failed step', () => {
  test.each([
    ['ENOSPC', 'free some space'],
    ['EDQUOT', 'quota'],
    ['EROFS', 'read-only'],
    ['EACCES', 'run as the owner'],
    ['EMFILE', 'ulimit'],
    ['EIO', 'check the disk'],
  ])('is STORAGE_FAILED and exit status 11, with a remedy for %s', (errno, remedy) => {
    const path = newFile()
    const file = io.open('open', path, 'write')
    withFaults(failing(errno, ({ point }) => point === 'point'))
    expect(() => io.writeAll('point', file, Buffer.from('x'), 0)).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        exitStatus: 11,
        message: `cannot write ${path}: ${errno}`,
        hint: expect.stringContaining(remedy),
        facts: { errno, point: 'point', path },
      }),
    )
    clearFaults()
    io.close(file)
  })

  test('is a SubstratError also without the fault hook', () => {
    const missing = join(tempDirectory(), 'none', 'file')
    for (const act of [
      () => io.open('point', missing, 'read'),
      () => io.mkdir('point', missing),
      () => io.rename('point', missing, `${missing}2`),
      () => io.link('point', missing, `${missing}2`),
    ])
      expect(act).toThrow(
        expect.objectContaining({
          code: 'STORAGE_FAILED',
          facts: expect.objectContaining({ errno: 'ENOENT' }),
        }),
      )
    expect(() => io.syncDirectory('point', missing)).toThrow(expect.objectContaining({ code: 'SYNC_FAILED' }))
  })
})

describe('a name that is missing or taken', () => {
  test('is a return value, not an error', () => {
    const path = newFile()
    const missing = `${path}.none`
    expect(io.openIfThere('point', missing, 'read')).toBeUndefined()
    expect(io.readIfThere('point', missing)).toBeUndefined()
    expect(statIfThere('point', missing)).toBeUndefined()
    expect(io.listDirectory('point', missing)).toEqual([])
    expect(io.unlink('point', missing)).toBe(false)
    expect(io.renameIfThere('point', missing, path)).toBe(false)
    expect(io.createExclusive('point', path)).toBeUndefined()
    expect(io.link('point', path, path)).toBe(false)
    expect(io.mkdir('point', join(path, '..'))).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe('what was there\n')
  })
})

describe('a write', () => {
  test('that is short is continued', () => {
    const path = newFile('')
    const file = io.open('open', path, 'write')
    const offsets: unknown[] = []
    withFaults(({ name, offset }) => {
      if (name !== 'write') return undefined
      offsets.push(offset)
      return { writtenBytesMax: 4 }
    })
    io.writeAll('point', file, Buffer.from('ten bytes.'), 0)
    expect(readFileSync(path, 'utf8')).toBe('ten bytes.')
    expect(offsets).toEqual([0, 4, 8])
    io.close(file)
  })

  test('to a full device is ENOSPC', () => {
    // /dev/full is always full: no fault hook is needed.
    const file = io.open('open', '/dev/full', 'write')
    expect(() => io.writeAll('point', file, Buffer.from('x'), 0)).toThrow(
      expect.objectContaining({
        code: 'STORAGE_FAILED',
        facts: expect.objectContaining({ errno: 'ENOSPC' }),
      }),
    )
    io.close(file)
  })
})

describe('a symlink planted in the place of a file', () => {
  test.each(['read', 'write', 'create', 'create_exclusive', 'append'] as const)(
    'is refused when opened to %s',
    (mode) => {
      const target = newFile('precious')
      const path = `${target}.link`
      symlinkSync(target, path)
      expect(() => io.open('point', path, mode)).toThrow(
        expect.objectContaining({
          code: 'STORAGE_FAILED',
          facts: expect.objectContaining({ errno: mode === 'create_exclusive' ? 'EEXIST' : 'ELOOP' }),
        }),
      )
      expect(readFileSync(target, 'utf8')).toBe('precious')
    },
  )

  test('is not written through, even if broken', () => {
    const target = join(tempDirectory(), 'none')
    symlinkSync(target, `${target}.link`)
    expect(() => io.open('point', `${target}.link`, 'create')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('symbolic link') }),
    )
    expect(() => lstatSync(target)).toThrow()
  })
})

describe('a FIFO in the place of a file of the home', () => {
  // In a separate process: one that hangs in open(2) can only be killed.
  const fifo = (name = 'file'): string => {
    const path = join(tempDirectory(), name)
    execFileSync('mkfifo', [path])
    return path
  }

  test('reads as empty without hanging', async () => {
    const child = await Child.start()
    expect(await child.ask({ do: 'read', path: fifo() })).toBe('')
    await child.kill()
  })

  test('is locked like a file or refused, without hanging', async () => {
    const child = await Child.start()
    const lock = { system: { kind: 'ofd', isLocal: true } as const, path: fifo('lock') }
    const taken = await child.ask({ do: 'try', ...lock }).catch((error) => error.code)
    expect([true, 'LOCK_UNSUPPORTED', 'STORAGE_FAILED']).toContain(taken)
    await child.kill()
  })

  test.each(['home.json', 'roots', 'agents', 'boots', 'operator'])(
    'is refused in the place of %s, without hanging',
    async (name) => {
      const child = await Child.start()
      const path = fifo(name)
      const outcome = child.ask({ do: 'make home', root: join(path, '..') })
      // A complete home is only opened, and its directories are not checked then.
      if (name === 'boots') expect(await outcome).toMatchObject({ format: FORMAT })
      else await expect(outcome).rejects.toMatchObject({ code: expect.stringMatching(/CORRUPT|_FAILED/) })
      await child.kill()
    },
  )
})

describe('files and directories', () => {
  test('are for their owner only from creation, under any umask', () => {
    const before = process.umask(0)
    try {
      const directory = tempDirectory()
      io.mkdir('point', join(directory, 'made'))
      io.close(io.open('point', join(directory, 'created'), 'create'))
      io.close(io.open('point', join(directory, 'exclusive'), 'create_exclusive'))
      expect(statSync(join(directory, 'made')).mode & 0o777).toBe(0o700)
      expect(statSync(join(directory, 'created')).mode & 0o777).toBe(0o600)
      expect(statSync(join(directory, 'exclusive')).mode & 0o777).toBe(0o600)
    } finally {
      process.umask(before)
    }
  })

  test('are read in part, or to their end if that comes first', () => {
    const path = newFile('0123456789')
    const file = io.open('open', path, 'read')
    expect(io.readRange('point', file, 2, 5).toString()).toBe('234')
    expect(io.readRange('point', file, 8, 50).toString()).toBe('89')
    expect(io.readRange('point', file, 50, 60)).toHaveLength(0)
    expect(io.readRange('point', file, 5, 2)).toHaveLength(0)
    expect(io.sizeOf(file)).toBe(10)
    io.close(file)
  })

  test('have distinct kinds', () => {
    const path = newFile()
    expect(statIfThere('point', path)).toMatchObject({
      kind: 'file',
      sizeBytes: 15,
      owner: process.getuid?.(),
    })
    expect(statIfThere('point', join(path, '..'))).toMatchObject({ kind: 'directory' })
    expect(statIfThere('point', '/dev/null')).toMatchObject({ kind: 'other' })
  })
})

describe('the fault hook', () => {
  test('runs before every step, and a step that it fails does not happen', () => {
    const directory = tempDirectory()
    const path = join(directory, 'file')
    withFaults(failing('EIO', () => true))
    expect(() => io.mkdir('point', join(directory, 'made'))).toThrow()
    expect(() => io.open('point', path, 'create')).toThrow()
    clearFaults()
    expect(io.listDirectory('point', directory)).toEqual([])
    mkdirSync(join(directory, 'made'))
    withFaults(failing('EIO', () => true))
    expect(() => io.removeTree('point', join(directory, 'made'))).toThrow()
    expect(() => io.rename('point', join(directory, 'made'), path)).toThrow()
    clearFaults()
    expect(io.listDirectory('point', directory)).toEqual(['made'])
  })
})

describe('below a confined directory', () => {
  const STEPS: [string, (folder: string) => unknown][] = [
    ['read', (folder) => io.readIfThere('point', join(folder, 'file'))],
    ['made', (folder) => io.createExclusive('point', join(folder, 'new'))],
    ['listed', (folder) => io.listDirectory('point', folder)],
    ['unlinked', (folder) => io.unlink('point', join(folder, 'file'))],
    ['renamed', (folder) => io.rename('point', join(folder, 'file'), join(folder, 'new'))],
    ['renamed into', (folder) => io.rename('point', join(folder, '..', '..', 'own'), join(folder, 'new'))],
    ['made a directory in', (folder) => io.mkdir('point', join(folder, 'new'))],
    ['removed with its content', (folder) => io.removeTree('point', join(folder, 'file'))],
  ]

  test.each(STEPS)('nothing behind a symlink is %s', (_, act) => {
    const [home, outside] = [tempDirectory(), tempDirectory()]
    const ours = join(home, 'ours')
    mkdirSync(ours)
    writeFileSync(join(home, 'own'), '')
    writeFileSync(join(outside, 'file'), 'as it was')
    symlinkSync(outside, join(ours, 'link'))
    confine([ours])
    expect(() => act(join(ours, 'link'))).toThrow(
      expect.objectContaining({ code: 'HOME_EXPOSED', facts: { path: join(ours, 'link') } }),
    )
    expect(fs.readdirSync(outside)).toEqual(['file'])
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('as it was')
  })

  test('that is itself a symlink, nothing is touched', () => {
    const [home, outside] = [tempDirectory(), tempDirectory()]
    symlinkSync(outside, join(home, 'ours'))
    confine([join(home, 'ours')])
    expect(() => io.mkdir('point', join(home, 'ours', 'new'))).toThrow('is a symbolic link')
    expect(() => io.listDirectory('point', join(home, 'ours'))).toThrow('is a symbolic link')
  })

  test('a symlink itself can be removed or renamed', () => {
    const [ours, outside] = [tempDirectory(), tempDirectory()]
    symlinkSync(outside, join(ours, 'link'))
    confine([ours])
    io.rename('point', join(ours, 'link'), join(ours, 'aside'))
    expect(io.unlink('point', join(ours, 'aside'))).toBe(true)
  })
})

describe('a failed close', () => {
  /** The kernel releases the descriptor, and returns an error. */
  const withFailingClose = (errno: string, act: () => void): void => {
    const { closeSync } = fs
    const close = vi.spyOn(fs, 'closeSync').mockImplementation((fd) => {
      closeSync(fd)
      throw Object.assign(new Error(errno), { code: errno })
    })
    syncBuiltinESMExports()
    try {
      act()
      expect(close).toHaveBeenCalled()
    } finally {
      close.mockRestore()
      syncBuiltinESMExports()
    }
  }

  test('is ignored for a file whose content was read or synced', () => {
    const path = newFile()
    withFailingClose('EIO', () => {
      expect(io.readIfThere('point', path)?.toString()).toBe('what was there\n')
      const file = io.open('point', path, 'write')
      io.fsync('point', file)
      io.close(file)
      io.syncDirectory('point', join(path, '..'))
    })
  })

  test('is a bug if the descriptor was closed before', () => {
    const file = io.open('point', newFile(), 'read')
    withFailingClose('EBADF', () => expect(() => io.close(file)).toThrow('EBADF'))
  })
})
