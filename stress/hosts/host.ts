/**
 * A host: a network, a process table, a machine id, a boot id and an uptime of its own, and its own directories of a user. Only
 * the workspace is the same on all hosts. Its first process keeps it alive; with it, every process of the host dies.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { uptimeMs } from '../../src/host/identity.js'
import { killIfAlive } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import type { Ended, Lab } from '../support/lab.js'
import type { Network } from './network.js'

/** $1: the name, $2: its machine id, $3: its boot id. It reaps every orphan. */
const INIT = `
hostname "$1"
[ ! -e /etc/machine-id ] || mount --bind "$2" /etc/machine-id
mount --bind "$3" /proc/sys/kernel/random/boot_id
exec perl -e '$SIG{CHLD} = "IGNORE"; print "up\\n"; close STDOUT; sleep 1000 while 1'`

export interface Running {
  argv: string[]
  /** In this process's namespace. Undefined until it has begun, and once it has ended. */
  pid(): number | undefined
  ended: Promise<Ended>
}

export class Host {
  readonly running = new Set<Running>()
  private init: ChildProcess | undefined
  private readonly user: string

  constructor(
    private readonly lab: Lab,
    network: Network,
    readonly number: number,
    private readonly environment: Record<string, string>,
  ) {
    this.user = join(lab.root, `host-${number}`)
    mkdirSync(this.user)
    cpSync(join(lab.root, 'user'), this.user, { recursive: true })
    writeFileSync(join(this.user, 'machine-id'), `${randomUUID().replaceAll('-', '')}\n`)
    this.namespace = network.add(number)
  }

  private readonly namespace: string

  get name(): string {
    return `host${this.number}`
  }

  get isUp(): boolean {
    return this.init !== undefined
  }

  async boot(): Promise<void> {
    const [machine, boot] = [join(this.user, 'machine-id'), join(this.user, 'boot-id')]
    writeFileSync(boot, `${randomUUID()}\n`)
    // A host that restarts has a short uptime. With the uptime of the machine it would look like a clone: the host before the
    // restart wrote after the machine's boot.
    const time = ['--time', '--boottime', String(-Math.floor(uptimeMs() / 1000))]
    const unshare = [
      'unshare',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount',
      '--mount-proc',
      '--uts',
      ...time,
    ]
    const argv = [
      'netns',
      'exec',
      this.namespace,
      ...unshare,
      'sh',
      '-c',
      INIT,
      'sh',
      this.name,
      machine,
      boot,
    ]
    const init = spawn('ip', argv, { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((resolve) => init.stdout.once('data', resolve))
    this.init = init
  }

  /** As if the power went out. */
  async crash(): Promise<void> {
    const { init } = this
    this.init = undefined
    if (init === undefined) return
    const ended = new Promise((resolve) => init.once('exit', resolve))
    init.kill('SIGKILL')
    await ended
    await Promise.all([...this.running].map(({ ended: end }) => end))
  }

  start(argv: string[]): Running {
    const { lab, user, environment } = this
    const first = childOf(this.init?.pid)
    const enter = ['--target', String(first), '--mount', '--uts', '--net', '--pid', '--time']
    const child = spawn('nsenter', [...enter, process.execPath, lab.cli, ...argv], {
      cwd: lab.workspace,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: user,
        XDG_CACHE_HOME: join(user, 'cache'),
        XDG_DATA_HOME: join(user, 'data'),
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (bytes) => {
        said[name] += bytes
      })
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => {
        this.running.delete(running)
        // nsenter dies by the signal that killed its child.
        resolve({ code, signal, ...said })
      })
    })
    const running: Running = { argv, pid: () => childOf(child.pid), ended }
    this.running.add(running)
    return running
  }

  async run(argv: string[]): Promise<Ended> {
    return this.start(argv).ended
  }

  /** Only the command: its programs live until a leash kills them. nsenter stops and continues with its child. */
  stop({ pid }: Running): () => void {
    const stopped = pid()
    if (stopped === undefined) return () => undefined
    signal(stopped, 'SIGSTOP')
    return () => {
      const above = parentOf(stopped)
      if (above !== undefined) signal(above, 'SIGCONT')
      signal(stopped, 'SIGCONT')
    }
  }

  kill({ pid }: Running): void {
    const killed = pid()
    if (killed !== undefined) killIfAlive(killed)
  }

  async close(): Promise<void> {
    await this.crash()
    await waitFor(() => this.running.size === 0, 'the end of the commands of a host')
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

function childOf(pid: number | undefined): number | undefined {
  if (pid === undefined) return undefined
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return first === '' ? undefined : Number(first)
  } catch {
    return undefined
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
