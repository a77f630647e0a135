/** The checks of a file system that one process and a reader can make. No program can see what a power cut leaves. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { clock, sleep } from '../../clock.js'
import type { SelftestCheck } from '../../schema/output-home.js'
import { nameOf, statIfThere } from '../disk/facts.js'
import * as io from '../disk/io.js'
import { createWhole, replace } from '../disk/replace.js'
import { cannotTell, check, doesNotHold, type Found, holds, LOCAL_HOME } from './check.js'

/** The steps of the checks. A test replaces parts, to see that each check can fail. */
export const DISK = {
  open: io.open,
  createExclusive: io.createExclusive,
  createWhole,
  replace,
  rename: io.rename,
  unlink: io.unlink,
  fsync: io.fsync,
  syncDirectory: io.syncDirectory,
  nameOf,
  statIfThere,
  now: clock.now,
}
export type Disk = typeof DISK

const REPLACEMENTS = 100
/** For a reader that starts late. */
const REPLACEMENTS_MAX = 5000
const SYNCS = 10
/** The longest name that substrat makes is shorter. */
const NAME_CHARACTERS = 128
/** Times of files are compared with ages of minutes. */
const TIME_OFF_MS_MAX = 60_000

/** `directory` is empty. `isInMemory`: no disk is below it. */
export async function diskChecks(
  directory: string,
  isInMemory: boolean,
  disk: Disk = DISK,
): Promise<SelftestCheck[]> {
  const at = (name: string): string => join(directory, name)
  return [
    await check('a sync reaches the disk', () => syncs(at('synced'), isInMemory, disk)),
    await check('a directory can be synced', () => {
      disk.syncDirectory('selftest.sync_directory', directory)
      return holds('one was synced')
    }),
    await check('a rename is atomic', () => renames(at('renamed'), disk)),
    await check('a new name has one creator', () => creators(at('new'), disk)),
    await check('an open file knows whether it has its name', () => names(at('open'), disk)),
    await check(`names of ${NAME_CHARACTERS} characters are possible`, () => longName(directory, disk)),
    await check('only the owner can access a new file', () => modes(directory, at('private'), disk)),
    await check('the times of files agree with the clock', () => times(at('timed'), disk)),
  ]
}

function syncs(path: string, isInMemory: boolean, disk: Disk): Found {
  const file = disk.open('selftest.open', path, 'create')
  const took: number[] = []
  try {
    for (let count = 0; count < SYNCS; count++) {
      io.writeAll('selftest.write', file, Buffer.alloc(4096, count), count * 4096)
      const began = clock.monotonic()
      disk.fsync('selftest.fsync', file)
      took.push(clock.monotonic() - began)
    }
  } finally {
    io.close(file)
  }
  const median = (took.sort((a, b) => a - b)[SYNCS / 2] as number).toFixed(2)
  if (isInMemory) return cannotTell('there is no disk')
  return cannotTell(
    `a sync takes ${median} ms; a disk that reports one before it is done looks the same until the power fails`,
  )
}

/**
 * The reader is another process, because the steps of this one are synchronous. The first byte and the length of the line say
 * whether it is whole.
 */
const READER = `
while :; do
  [ ! -e "$2" ] || exit 0
  line=
  IFS= read -r line 2>/dev/null <"$1"
  case \${#line}:$line in 4000:a*a | 4000:b*b) ;; *) [ -e "$2" ] || { echo "\${#line}"; exit 1; } ;; esac
  [ -e "$3" ] || : >"$3"
done`

