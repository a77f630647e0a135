/** A house whose channel is set up with the commands of docs/email.md. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { House } from '../support/cli.js'
import { type MailServers, PASSWORD } from './mail-servers.js'

/** The blocks of shell in the page, in order. */
function shellInDocs(): string[] {
  const page = readFileSync('docs/email.md', 'utf8')
  return [...page.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

export class MailHouse extends House {
  readonly scripts = shellInDocs()

  constructor(
    readonly servers: MailServers,
    /** The scenario of the agent of each thread. */
    responses: object[],
  ) {
    super()
    this.isOfProcesses = true
    const bin = path.join(this.root, 'bin')
    mkdirSync(bin)
    const command = this.command()
      .map((word) => `'${word}'`)
      .join(' ')
    writeFileSync(path.join(bin, 'substrat'), `#!/bin/sh\nexec ${command} "$@"\n`)
    chmodSync(path.join(bin, 'substrat'), 0o755)
    this.env.PATH = `${bin}:${this.env.PATH}`
    mkdirSync(this.env.HOME as string, { recursive: true })
    this.write('scenario.json', JSON.stringify({ responses }))
    const [password = '', config = ''] = this.scripts
    this.shell(password, PASSWORD)
    this.shell(this.inTests(config))
  }

  /** The commands of the page, with the servers and the agent of the tests. */
  private inTests(config: string): string {
    const { ports } = this.servers
    const options = { scenario: path.join(this.workspace, 'scenario.json') }
    const agent = { provider: 'scripted', options, workspace: this.workspace }
    return config
      .replace('imaps://mail.example.org', `imaps://localhost:${ports.imaps}`)
      .replace('smtps://mail.example.org', `smtps://localhost:${ports.smtps}`)
      .replace(
        /("authserv_id": "[^"]+")/,
        `$1, "retry_after": "1s", "ca": {"file": "${this.servers.file('tls.crt')}"}`,
      )
      .replace(/"agent": \{[^}]*\}/, `"agent": ${JSON.stringify(agent)}`)
  }

  shell(script: string, input = ''): string {
    const options = { input, env: this.env, cwd: this.workspace, encoding: 'utf8', stdio: 'pipe' } as const
    return execFileSync('sh', ['-ec', script], options)
  }

  /** Changes options of the channel in the settings. */
  async set({ options = {} }: { options?: object }): Promise<void> {
    const [channel] = JSON.parse((await this.ok('config', 'get', 'channels')).stdout)
    const changed = { ...channel, options: { ...channel.options, ...options } }
    await this.ok('config', 'set', 'channels', JSON.stringify([changed]))
  }

  /** `channel run --once`. Fails if it does. Returns its notes. */
  async runOnce(): Promise<string> {
    const { exit, stdout, stderr } = await this.start(['channel', 'run', 'mail', '--once']).result
    if (exit !== 0) throw new Error(`channel run exited with ${exit}: ${stderr}`)
    return stdout + stderr
  }

  async agentIds(): Promise<string[]> {
    const { agents } = (await this.ok('list', '--json')).json as { agents: { id: string; path: string }[] }
    return agents.filter((agent) => agent.path.startsWith('mail/')).map(({ id }) => id)
  }

  /** How many turns the agents of all threads have completed. */
  async turns(): Promise<number> {
    const ids = await this.agentIds()
    return ids.reduce((sum, id) => sum + this.count(id, 'run.completed'), 0)
  }
}
