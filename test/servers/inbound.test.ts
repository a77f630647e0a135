/** The recipes of docs/inbound.md, as they are printed there, with procmail, webhook and git. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { House } from '../support/cli.js'
import { freePort } from '../support/ports.js'
import { waitFor } from '../support/wait.js'

const PAGE = readFileSync('docs/inbound.md', 'utf8')

/** The only block of the page that has this text. */
function blockWith(text: string): string {
  const blocks = [...PAGE.matchAll(/^( *)```\w*\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replace(new RegExp(`^${indent}`, 'gm'), ''),
  )
  const found = blocks.filter((block) => block.includes(text))
  expect(found).toHaveLength(1)
  return found[0] as string
}

function writeProgram(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, 0o755)
}

/** A user with `substrat` and `deliver-once` in ~/.local/bin. */
class User {
  readonly house = new House()
  readonly home = this.house.env.HOME as string
  private readonly bin = path.join(this.home, '.local/bin')
  readonly env = { ...this.house.env, PATH: `${this.bin}:${process.env.PATH}` }

  constructor() {
    const words = this.house.command().map((word) => `'${word}'`)
    writeProgram(path.join(this.bin, 'substrat'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
    writeProgram(path.join(this.bin, 'deliver-once'), blockWith('Usage: deliver-once'))
    mkdirSync(this.house.workspace, { recursive: true })
  }

  run(argv: string[], input = '', cwd = this.house.workspace): { status: number | null; said: string } {
    const [program = '', ...args] = argv
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd,
      env: this.env,
      input,
      encoding: 'utf8',
    })
    return { status, said: stdout + stderr }
  }

  /** The prompts of the agent's turns, after `deliver --all`. */
  async prompts(id: string): Promise<string[]> {
    await this.house.ok('deliver', '--all')
    return this.house
      .records(id)
      .flatMap((record) => (record.kind === 'mail.delivered' ? [String(record.content)] : []))
  }
}

function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { input: '' }).error === undefined
}

const MAIL =
  'From: ann@example.org\nSubject: [report] August\nMessage-ID: <a"$(id)`id`;@example.org>\n\nWhat is open?\n'

/** The fields that mail servers add differ with each attempt and each route. */
const delivered = (mail: string, time: string): string =>
  `From ann@example.org  Wed Nov 25 ${time} 2026\nReceived: from relay.example.org; Wed, 25 Nov 2026 ${time} +0000\n${mail}`

test.skipIf(!isInstalled('procmail'))(
  'procmail delivers a mail once, also if it comes twice, and leaves it with the server while it is not stored',
  async () => {
    const user = new User()
    const rc = path.join(user.home, '.procmailrc')
    const mailbox = path.join(user.home, 'mailbox')
    writeFileSync(rc, blockWith('formail'), { mode: 0o600 })
    const procmail = (mail: string, time = '10:00:00') =>
      user.run(['procmail', '-p', `HOME=${user.home}`, `DEFAULT=${mailbox}`, rc], delivered(mail, time))
    expect(procmail(MAIL).status).toBe(75)
    const report = await user.house.spawn('report')
    for (const time of ['10:00:01', '10:05:02']) expect(procmail(MAIL, time)).toMatchObject({ status: 0 })
    expect(procmail(MAIL.replace('<a', '<b')).status).toBe(0)
    const prompts = await user.prompts(report)
    expect(prompts).toHaveLength(2)
    expect(prompts[0]).toContain('What is open?')
    expect(prompts[0]).toMatch(/^Received: /)
    expect(procmail(MAIL, '10:10:03')).toMatchObject({ status: 0 })
    expect(procmail(MAIL.replace(/Message-ID.*\n/, '')).status).toBe(0)
    expect(readFileSync(mailbox, 'utf8')).toContain('What is open?')
    expect(await user.prompts(report)).toHaveLength(2)
  },
)

test.skipIf(!isInstalled('procmail'))(
  'procmail accepts a second delivery of a mail whose turn failed, and no mail for a terminated agent',
  async () => {
    const user = new User()
    const rc = path.join(user.home, '.procmailrc')
    writeFileSync(rc, blockWith('formail'), { mode: 0o600 })
    const procmail = (mail: string): unknown =>
      user.run(['procmail', '-p', `HOME=${user.home}`, rc], mail).status
    const fails = user.house.scenario('fails.json', { fail: { type: 'invalid' } })
    const report = await user.house.spawn('report', '--option', fails)
    expect([procmail(MAIL), await user.prompts(report), procmail(MAIL)]).toEqual([
      0,
      [expect.stringContaining('What is open?')],
      0,
    ])
    expect(await user.prompts(report)).toHaveLength(1)
    const failed = user.house.records(report).filter(({ kind }) => kind === 'run.failed')
    expect(failed).toHaveLength(1)
    await user.house.ok('terminate', 'report')
    expect(procmail(MAIL.replace('<a', '<b'))).toBe(75)
  },
)

test.skipIf(!isInstalled('webhook'))(
  'webhook delivers a signed request once, also if it comes twice, and refuses others',
  async () => {
    const user = new User()
    const { workspace } = user.house
    const program = path.join(workspace, 'on-delivery')
    writeProgram(program, blockWith('exec deliver-once'))
    const hooks = blockWith('execute-command').replace('/usr/local/bin/on-delivery', program)
    writeFileSync(path.join(workspace, 'hooks.json'), hooks)
    const port = freePort()
    const [command = '', ...args] = blockWith('webhook -template')
      .replace('9000', String(port))
      .trim()
      .split(' ')
    const env = { ...user.env, WEBHOOK_SECRET: 'it is "secret"' }
    const server = spawn(command, args, { cwd: workspace, env, stdio: 'ignore' })
    onTestFinished(() => end(server))
    const post = async (id: string, body: string, secret = env.WEBHOOK_SECRET): Promise<number> => {
      const signature = createHmac('sha256', secret).update(body).digest('hex')
      const headers = {
        'content-type': 'application/json',
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${signature}`,
      }
      const response = await fetch(`http://127.0.0.1:${port}/hooks/review`, { method: 'POST', headers, body })
      await response.text()
      return response.status
    }
    const body = '{"action":"opened","title":"é $(id)"}'
    await waitFor(async () => (await post('x', body, 'wrong').catch(() => 0)) !== 0, 'the start of webhook')
    expect(await post('d1', body)).toBe(500)
    const answers = [{ say: 'ok' }, { say: 'ok' }, { fail: { type: 'authentication' } }]
    const review = await user.house.spawn('review', '--option', user.house.scenario('s.json', ...answers))
    expect([await post('d1', body), await post('d1', body), await post('d2', body)]).toEqual([200, 200, 200])
    expect(await post('d3', body, 'wrong')).not.toBe(200)
    const prompts = await user.prompts(review)
    expect(prompts).toHaveLength(2)
    expect(prompts[0]).toBe(`This event came from GitHub:\n\n${body}`)
    expect(await post('d4', body)).toBe(200)
    expect(await user.prompts(review)).toHaveLength(3)
    expect(user.house.records(review).filter(({ kind }) => kind === 'run.failed')).toHaveLength(1)
    expect([await post('d4', body), await post('d1', body)]).toEqual([200, 200])
    expect(await user.prompts(review)).toHaveLength(3)
  },
)

