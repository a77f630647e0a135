/** `export --move --to ssh://…` with OpenSSH: a server on the loopback interface, and the user's `ssh`. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { whyNoStrace } from '../../stress/kill/strace.js'
import { repository } from '../../stress/support/lab.js'
import { House, type Running } from '../support/cli.js'
import { freePort } from '../support/ports.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const SSHD = '/usr/sbin/sshd'
const isHere = existsSync(SSHD)
if (!isHere) console.warn('skipped: a move over ssh, because openssh-server is not here')

/**
 * The command of the other machine. It kills its session or the command here, before or after one of its runs; or strace kills
 * one of its runs before its n-th system call of a kind.
 */
const remoteScript = (directory: string, there: House): string => `#!/bin/sh
echo run >>${directory}/runs
run=$(wc -l <${directory}/runs)
hurt() {
  case "$(cat ${directory}/end)" in
    "$1 $run source") kill -9 "$(cat ${directory}/pid)";;
    "$1 $run session") kill -9 $PPID $$;;
  esac
}
hurt before
read when on call n <${directory}/end
under=
if [ "$when $on" = "midway $run" ]; then
  under="strace -f -b execve -qq -o /dev/null -e trace=$call -e inject=$call:signal=SIGKILL:when=$n"
fi
env HOME=${there.root} ${Object.entries(there.env)
  .filter(([name]) => /^(XDG|SUBSTRAT_CACHE)/.test(name))
  .map(([name, value]) => `${name}=${value}`)
  .join(' ')} $under ${process.execPath} ${join(repository, 'bin/run.js')} "$@"
status=$?
hurt after
exit $status
`

class Machines {
  readonly here = new House()
  readonly there = new House()
  private readonly directory = tempDirectory()
  private port = 0

  static async start(): Promise<Machines> {
    const machines = new Machines()
    await machines.serve()
    const { here } = machines
    await here.spawn('lead')
    await here.ok('send', 'lead', 'hello', '--key', 'k')
    await here.ok('spawn', '--name', 'kid', '--parent', 'lead')
    await here.ok('send', 'lead/kid', '--queue', '--no-drain', 'pending')
    return machines
  }

  get url(): string {
    return `ssh://${userInfo().username}@127.0.0.1:${this.port}${this.there.home}`
  }

  private file(name: string, text?: string, mode = 0o600): string {
    const file = join(this.directory, name)
    if (text !== undefined) writeFileSync(file, text, { mode })
    return file
  }

  private async serve(): Promise<void> {
    for (const key of ['host', 'user'])
      spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', this.file(key)])
    // The server separates its privileges there. A server of a distribution makes it at its start.
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
    this.port = freePort()
    const settings = [
      `Port ${this.port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${this.file('host')}`,
      `AuthorizedKeysFile ${this.file('user.pub')}`,
      'PermitRootLogin yes',
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
    ]
    const server = spawn(SSHD, ['-D', '-e', '-f', this.file('sshd_config', `${settings.join('\n')}\n`)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    onTestFinished(async () => {
      server.kill()
      await once(server, 'exit')
    })
    await waitFor(() => said.includes('Server listening'), `the ssh server: ${said}`)
    const known = `[127.0.0.1]:${this.port} ${readFileSync(this.file('host.pub'), 'utf8')}`
    const client = [
      `IdentityFile ${this.file('user')}`,
      'IdentitiesOnly yes',
      'BatchMode yes',
      `UserKnownHostsFile ${this.file('known_hosts', known)}`,
    ]
    const config = this.file('ssh_config', `${client.join('\n')}\n`)
    chmodSync(this.file('ssh', `#!/bin/sh\nexec /usr/bin/ssh -F ${config} "$@"\n`), 0o700)
    chmodSync(this.file('remote', remoteScript(this.directory, this.there)), 0o700)
  }

  /** `end`: such as "before 2 source", or "midway 1 fsync 5". */
  start(end = ''): Running {
    this.file('end', `${end}\n`)
    const env = { PATH: `${this.directory}:${process.env.PATH}`, SUBSTRAT_REMOTE: this.file('remote') }
    const running = this.here.start(['export', 'lead', '--move', '--tree', '--to', this.url], { env })
    this.file('pid', String(running.pid))
    return running
  }
}

async function paths(house: House): Promise<string[]> {
  const { agents } = (await house.ok('list', '--json')).json
  return agents.map(({ path }: { path: string }) => path).sort()
}

/** Across the two commands: the first one stores the agents, closed, and the second one opens them. */
const MIDWAY = {
  1: ['rename 1', 'fsync 3', 'rename 4', 'fsync 8', 'rename 8', 'fsync 15'],
  2: ['pwrite64 2', 'link 1', 'fdatasync 1', 'rename 1', 'fdatasync 2', 'rename 3'],
}

const ENDS = [
  '',
  ...Object.entries(whyNoStrace() === undefined ? MIDWAY : {}).flatMap(([run, calls]) =>
    calls.map((call) => `midway ${run} ${call}`),
  ),
  ...['before', 'after'].flatMap((when) =>
    [1, 2].flatMap((run) => ['session', 'source'].map((what) => `${when} ${run} ${what}`)),
  ),
]

test.skipIf(!isHere).each(ENDS)(
  'a tree moves through a real ssh server, with one owner after a kill: "%s"',
  async (end) => {
    const machines = await Machines.start()
    const { here, there } = machines
    const first = await machines.start(end).result
    expect([first.exit === 0, first.stderr]).toEqual([end === '', expect.any(String)])
    for (const house of [here, there]) if (house.exists()) await house.ok('recover', '--all')
    const owners = [await paths(here), await paths(there)].filter((found) => found.length > 0)
    expect(owners.length).toBeLessThan(2)
    expect(await machines.start().result).toMatchObject({ exit: 0 })
    expect([await paths(here), await paths(there)]).toEqual([[], ['lead', 'lead/kid']])
    expect((await there.ok('send', 'lead', 'hello', '--key', 'k')).stdout).toBe('echo: hello\n')
    await there.ok('deliver', 'lead/kid')
    const { messages } = (await there.ok('export', 'lead/kid', '--json')).json
    expect(messages.filter(({ content }: { content: string }) => content === 'pending')).toHaveLength(1)
    for (const house of [here, there]) expect((await house.ok('doctor', '--all')).exit).toBe(0)
  },
)
