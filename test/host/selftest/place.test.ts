import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditHome } from '../../../src/audit/audit.js'
import { isSelftestPlace, makePlace, removePlace } from '../../../src/host/selftest/place.js'
import { FileStore } from '../../../src/storage/file-store.js'
import { sweepHome } from '../../../src/storage/sweep.js'
import { failing, withFaults } from '../../support/faults.js'
import { tempDirectory } from '../../support/temp.js'

/** As a killed selftest leaves it: its pid is beyond those of Linux. */
function leftover(parent: string): string {
  const { root } = makePlace(join(parent, 'any'))
  const dead = root.replace(/selftest\.\d+-/, 'selftest.99999999-')
  removePlace(root)
  mkdirSync(dead)
  writeFileSync(join(dead, 'file'), '')
  return dead
}

describe('the directory of a selftest', () => {
  test('is beside the home, for its owner alone', () => {
    const home = join(tempDirectory(), 'home')
    for (const isThere of [false, true]) {
      if (isThere) mkdirSync(home)
      const { root, workspace } = makePlace(home)
      expect(dirname(root)).toBe(dirname(home))
      expect(isSelftestPlace(root.slice(dirname(root).length + 1))).toBe(true)
      expect(statSync(root).mode & 0o777).toBe(0o700)
      expect(existsSync(workspace)).toBe(true)
      removePlace(root)
      expect(existsSync(root)).toBe(false)
    }
  })

  test('is above a home whose parent does not exist, and beside the target of a symlink', () => {
    const directory = tempDirectory()
    const { root } = makePlace(join(directory, 'no/such/home'))
    expect(dirname(root)).toBe(directory)
    mkdirSync(join(directory, 'real/home'), { recursive: true })
    symlinkSync('real/home', join(directory, 'link'))
    const other = makePlace(join(directory, 'link'))
    expect(dirname(other.root)).toBe(join(directory, 'real'))
  })

  test('is inside a home whose parent cannot be written, and no other command looks at it', async () => {
    const home = join(tempDirectory(), 'home')
    const store = FileStore.openForWrite(home)
    withFaults(
      failing('EROFS', ({ point, path }) => point === 'selftest.mkdir' && dirname(path) === dirname(home)),
    )
    const { root } = makePlace(home)
    expect(dirname(root)).toBe(home)
    sweepHome(store.paths, { kind: 'ofd', isLocal: true })
    expect(existsSync(root)).toBe(true)
    expect((await auditHome(store, true)).findings).toEqual([])
  })

  test('can be in a directory that this user may not list', () => {
    const parent = tempDirectory()
    withFaults(failing('EACCES', ({ point }) => point === 'selftest.list'))
    expect(dirname(makePlace(join(parent, 'home')).root)).toBe(parent)
  })

  test('can be in an empty directory that becomes a home', () => {
    const home = tempDirectory()
    withFaults(
      failing('EACCES', ({ point, path }) => point === 'selftest.mkdir' && dirname(path) === dirname(home)),
    )
    const { root } = makePlace(home)
    FileStore.openForWrite(home)
    expect(existsSync(root)).toBe(true)
  })

  test('is swept by the next one if its writer was killed, and not while that runs', () => {
    const parent = tempDirectory()
    const running = makePlace(join(parent, 'home')).root
    const dead = leftover(parent)
    writeFileSync(join(parent, '.substrat-selftest.notes'), '')
    const { root } = makePlace(join(parent, 'home'))
    expect(existsSync(dead)).toBe(false)
    const names = [running, root].map((path) => path.slice(parent.length + 1))
    expect(readdirSync(parent).sort()).toEqual([...names, '.substrat-selftest.notes'].sort())
  })
})
