/**
 * dovecot and postfix of one test file, in a scratch directory, on ports of the loopback, with TLS.
 *
 * dovecot has the mailboxes, their quotas and the passwords. Its sieve rule drops a mail whose Message-ID was delivered before.
 * postfix takes mail of users who have logged in, and mail from outside, and both get the Authentication-Results of docs/email.md.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createTransport, type SendMailOptions } from 'nodemailer'
import PostalMime, { type Email } from 'postal-mime'
import { freePort } from '../support/ports.js'
import { waitFor } from '../support/wait.js'
import { AUTHSERV_ID, DOMAIN, makeCertificate, own, writeDovecot, writePostfix } from './mail-server-files.js'

export const AGENT = `agent@${DOMAIN}`
export const ANN = `ann@${DOMAIN}`
export const BOB = `bob@${DOMAIN}`
export const PASSWORD = 'a password of the tests'

/** Answers postfix before it accepts a recipient: the attributes of the request, then an action. */
export type Policy = (attributes: Map<string, string>) => string

export class MailServers {
  readonly directory = mkdtempSync(path.join(os.tmpdir(), 'mail-'))
  readonly ports = { imaps: 0, imap: 0, smtps: 0, submission: 0, smtp: 0, quota: 0, dkim: 0, dmarc: 0 }
  /** Runs for each recipient of a user who has logged in. */
  policy: Policy = () => 'DUNNO'
  /** Set before the start. */
  milters: ('dkim' | 'dmarc')[] = []
  private policyServer: Server | undefined
  private readonly running = new Map<'dovecot' | 'postfix', ChildProcess>()

  file(...names: string[]): string {
    return path.join(this.directory, ...names)
  }

  async start(): Promise<void> {
    chmodSync(this.directory, 0o755)
    for (const name of Object.keys(this.ports)) Object.assign(this.ports, { [name]: freePort() })
    const ports = { ...this.ports, policy: await this.startPolicy() }
    const milters = this.milters.map((name) => ports[name])
    const place = { directory: this.directory, ports, milters }
    makeCertificate(place)
    writeDovecot(place)
    writePostfix(place)
    await this.startDovecot()
    await this.startPostfix()
  }

  /** The options of a channel for the mailbox of the agent. */
  get options(): Record<string, string> {
    const { imaps, smtps } = this.ports
    return {
      ...{ address: AGENT, password: PASSWORD, authserv_id: AUTHSERV_ID, retry_after: '1s' },
      ...{ imap: `imaps://localhost:${imaps}`, smtp: `smtps://localhost:${smtps}` },
      ca: readFileSync(this.file('tls.crt'), 'utf8'),
    }
  }

  /** `quota`: a rule of dovecot, such as `messages=1`. */
  addUser(address: string, quota = 'storage=1G'): void {
    const line = `${address}:{PLAIN}${PASSWORD}::::::userdb_quota_rule=*:${quota}\n`
    writeFileSync(this.file('users'), line, { flag: 'a' })
    writeFileSync(this.file('mailboxes'), `${address} ${address}\n`, { flag: 'a' })
    const home = this.file('mail', address)
    mkdirSync(home, { recursive: true })
    own(home, 'nobody')
  }

  /** Sends a mail as a user of the server, who logs in. */
  async send(from: string, mail: SendMailOptions): Promise<void> {
    await this.transport({ port: this.ports.smtps, user: from }).sendMail({ from, to: AGENT, ...mail })
  }

  /** Sends a mail from outside, without a login. */
  async sendFromOutside(mail: SendMailOptions): Promise<void> {
    await this.transport({ port: this.ports.smtp }).sendMail({ to: AGENT, ...mail })
  }

  private transport({ port, user }: { port: number; user?: string }) {
    const login = user === undefined ? { ignoreTLS: true } : { secure: true, auth: { user, pass: PASSWORD } }
    return createTransport({ host: 'localhost', port, ...login, tls: { ca: this.options.ca as string } })
  }

  /** The answer that a mail program sends: with the fields of a thread, and the answered mail below the text. */
  answer(from: string, to: Email, text: string): Promise<void> {
    const quoted = (to.text ?? '').trimEnd().replaceAll(/^/gm, '> ')
    return this.send(from, {
      ...{ subject: to.subject, inReplyTo: to.messageId },
      references: `${to.references ?? ''} ${to.messageId}`,
      text: `${text}\n\nOn 25 Nov 2026, at 19:45, ${AGENT} wrote:\n\n${quoted}\n`,
    })
  }

