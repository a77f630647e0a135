/**
 * Faults of a real kernel under real processes of the CLI. Each experiment reports how many cases it ran and which
 * parts of the contract were broken, or why this machine does not permit it.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { STRACE } from '../kill/strace.js'
import { HomeView } from '../support/home-view.js'
import type { Ended, Lab } from '../support/lab.js'
import { failure, fill, onMount, remount, tmpfs } from './mounts.js'
import { failOutput } from './printed.js'
import { type Experiment, REPLY, SEND, Trials } from './real-trial.js'

/** `every`: each k-th case of an experiment with very many. */
export const EXPERIMENTS: Record<string, (lab: Lab, every: number) => Promise<Experiment>> = {
  'a full tmpfs': fullTmpfs,
  'a read-only file system': readOnly,
  'a file system that turns read-only in mid-turn': abortMidTurn,
  'ulimit -f, its signal ignored': (lab) => fileSizes(lab, true),
  'ulimit -f': (lab) => fileSizes(lab, false),
  'ulimit -n': (lab) => descriptors(lab),
  'fsync fails once': (lab) => injectEach(lab, 'fsync', 'EIO'),
  'fdatasync fails once': (lab) => injectEach(lab, 'fdatasync', 'EIO'),
  'close fails once': (lab) => injectEach(lab, 'close', 'EIO'),
  'pwrite64 finds no space once': (lab) => injectEach(lab, 'pwrite64', 'ENOSPC'),
  'config set on a full tmpfs': fullConfig,
  'stdout and stderr fail': failOutput,
}

