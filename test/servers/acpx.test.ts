/** acpx from npm, the command-line client of ACP, with the configuration of docs/acp.md. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snippetOf, userOf } from '../acp/shell-path.js'
import { House } from '../support/cli.js'
import { npm } from '../support/npm.js'
import { environment, killIfAlive, processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const KILLS = Number(process.env.KILLS ?? 3)
/** acpx needs a newer Node than substrat. */
const NODE = `node-linux-${process.arch}`
const PACKAGES = ['acpx@0.19.1', `${NODE}@22.13.1`]
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'substrat-acpx-')))
const modules = path.join(scratch, 'node_modules')

beforeAll(async () => {
  writeFileSync(path.join(scratch, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock']
  await npm(scratch, 'install', ...flags, ...PACKAGES)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))

/** A user of acpx who has pasted the snippet of the page. */
class User {
  readonly env: Record<string, string>

  constructor(readonly house: House) {
    const configuration = path.join(house.env.HOME as string, '.acpx')
    this.env = userOf(house)
    mkdirSync(configuration, { recursive: true })
    writeFileSync(path.join(configuration, 'config.json'), snippetOf('docs/acp.md', 'acpx', 'json'))
  }

  /** Runs `acpx … substrat …`. */
  start(flags: string[], ...words: string[]) {
    const node = path.join(modules, NODE, 'bin', 'node')
    const general = ['--cwd', this.house.workspace, '--format', 'quiet', ...flags]
    const argv = [path.join(modules, '.bin', 'acpx'), ...general, 'substrat', ...words]
    return execa(node, argv, {
      cwd: this.house.workspace,
      env: this.env,
      extendEnv: false,
      reject: false,
      stdin: 'ignore',
    })
  }

  async ok(flags: string[], ...words: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.start(flags, ...words)
    expect(exitCode, String(stderr)).toBe(0)
    return String(stdout)
  }

  /** Kills acpx, its queue owner, `substrat acp` and the turns. */
  killAll(): void {
    for (const pid of processesWith(`SUBSTRAT_HOME=${this.house.home}`))
      if (environment(pid).includes(`HOME=${this.house.env.HOME}`)) killIfAlive(pid)
  }
}

/** The prompts of the only agent in its log, and its replies. */
async function conversation(house: House): Promise<string[]> {
  const [{ id }] = (await house.ok('list', '--json')).json.agents
  return house.records(id).flatMap((record) => {
    if (record.kind === 'message.agent') return [`agent: ${record.content}`]
    const isPrompt = record.kind === 'message.user' && record.origin === 'operator'
    return isPrompt || record.kind === 'mail.delivered' ? [`user: ${record.content}`] : []
  })
}

describe.skipIf(process.platform !== 'linux')('acpx', () => {
  test('begins a session, which is approved in the shell after everything was killed, and ends in acpx', async () => {
    const house = new House()
    const user = new User(house)
    const call = { name: 'shell', input: { command: 'touch touched' } }
    house.scenario('s.json', { say: 'Let me.', tools: [call] }, { say: 'Done.' }, { say: 'Bye.' })
    // The agent that acpx creates has the options of the settings.
    await house.ok('config', 'set', 'scripted.scenario', path.join(house.workspace, 's.json'))
    const id = (await user.ok([], 'sessions', 'new')).trim()
    const asking = user.start(['--non-interactive-permissions', 'fail'], 'touch')
    await house.waitForRecord(id, 'run.waiting')
    user.killAll()
    await asking

    expect((await house.ok('list', '--json')).json.agents).toMatchObject([{ id, status: 'waiting' }])
    expect((await house.ok('approve', id)).stdout).toBe('Done.\n')

    expect(await user.ok(['--ttl', '1'], 'bye')).toContain('Bye.')
    expect(await conversation(house)).toEqual([
      'user: touch',
      'agent: Let me.',
      'agent: Done.',
      'user: bye',
      'agent: Bye.',
    ])
    user.killAll()
  })

  test('loses no message that it has shown as answered, and doubles none, while both sides are killed at random', async () => {
    const house = new House()
    const user = new User(house)
    await user.ok([], 'sessions', 'new')
    const answered: string[] = []
    let sent = 0
    for (let killed = 0; killed < KILLS; ) {
      const message = `message ${sent}`
      sent += 1
      const running = user.start(['--approve-all'], message)
      const isOver = await Promise.race([running.then(() => true), sleep(3000 * Math.random())])
      if (isOver !== true) {
        user.killAll()
        killed += 1
      }
      const { exitCode, stdout } = await running
      if (exitCode !== 0) continue
      expect(String(stdout)).toContain(`echo: ${message}`)
      answered.push(message)
    }
    const last = await user.ok(['--ttl', '1'], 'the last message')
    expect(last).toContain('echo: the last message')
    user.killAll()
    await house.ok('recover', '--all')
    const said = await conversation(house)
    for (const message of [...answered, 'the last message']) {
      expect(said.filter((text) => text === `user: ${message}`)).toHaveLength(1)
      expect(said.filter((text) => text === `agent: echo: ${message}`)).toHaveLength(1)
    }
    expect(new Set(said).size).toBe(said.length)
    expect(house.findings(true)).toEqual([])
    await waitFor(() => processesWith(`SUBSTRAT_HOME=${house.home}`).length === 0, 'the end of all')
    console.info(`${KILLS} kills; ${sent + 1} prompts, ${answered.length + 1} of them answered`)
  })
})
