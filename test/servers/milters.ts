/** OpenDKIM and OpenDMARC with the lines of docs/email.md. They read the records of a file instead of DNS. */
import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { waitFor } from '../support/wait.js'
import { canConnect, type MailServers } from './mail-servers.js'

export const SELECTOR = 'mail'

/** The lines of the page that belong into the file of a milter. */
function linesInDocs(file: string): string {
  const page = readFileSync(path.join(import.meta.dirname, '../../docs/email.md'), 'utf8')
  const block = new RegExp(`\`/etc/${file}\`[^\`]*\`\`\`\n([^\`]*)\`\`\``).exec(page)
  if (block === null) throw new Error(`docs/email.md has no lines for ${file}`)
  return block[1] as string
}

export class Milters {
  private readonly children: ChildProcess[] = []

  constructor(private readonly servers: MailServers) {}

  /** Starts the milters of the servers. Returns the private key of each domain. */
  async start(domains: string[]): Promise<Map<string, string>> {
    const keys = new Map<string, string>()
    const records: string[] = []
    for (const domain of domains) {
      const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      keys.set(domain, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
      const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
      records.push(`${SELECTOR}._domainkey.${domain} v=DKIM1; k=rsa; p=${key}`)
      records.push(`_dmarc.${domain} v=DMARC1; p=none`)
    }
    const { servers } = this
    writeFileSync(servers.file('records'), `${records.join('\n')}\n`)
    // Otherwise both leave out mail that comes from the loopback.
    writeFileSync(servers.file('other-hosts'), '192.0.2.1\n')
    const shared = `TestDNSData ${servers.file('records')}\nSyslog no\n`
    const dkim = `Mode v\nInternalHosts ${servers.file('other-hosts')}\n`
    const dmarc = `IgnoreHosts ${servers.file('other-hosts')}\n`
    if (servers.milters.includes('dkim')) await this.run('opendkim', servers.ports.dkim, '-x', shared + dkim)
    if (servers.milters.includes('dmarc'))
      await this.run('opendmarc', servers.ports.dmarc, '-c', shared + dmarc)
    return keys
  }

  private async run(program: string, port: number, flag: string, lines: string): Promise<void> {
    const file = this.servers.file(`${program}.conf`)
    writeFileSync(file, `${linesInDocs(`${program}.conf`)}${lines}Socket inet:${port}@127.0.0.1\n`)
    const child = spawn(`/usr/sbin/${program}`, ['-f', flag, file], { stdio: 'ignore' })
    child.on('error', () => undefined)
    this.children.push(child)
    await waitFor(() => canConnect(port), program)
  }

  close(): void {
    for (const child of this.children) child.kill('SIGKILL')
  }
}
