/** A pgbouncer in transaction mode before a server of the tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Postgres } from './postgres.js'
import { waitFor } from './wait.js'

const PROGRAM = '/usr/sbin/pgbouncer'

export function whyNoPooler(): string | undefined {
  return existsSync(PROGRAM) ? undefined : `${PROGRAM} is not installed`
}

export class Pooler {
  private constructor(
    readonly directory: string,
    private readonly child: ChildProcess,
  ) {}

  static async before(server: Postgres): Promise<Pooler> {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'pg-pooler-'))
    chmodSync(directory, 0o777)
    const file = path.join(directory, 'pgbouncer.ini')
    const settings = [
      '[databases]',
      `* = host=${server.directory} port=${server.port} user=postgres`,
      '[pgbouncer]',
      'listen_addr =',
      `listen_port = ${server.port}`,
      `unix_socket_dir = ${directory}`,
      'auth_type = any',
      'pool_mode = transaction',
      'default_pool_size = 4',
    ]
    writeFileSync(file, `${settings.join('\n')}\n`)
    const child = spawn(PROGRAM, ['-q', file], { ...server.owner, stdio: 'ignore' })
    await waitFor(
      () => existsSync(path.join(directory, `.s.PGSQL.${server.port}`)),
      'the socket of pgbouncer',
    )
    return new Pooler(directory, child)
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill('SIGKILL')
    await ended
    rmSync(this.directory, { recursive: true, force: true })
  }
}