/** From 64 KiB to 1 MiB, filled except for 0 to 12 pages. */
async function fullTmpfs(lab: Lab): Promise<Experiment> {
  const trials = new Trials('a full tmpfs', lab)
  for (const size of ['64k', '256k', '1m']) {
    for (let pages = 0; pages <= 12; pages++) {
      const why = await onMount(
        lab,
        (place) => [['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'substrat', place]],
        async (place) => {
          const home = join(place, 'home')
          await lab.do(home, ...SEND.prepare)
          const empty = fill(place, pages)
          const told = await lab.run(home, SEND.command)
          await trials.read(`${size}, ${pages} pages left`, home)
          empty()
          remount(place, 'size=64m')
          await trials.judge(`${size}, ${pages} pages left`, home, told)
        },
      )
      if (why !== undefined) return trials.skip(why)
    }
  }
  return trials
}

async function fullConfig(lab: Lab): Promise<Experiment> {
  const trials = new Trials('config set on a full tmpfs', lab)
  const why = await onMount(lab, tmpfs, async (place) => {
    for (const pages of [0, 1, 2, 3]) {
      const home = join(place, `home-${pages}`)
      await lab.do(home, ...SEND.prepare)
      await lab.do(home, 'config', 'set', 'slots_max', '3')
      const empty = fill(place, pages)
      const told = await lab.run(home, ['config', 'set', 'slots_max', '2'])
      empty()
      const value = await lab.do(home, 'config', 'get', 'slots_max')
      if (value !== (told.code === 0 ? '2' : '3'))
        trials.broken.push(`config set that exits ${told.code} leaves ${value}`)
      const own = { ...told, stdout: told.code === 0 ? REPLY : told.stdout }
      await trials.judge(`${pages} pages left`, home, own)
    }
  })
  return why === undefined ? trials : trials.skip(why)
}

async function readOnly(lab: Lab): Promise<Experiment> {
  const trials = new Trials('a read-only file system', lab)
  const why = await onMount(lab, tmpfs, async (place) => {
    const home = join(place, 'home')
    await lab.do(home, ...SEND.prepare)
    const refused = remount(place, 'ro')
    if (refused !== undefined) throw new Error(refused)
    const told = await lab.run(home, SEND.command)
    await trials.read('between commands', home)
    remount(place, 'rw')
    await trials.judge('between commands', home, told)
  })
  return why === undefined ? trials : trials.skip(why)
}

/** Acts like ext4 after a disk error: from one moment on every write fails, also to open files. */
async function abortMidTurn(lab: Lab): Promise<Experiment> {
  const trials = new Trials('a file system that turns read-only in mid-turn', lab)
  const image = join(lab.root, 'ext4.img')
  const make = (place: string): string[][] => [
    ['truncate', '-s', '32M', image],
    ['mkfs.ext4', '-q', '-F', image],
    ['mount', '-o', 'loop,errors=remount-ro', image, place],
  ]
  for (const delayMs of [100, 300]) {
    const why = await onMount(lab, make, async (place) => {
      const home = join(place, 'home')
      const scenario = join(lab.workspace, 'slow.json')
      writeFileSync(scenario, JSON.stringify({ responses: [{ delay_ms: 1500 }] }))
      await lab.do(home, 'spawn', '--name', 'a', '--option', `scenario=${scenario}`)
      const turn = lab.run(home, SEND.command)
      await until(() => HomeView.read(home).agent('a')?.state.run?.phase === 'asked')
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      const refused = remount(place, 'abort')
      const told = await turn
      await trials.read('while it is read-only', home)
      spawnSync('umount', ['-l', place])
      const mended = failure('e2fsck', ['-fy', image])
      const again = failure('mount', ['-o', 'loop', image, place])
      if (refused !== undefined || again !== undefined) throw new Error(refused ?? again ?? mended)
      await trials.judge(`${delayMs} ms into the request`, home, told)
    })
    if (why !== undefined) return trials.skip(why)
  }
  return trials
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** The limit on the file size, in blocks of 1 KiB. */
async function fileSizes(lab: Lab, isIgnored: boolean): Promise<Experiment> {
  const trials = new Trials(isIgnored ? 'ulimit -f, its signal ignored' : 'ulimit -f', lab)
  const ignore = isIgnored ? "trap '' XFSZ; " : ''
  for (const blocks of [0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 24]) {
    const home = await prepareHome(lab)
    const under = ['bash', '-c', `ulimit -f ${blocks}; ${ignore}exec "$0" "$@"`]
    const told = await lab.run(home, SEND.command, { under })
    await trials.judge(`${blocks} KiB`, home, told)
  }
  return trials
}

/** The range around the number of descriptors that Node itself needs. */
const LIMITS = Array.from({ length: 18 }, (_, index) => 15 + index)

export async function descriptors(lab: Lab, limits = LIMITS): Promise<Experiment> {
  const trials = new Trials('ulimit -n', lab)
  for (const limit of limits) {
    const home = await prepareHome(lab)
    const under = ['bash', '-c', `ulimit -n ${limit}; exec "$0" "$@"`]
    const told = await lab.run(home, SEND.command, { under })
    // With fewer descriptors Node itself cannot start.
    if (isNodes(told)) continue
    await trials.judge(`${limit} descriptors`, home, told)
  }
  return trials
}

function isNodes({ code, signal, stderr }: Ended): boolean {
  return signal === 'SIGABRT' || code === 134 || (code !== 0 && !stderr.includes('substrat:'))
}

/** Each call of that kind fails once, with that error. */
async function injectEach(lab: Lab, syscall: string, errno: string): Promise<Experiment> {
  const trials = new Trials(`${syscall} fails once with ${errno}`, lab)
  const trace = join(lab.root, 'calls')
  const home = await prepareHome(lab)
  const count = [...STRACE, '-o', trace, '-e', `trace=${syscall}`]
  const { code, stderr } = await lab.run(home, SEND.command, { under: count })
  if (code !== 0) return trials.skip(stderr.trim().split('\n')[0] ?? 'strace may trace no process here')
  const calls = linesOf(trace)
  for (let n = 1; n <= calls; n++) {
    const again = await prepareHome(lab)
    const inject = `inject=${syscall}:error=${errno}:when=${n}`
    const under = [...STRACE, '-o', '/dev/null', '-e', `trace=${syscall}`, '-e', inject]
    const told = await lab.run(again, SEND.command, { under })
    await trials.judge(`call ${n} of ${calls}`, again, told)
  }
  return trials
}

function linesOf(file: string): number {
  if (!existsSync(file)) return 0
  const count = spawnSync('wc', ['-l', file], { encoding: 'utf8' }).stdout
  return Number.parseInt(count, 10)
}

async function prepareHome(lab: Lab): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, ...SEND.prepare)
  return home
}