test('git gives each push to the agent once, also if the hook runs again', async () => {
  const user = new User()
  const review = await user.house.spawn('review')
  const { workspace } = user.house
  const [bare, clone] = [path.join(workspace, 'bare.git'), path.join(workspace, 'clone')]
  const git = (...words: string[]): void => {
    const identity = [
      '-c',
      'user.name=Ann',
      '-c',
      'user.email=ann@example.org',
      '-c',
      'init.defaultBranch=main',
    ]
    const { status, said } = user.run(['git', ...identity, ...words])
    expect(status, said).toBe(0)
  }
  git('init', '--bare', bare)
  const hook = path.join(bare, 'hooks/post-receive')
  writeProgram(hook, blockWith('read -r old new ref'))
  git('clone', bare, clone)
  const commit = (text: string): void => git('-C', clone, 'commit', '--allow-empty', '-m', text)
  commit('first')
  git('-C', clone, 'push', 'origin', 'main')
  commit('second')
  git('-C', clone, 'push', 'origin', 'main', 'main:side')
  git('-C', clone, 'push', 'origin', ':side')
  const prompts = await user.prompts(review)
  expect(prompts).toHaveLength(3)
  expect(prompts.filter((prompt) => /^Review these commits:\n\ncommit/.test(prompt))).toHaveLength(3)
  expect(prompts.filter((prompt) => prompt.includes('second') && !prompt.includes('first'))).toHaveLength(1)
  const shas = user.run(['git', '-C', clone, 'log', '--format=%H', '--reverse']).said.trim().split('\n')
  const again = user.run([hook], `${shas.join(' ')} refs/heads/main\n`, bare)
  expect(again).toMatchObject({ status: 0 })
  expect(await user.prompts(review)).toHaveLength(3)
})

async function end(server: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => server.once('exit', resolve))
  if (server.kill()) await ended
}