async function renames(path: string, disk: Disk): Promise<Found> {
  const contents = ['a', 'b'].map((letter) => Buffer.from(`${letter.repeat(4000)}\n`))
  const write = (count: number): void =>
    disk.replace('selftest.replace', path, contents[count % 2] as Buffer, { durableName: false })
  write(0)
  const [end, begun] = [`${path}.end`, `${path}.begun`]
  const reader = spawn('/bin/sh', ['-c', READER, 'sh', path, end, begun], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let told = ''
  reader.stdout?.on('data', (bytes) => {
    told += String(bytes)
  })
  const exited = new Promise<number | null>((resolve) => {
    reader.once('close', resolve).once('error', () => resolve(null))
  })
  let isOver = false
  void exited.then(() => {
    isOver = true
  })
  // The reader may need a while to start. Each pause lets this process hear of its end.
  const hasBegun = (): boolean => disk.statIfThere('selftest.stat', begun) !== undefined
  for (let count = 1; !isOver && count <= (hasBegun() ? REPLACEMENTS : REPLACEMENTS_MAX); count++) {
    write(count)
    await sleep(1)
  }
  disk.createExclusive('selftest.open', end)
  const status = await exited
  if (status === 0)
    return holds(`a second process always read a whole file during ${REPLACEMENTS} replacements`)
  if (status === null) return cannotTell('/bin/sh cannot be started')
  return doesNotHold(
    `a second process read ${told.trim()} of 4000 bytes while a file was replaced`,
    LOCAL_HOME,
  )
}

function creators(path: string, disk: Disk): Found {
  const first = disk.createExclusive('selftest.open', path)
  const second = disk.createExclusive('selftest.open', path)
  for (const file of [first, second]) if (file !== undefined) io.close(file)
  if (first === undefined || second !== undefined)
    return doesNotHold('a name that exists was created again (O_EXCL)', LOCAL_HOME)
  if (disk.createWhole('selftest.create', path, Buffer.from('x')))
    return doesNotHold('a name that exists was linked again (link)', LOCAL_HOME)
  if (!disk.createWhole('selftest.create', `${path}.linked`, Buffer.from('x')))
    return doesNotHold('a new name could not be linked', LOCAL_HOME)
  return holds('a taken name was refused twice, and a hard link made')
}

/** The fence of a lock relies on it: the next process locks another file. */
function names(path: string, disk: Disk): Found {
  const file = disk.open('selftest.open', path, 'create')
  const seen: string[] = []
  try {
    seen.push(disk.nameOf('selftest.name', file))
    disk.replace('selftest.replace', path, Buffer.from('x'), { durableName: false })
    seen.push(disk.nameOf('selftest.name', file))
    disk.unlink('selftest.unlink', path)
    seen.push(disk.nameOf('selftest.name', file))
  } finally {
    io.close(file)
  }
  const [own, replaced, removed] = seen
  const isSeen = own === 'same' && replaced !== 'same' && replaced !== 'unknown' && removed === 'none'
  if (isSeen) return holds('a removed and a replaced file were noticed')
  return doesNotHold(
    `its name was ${own}, after a replacement ${replaced}, after a removal ${removed}`,
    LOCAL_HOME,
  )
}

function longName(directory: string, disk: Disk): Found {
  const path = join(directory, 'n'.repeat(NAME_CHARACTERS))
  io.close(disk.open('selftest.open', path, 'create'))
  disk.unlink('selftest.unlink', path)
  const lower = join(directory, 'case')
  io.close(disk.open('selftest.open', lower, 'create'))
  const isSame = disk.statIfThere('selftest.stat', join(directory, 'CASE')) !== undefined
  disk.unlink('selftest.unlink', lower)
  return holds(
    `one was made; upper and lower case are ${isSame ? 'the same, which substrat does not need' : 'different'}`,
  )
}

function modes(directory: string, path: string, disk: Disk): Found {
  io.close(disk.open('selftest.open', path, 'create'))
  const open = [directory, path].find(
    (each) => ((disk.statIfThere('selftest.stat', each)?.mode ?? 0o777) & 0o077) !== 0,
  )
  if (open === undefined) return holds('a new file and a new directory have no rights for others')
  const mode = disk.statIfThere('selftest.stat', open)?.mode.toString(8)
  return doesNotHold(
    `${open} was made with the mode ${mode}: this file system keeps no modes`,
    'mount it with modes (WSL: the option metadata; SMB, FAT: umask=077), or set SUBSTRAT_HOME to another directory',
  )
}

function times(path: string, disk: Disk): Found {
  io.close(disk.open('selftest.open', path, 'create'))
  const offMs = Math.round((disk.statIfThere('selftest.stat', path)?.modifiedMs ?? 0) - disk.now())
  if (Math.abs(offMs) <= TIME_OFF_MS_MAX) return holds(`a new file is ${Math.abs(offMs)} ms off`)
  return doesNotHold(
    `a new file is ${Math.round(Math.abs(offMs) / 1000)} s ${offMs < 0 ? 'older' : 'newer'} than the clock`,
    'set the clocks of this machine and of the file server by NTP',
  )
}
