/**
 * The same for real: processes of the CLI whose kernel says no. Each experiment names why it cannot be made where the
 * machine does not permit it, and else how often it was made and what of the contract was broken.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { audit, HomeView } from '../kill/home-view.js'
import type { Ended, Lab } from '../support/lab.js'
import { viewOf } from './view.js'

export interface Experiment {
  name: string
  /** Why it is left out here; else how many cases it had, how the command ended in them, and what was wrong. */
  skipped?: string
  cases: number
  exits: Record<string, number>
  broken: string[]
}

type Commands = Record<'prepare' | 'command', string[]>

/** It takes pages of its own in the log, and its answer too. */
const MESSAGE = 'hello '.repeat(1000)
const REPLY = `echo: ${MESSAGE}\n`
const SEND: Commands = {
  prepare: ['spawn', '--name', 'a'],
  command: ['send', 'a', '--key', 'k', MESSAGE],
}
const PAGE_BYTES = 4096
const ALLOWED = ['0', '11', '15']

export const EXPERIMENTS: Record<string, (lab: Lab) => Promise<Experiment>> = {
  'a full tmpfs': fullTmpfs,
  'a read-only file system': readOnly,
  'a file system that turns read-only in mid-turn': aborted,
  'ulimit -f, its signal ignored': (lab) => fileSizes(lab, true),
  'ulimit -f': (lab) => fileSizes(lab, false),
  'ulimit -n': (lab) => descriptors(lab),
  'fsync fails once': (lab) => injected(lab, 'fsync', 'EIO'),
  'fdatasync fails once': (lab) => injected(lab, 'fdatasync', 'EIO'),
  'pwrite64 finds no space once': (lab) => injected(lab, 'pwrite64', 'ENOSPC'),
  'config set on a full tmpfs': fullConfig,
}

class Cases implements Experiment {
  cases = 0
  exits: Record<string, number> = {}
  broken: string[] = []

  constructor(
    readonly name: string,
    private readonly lab: Lab,
  ) {}

  skip(why: string): Experiment {
    return { ...this, skipped: why }
  }

  /** `told` is the end of the command that met the fault, which is gone by now. */
  async judge(what: string, home: string, told: Ended, { command }: Commands = SEND): Promise<void> {
    const code = String(told.code ?? told.signal)
    this.cases += 1
    this.exits[code] = (this.exits[code] ?? 0) + 1
    const note = (broken: string): void => void this.broken.push(`${this.name}, ${what}: ${broken}`)
    if (!ALLOWED.includes(code) && told.signal === null) note(`it exits ${code}: ${told.stderr.trim()}`)
    if (/\n {4}at /.test(told.stderr)) note(`it prints no stack: ${told.stderr.slice(0, 300)}`)
    // Where Node itself has no descriptor left it does not say for which file.
    const isSaid = told.stderr.split('\n').some((line) => /^substrat: .*(\/|open a file).*\(.+\)$/.test(line))
    if ((code === '11' || code === '15') && !isSaid)
      note(`it says what, where and what next: ${told.stderr.trim()}`)
    if (code === '0' && told.stdout !== REPLY) note('what it printed is the reply')
    for (const sentence of audit(home, false)) note(sentence)
    const next = await this.lab.run(home, command)
    if (next.code !== 0 || next.stdout !== REPLY) note(`the next command goes on: ${next.stderr.trim()}`)
    const recovered = await this.lab.run(home, ['recover', '--all'])
    if (recovered.code !== 0) note(`recover --all ends well: ${recovered.stderr.trim()}`)
    for (const sentence of audit(home, true)) note(sentence)
    const turns = viewOf(home).filter((line) => line.includes('"asked":["hello'))
    const isOnce =
      turns.length === 1 && /"replies":\["echo: hello[^"]*"\],"end":"run.completed"/.test(turns[0] ?? '')
    if (!isOnce) note(`the message is there once, answered once: ${turns.join('; ')}`)
  }

  /** Nothing is wrong with what only reads. */
  async read(what: string, home: string): Promise<void> {
    if (HomeView.read(home).agent('a') === undefined) return
    for (const argv of [['list'], ['show', 'a'], ['log', 'a'], ['tree']]) {
      const { code, stderr } = await this.lab.run(home, argv)
      if (code !== 0)
        this.broken.push(`${this.name}, ${what}: ${argv[0]} still reads, not ${code}: ${stderr}`)
    }
  }
}

/** Runs `work` on a file system of its own; why not, where that is not permitted. */
async function onMount(
  lab: Lab,
  make: (place: string) => string[][],
  work: (place: string) => Promise<void>,
): Promise<string | undefined> {
  const place = join(lab.root, 'mount')
  mkdirSync(place, { recursive: true })
  const why = make(place)
    .map(([program, ...words]) => failure(program as string, words))
    .find((each) => each !== undefined)
  try {
    if (why === undefined) await work(place)
    return why
  } finally {
    spawnSync('umount', ['-l', place])
  }
}

function failure(program: string, words: string[]): string | undefined {
  const { status, stderr, error } = spawnSync(program, words, { encoding: 'utf8' })
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n')[0] ?? `${program} failed`)
}

const remount = (place: string, options: string): string | undefined =>
  failure('mount', ['-o', `remount,${options}`, place])

const tmpfs = (place: string): string[][] => [['mount', '-t', 'tmpfs', '-o', 'size=64m', 'substrat', place]]

