/** A PostgreSQL server of one test file, in a scratch directory, on a unix socket. */
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import type pg from 'pg'
import { freePort } from './ports.js'

const repository = path.dirname(createRequire(import.meta.url).resolve('substrat/package.json'))
export const PLUGIN = path.join(repository, 'plugins/store-postgres')
export const RUN = path.join(repository, 'bin/run.js')

const VERSIONS = '/usr/lib/postgresql'

function programs(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : []
  const folders = versions.map((version) => path.join(VERSIONS, version, 'bin'))
  return folders.sort().findLast((folder) => existsSync(path.join(folder, 'initdb')))
}

/** Why no server can be started here. Undefined if one can. `.ci/run` requires one. */
export function whyNoPostgres(): string | undefined {
  const why = whyMissing()
  if (why !== undefined && process.env.SUBSTRAT_TEST_POSTGRES === 'required') throw new Error(why)
  return why
}

function whyMissing(): string | undefined {
  if (programs() === undefined) return `PostgreSQL is not installed in ${VERSIONS}`
  if (process.geteuid?.() === 0 && owner() === undefined)
    return 'no user postgres exists, and PostgreSQL refuses to run as root'
  return undefined
}

function owner(): { uid: number; gid: number } | undefined {
  try {
    const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}

export interface PostgresOptions {
  /** It syncs its commits. */
  isDurable?: boolean
  /** It listens on an address too, with a certificate for localhost. */
  hasTls?: boolean
  /** With TLS: the address, which the certificate then has too, and that of the clients, which need no password. */
  address?: string
  clients?: string
  settings?: string[]
  /** It is a standby of this server. */
  primary?: Postgres
}

export class Postgres {
  /** The server keeps its socket and its data here. */
  readonly directory = mkdtempSync(path.join(os.tmpdir(), 'pg-'))
  readonly #as = process.geteuid?.() === 0 ? owner() : undefined
  /** The files of this user. */
  readonly #files = mkdtempSync(path.join(os.tmpdir(), 'pg-user-'))
  readonly #settings: string[]
  readonly #address: string
  #port = 5432
  #homes = 0
  #crash: Promise<void> | undefined
  #isDead = false
  #template: string | undefined

  constructor({
    isDurable = false,
    hasTls = false,
    address,
    clients,
    settings = [],
    primary,
  }: PostgresOptions = {}) {
    this.#address = address ?? '127.0.0.1'
    // Nothing in the homes of a test lives long enough to need a vacuum.
    this.#settings = [...(isDurable ? ['fsync=on'] : ['fsync=off', 'autovacuum=off']), ...settings]
    if (this.#as !== undefined) {
      chmodSync(this.directory, 0o755)
      chownSync(this.directory, this.#as.uid, this.#as.gid)
    }
    if (primary === undefined) {
      const user = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
      this.#run('initdb', '-D', this.#data, ...user, '--no-sync')
    } else
      primary.program('pg_basebackup', ['-D', this.#data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'])
    if (hasTls) this.#serveTls(address === undefined ? 'DNS:localhost' : `DNS:localhost,IP:${address}`)
    if (clients !== undefined)
      appendFileSync(path.join(this.#data, 'pg_hba.conf'), `hostssl all all ${clients} trust\n`)
    this.#linkPlugin()
    this.start()
  }

  #linkPlugin(): void {
    const [data, home] = [path.join(this.#files, 'substrat'), path.join(this.#files, 'home')]
    for (const folder of [data, home]) mkdirSync(folder)
    const plugins = [{ name: 'substrat-store-postgres', type: 'link', root: PLUGIN }]
    writeFileSync(path.join(data, 'package.json'), JSON.stringify({ oclif: { schema: 1, plugins } }))
  }

  /** `names`: of the server, in its certificate. */
  #serveTls(names: string): void {
    const openssl = (...args: string[]) =>
      execFileSync('openssl', args, { ...this.#as, cwd: this.directory, stdio: 'ignore' })
    const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj']
    openssl('req', '-x509', ...key, '/CN=scratch CA', '-keyout', 'ca.key', '-out', 'ca.crt')
    openssl(
      'req',
      ...key,
      '/CN=localhost',
      '-addext',
      `subjectAltName=${names}`,
      '-keyout',
      'tls.key',
      '-out',
      'tls.csr',
    )
    openssl(
      'x509',
      '-req',
      '-in',
      'tls.csr',
      '-CA',
      'ca.crt',
      '-CAkey',
      'ca.key',
      '-copy_extensions',
      'copy',
      '-out',
      'tls.crt',
    )
    const file = (name: string): string => path.join(this.directory, name)
    this.#port = freePort()
    this.#settings.push('ssl=on', `ssl_cert_file=${file('tls.crt')}`, `ssl_key_file=${file('tls.key')}`)
  }

  get port(): number {
    return this.#port
  }

  /** The user that the server runs as. Undefined: the user of this process. */
  get owner(): { uid: number; gid: number } | undefined {
    return this.#as
  }

  get #data(): string {
    return path.join(this.directory, 'data')
  }

  #run(program: string, ...args: string[]): void {
    const file = path.join(programs() as string, program)
    execFileSync(file, args, { ...this.#as, cwd: this.directory, stdio: 'ignore' })
  }

  start(): void {
    this.#isDead = false
    const settings = [
      `port=${this.#port}`,
      `listen_addresses=${this.#port === 5432 ? "''" : this.#address}`,
      `unix_socket_directories=${this.directory}`,
      ...this.#settings,
    ]
    const options = settings.map((setting) => `-c ${setting}`).join(' ')
    this.#run(
      'pg_ctl',
      '-D',
      this.#data,
      '-w',
      '-o',
      options,
      '-l',
      path.join(this.directory, 'log'),
      'start',
    )
  }

  /** `immediate`: as after a crash. */
  stop(): void {
    this.#run('pg_ctl', '-D', this.#data, '-w', '-m', 'immediate', 'stop')
  }

  kill(): void {
    const [pid] = readFileSync(path.join(this.#data, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
    this.#isDead = true
  }

  /** From now on the standby is a primary. */
  promote(): void {
    this.#run('pg_ctl', '-D', this.#data, '-w', 'promote')
  }

  /** Kills the server, and starts it again as soon as its processes are gone. A crash during a crash is the same one. */
  async crash(): Promise<void> {
    this.#crash ??= this.#crashOnce().finally(() => {
      this.#crash = undefined
    })
    return this.#crash
  }

  async #crashOnce(): Promise<void> {
    this.kill()
    for (;;) {
      try {
        return this.start()
      } catch {
        // Its processes end when they learn of its death, and keep the memory that they share until then.
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  remove(): void {
    if (!this.#isDead) this.stop()
    for (const folder of [this.directory, this.#files]) rmSync(folder, { recursive: true })
  }

  /** Runs one of PostgreSQL's programs as its owner. Returns stdout. */
  program(name: string, args: string[], input = ''): string {
    const file = path.join(programs() as string, name)
    const options = { ...this.#as, cwd: this.directory, input, encoding: 'utf8' as const }
    return execFileSync(
      file,
      ['-h', this.directory, '-p', `${this.#port}`, '-U', 'postgres', ...args],
      options,
    )
  }

  /** `host`: another directory with a socket. */
  url(database: string, role = 'postgres', host = this.directory): string {
    const port = this.#port === 5432 ? '' : `&port=${this.#port}`
    return `postgres://${role}@/${database}?host=${host}${port}`
  }

  /** Over TCP. `by`: the name of the server. */
  tlsUrl(database: string, { role = 'postgres', by = 'localhost', sslmode = 'verify-full' } = {}): string {
    const root = path.join(this.directory, 'ca.crt')
    return `postgres://${role}@${by}:${this.#port}/${database}?sslmode=${sslmode}&sslrootcert=${root}`
  }

  /** Returns the name of a new database with the same content, for another home. No connection to `database` may be open. */
  async copy(database: string, name = `home_${++this.#homes}`): Promise<string> {
    await this.query('postgres', `create database ${name} template ${database}`)
    // This host would take a copy of a home for an older one, which lacks later changes.
    await this.query(name, 'update substrat.home set home_id = gen_random_uuid()')
    return name
  }

  /** Removes a database, because a server in memory has room for about a thousand. */
  async drop(database: string): Promise<void> {
    await this.query('postgres', `drop database ${database} with (force)`)
  }

  async query(database: string, text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = await this.connect(database)
    try {
      return (await client.query(text, values)).rows
    } finally {
      await client.end()
    }
  }

  /** A new database. Returns its name. */
  async newDatabase(): Promise<string> {
    const name = `home_${++this.#homes}`
    await this.query('postgres', `create database ${name}`)
    return name
  }

  /** A new home. Returns the name of its database. */
  async newHome(its?: string): Promise<string> {
    if (this.#template === undefined) {
      this.#template = await this.newDatabase()
      execFileSync(process.execPath, [RUN, 'store', 'init'], {
        env: this.environment(this.#template),
        stdio: 'pipe',
      })
    }
    return this.copy(this.#template, its)
  }

  /** For commands: the home, and the linked plugin. */
  environment(database: string): Record<string, string> {
    const home = path.join(this.#files, 'home')
    return {
      PATH: process.env.PATH ?? '',
      HOME: home,
      XDG_DATA_HOME: this.#files,
      SUBSTRAT_HOME: this.url(database),
    }
  }

  async connect(database: string): Promise<pg.Client> {
    const { Client } = createRequire(path.join(PLUGIN, 'package.json'))('pg') as typeof pg
    const client = new Client({ host: this.directory, port: this.#port, user: 'postgres', database })
    await client.connect()
    return client
  }
}