  /** Deletes the mail in a mailbox. */
  empty(address: string): void {
    execFileSync('doveadm', [
      '-c',
      this.file('dovecot.conf'),
      'expunge',
      '-u',
      address,
      'mailbox',
      'INBOX',
      'all',
    ])
  }

  /** The mail in a mailbox, oldest first. */
  async mailOf(address: string): Promise<Email[]> {
    const files = this.mailFiles(address).map((file) => ({ file, mtime: statSync(file).mtimeMs }))
    files.sort((a, b) => a.mtime - b.mtime || (a.file < b.file ? -1 : 1))
    return Promise.all(files.map(({ file }) => PostalMime.parse(readFileSync(file))))
  }

  mailFiles(address: string): string[] {
    const folders = ['new', 'cur']
      .map((name) => this.file('mail', address, 'Maildir', name))
      .filter(existsSync)
    return folders.flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)))
  }

  /** Resolves when the queue of postfix is empty. */
  async allDelivered(): Promise<void> {
    const queues = ['maildrop', 'incoming', 'active', 'deferred'].map((name) => this.file('spool', name))
    const isEmpty = (): boolean =>
      queues.every((queue) =>
        readdirSync(queue, { recursive: true, withFileTypes: true }).every((entry) => !entry.isFile()),
      )
    await waitFor(isEmpty, 'the queue of postfix')
  }

  /** Delivers the bytes again, as a server does that lost the answer to its first delivery. */
  deliverAgain(file: string, address: string): void {
    const again = this.file('mail', address, 'Maildir', 'new', `${Date.now()}.again.localhost`)
    writeFileSync(again, readFileSync(file))
    own(again, 'nobody')
  }

  async waitForMail(address: string, count: number): Promise<Email[]> {
    await waitFor(() => this.mailFiles(address).length >= count, `${count} mails for ${address}`)
    return this.mailOf(address)
  }

  async startDovecot(): Promise<void> {
    this.run('dovecot', 'dovecot', ['-F', '-c', this.file('dovecot.conf')])
    await this.untilListening('dovecot', this.ports.imaps)
  }

  async startPostfix(): Promise<void> {
    this.run('postfix', 'postfix', ['-c', this.file('postfix'), 'start-fg'])
    await this.untilListening('postfix', this.ports.smtps)
  }

  /** Throws if the server ended: another process may have its port. */
  private async untilListening(name: 'dovecot' | 'postfix', port: number): Promise<void> {
    const child = this.running.get(name)
    await waitFor(async () => child === undefined || hasEnded(child) || canConnect(port), name)
    if (child === undefined || hasEnded(child)) throw new Error(`${name} has ended instead of listening`)
  }

  private run(name: 'dovecot' | 'postfix', program: string, args: string[]): void {
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin`, MAIL_CONFIG: this.file('postfix') }
    const child = spawn(program, args, { stdio: 'ignore', env, detached: true })
    child.on('error', () => undefined)
    this.running.set(name, child)
  }

  /** The processes of a server are one group, and postfix starts further ones. */
  async stop(name: 'dovecot' | 'postfix'): Promise<void> {
    const child = this.running.get(name)
    this.running.delete(name)
    // It has ended already if it could not start.
    if (child?.pid === undefined || hasEnded(child)) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const pid = name === 'postfix' ? readPid(this.file('spool', 'pid', 'master.pid')) : child.pid
    if (pid !== undefined) process.kill(pid, 'SIGTERM')
    await ended
    for (const port of name === 'postfix' ? [this.ports.smtps] : [this.ports.imaps])
      await waitFor(async () => !(await canConnect(port)), `the end of ${name}`)
  }

  async close(): Promise<void> {
    await this.stop('postfix')
    await this.stop('dovecot')
    this.policyServer?.close()
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }

  /** The policy of the test, as a service that postfix asks. */
  private async startPolicy(): Promise<number> {
    const server = createServer((socket) => {
      let text = ''
      socket.on('error', () => undefined)
      socket.on('data', (piece: Buffer) => {
        text += piece.toString('utf8')
        for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
          const pairs = text
            .slice(0, end)
            .split('\n')
            .map((line) => line.split(/=(.*)/s).slice(0, 2))
          text = text.slice(end + 2)
          socket.write(`action=${this.policy(new Map(pairs as [string, string][]))}\n\n`)
        }
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    this.policyServer = server
    return (server.address() as AddressInfo).port
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function readPid(file: string): number | undefined {
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : undefined
}

export function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