/** Fills all but so many pages, and gives them back. */
function fill(place: string, pages: number): () => void {
  const { bfree, bsize } = statfsSync(place)
  const filler = join(place, 'filler')
  writeFileSync(filler, Buffer.alloc(Math.max(0, bfree * bsize - pages * PAGE_BYTES)))
  return () => rmSync(filler)
}

/** From 64 KiB to 1 MiB, filled up but for 0 to 12 pages. */
async function fullTmpfs(lab: Lab): Promise<Experiment> {
  const cases = new Cases('a full tmpfs', lab)
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
          await cases.read(`${size}, ${pages} pages left`, home)
          empty()
          remount(place, 'size=64m')
          await cases.judge(`${size}, ${pages} pages left`, home, told)
        },
      )
      if (why !== undefined) return cases.skip(why)
    }
  }
  return cases
}

async function fullConfig(lab: Lab): Promise<Experiment> {
  const cases = new Cases('config set on a full tmpfs', lab)
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
        cases.broken.push(`config set that exits ${told.code} leaves ${value}`)
      const own = { ...told, stdout: told.code === 0 ? REPLY : told.stdout }
      await cases.judge(`${pages} pages left`, home, own)
    }
  })
  return why === undefined ? cases : cases.skip(why)
}

async function readOnly(lab: Lab): Promise<Experiment> {
  const cases = new Cases('a read-only file system', lab)
  const why = await onMount(lab, tmpfs, async (place) => {
    const home = join(place, 'home')
    await lab.do(home, ...SEND.prepare)
    const refused = remount(place, 'ro')
    if (refused !== undefined) throw new Error(refused)
    const told = await lab.run(home, SEND.command)
    await cases.read('between commands', home)
    remount(place, 'rw')
    await cases.judge('between commands', home, told)
  })
  return why === undefined ? cases : cases.skip(why)
}

/** As ext4 does on an error of the disk: from one moment on nothing more is written, also in files that are open. */
async function aborted(lab: Lab): Promise<Experiment> {
  const cases = new Cases('a file system that turns read-only in mid-turn', lab)
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
      await cases.read('while it is read-only', home)
      spawnSync('umount', ['-l', place])
      const mended = failure('e2fsck', ['-fy', image])
      const again = failure('mount', ['-o', 'loop', image, place])
      if (refused !== undefined || again !== undefined) throw new Error(refused ?? again ?? mended)
      await cases.judge(`${delayMs} ms into the request`, home, told)
    })
    if (why !== undefined) return cases.skip(why)
  }
  return cases
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** In blocks of 1 KiB: no file may grow past so many. */
async function fileSizes(lab: Lab, isIgnored: boolean): Promise<Experiment> {
  const cases = new Cases(isIgnored ? 'ulimit -f, its signal ignored' : 'ulimit -f', lab)
  const ignore = isIgnored ? "trap '' XFSZ; " : ''
  for (const blocks of [0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 24]) {
    const home = await prepared(lab)
    const under = ['bash', '-c', `ulimit -f ${blocks}; ${ignore}exec "$0" "$@"`]
    const told = await lab.run(home, SEND.command, { under })
    await cases.judge(`${blocks} KiB`, home, told)
  }
  return cases
}

/** Around what Node needs for itself. */
const LIMITS = Array.from({ length: 18 }, (_, index) => 15 + index)

export async function descriptors(lab: Lab, limits = LIMITS): Promise<Experiment> {
  const cases = new Cases('ulimit -n', lab)
  for (const limit of limits) {
    const home = await prepared(lab)
    const under = ['bash', '-c', `ulimit -n ${limit}; exec "$0" "$@"`]
    const told = await lab.run(home, SEND.command, { under })
    // With fewer Node itself cannot start.
    if (isNodes(told)) continue
    await cases.judge(`${limit} descriptors`, home, told)
  }
  return cases
}

function isNodes({ code, signal, stderr }: Ended): boolean {
  return signal === 'SIGABRT' || code === 134 || (code !== 0 && !stderr.includes('substrat:'))
}

/** Each of its calls fails once, with that error. */
async function injected(lab: Lab, syscall: string, errno: string): Promise<Experiment> {
  const cases = new Cases(`${syscall} fails once with ${errno}`, lab)
  const trace = join(lab.root, 'calls')
  const home = await prepared(lab)
  const count = ['strace', '-f', '-b', 'execve', '-qq', '-o', trace, '-e', `trace=${syscall}`]
  const { code, stderr } = await lab.run(home, SEND.command, { under: count })
  if (code !== 0) return cases.skip(stderr.trim().split('\n')[0] ?? 'strace may trace no process here')
  const calls = linesOf(trace)
  for (let n = 1; n <= calls; n++) {
    const again = await prepared(lab)
    const inject = `inject=${syscall}:error=${errno}:when=${n}`
    const under = [
      'strace',
      '-f',
      '-b',
      'execve',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      `trace=${syscall}`,
      '-e',
      inject,
    ]
    const told = await lab.run(again, SEND.command, { under })
    await cases.judge(`call ${n} of ${calls}`, again, told)
  }
  return cases
}

function linesOf(file: string): number {
  if (!existsSync(file)) return 0
  const count = spawnSync('wc', ['-l', file], { encoding: 'utf8' }).stdout
  return Number.parseInt(count, 10)
}

async function prepared(lab: Lab): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, ...SEND.prepare)
  return home
}
