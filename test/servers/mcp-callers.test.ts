/** The real Claude Code and Codex from npm use `substrat mcp --operator` with the configuration of docs/mcp.md, and are killed. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Asked, startLooseModel } from '../../stress/real/model.js'
import { snippetOf, userOf } from '../acp/shell-path.js'
import { House } from '../support/cli.js'
import { npm } from '../support/npm.js'
import { waitFor } from '../support/wait.js'

const PACKAGES = ['@anthropic-ai/claude-code@2.1.197', '@openai/codex@0.169.0']
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'substrat-callers-')))
const modules = path.join(scratch, 'node_modules')
/** The package of Claude Code for this platform has the program itself. Without install scripts it is not linked. */
const CLAUDE = path.join(
  modules,
  '@anthropic-ai',
  `claude-code-${process.platform}-${process.arch}`,
  'claude',
)

beforeAll(async () => {
  writeFileSync(path.join(scratch, 'package.json'), '{"private":true}')
  const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock']
  await npm(scratch, 'install', ...flags, ...PACKAGES)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))

interface Caller {
  name: string
  /** Writes its configuration. Returns the variables that it needs. */
  configure(house: House, modelUrl: string): Record<string, string>
  argv(house: House, prompt: string): [string, ...string[]]
}

function claudeAt(modelUrl: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-loopback',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    // On a slow machine it would otherwise ask the model before it knows the tools.
    MCP_CONNECTION_NONBLOCKING: '0',
  }
}

const CALLERS: Caller[] = [
  {
    name: 'Claude Code with .mcp.json',
    configure: (house, modelUrl) => {
      house.write('.mcp.json', snippetOf('docs/mcp.md', 'Claude Code', 'json'))
      return claudeAt(modelUrl)
    },
    argv: (house, prompt) => {
      const config = ['--mcp-config', path.join(house.workspace, '.mcp.json'), '--strict-mcp-config']
      return [CLAUDE, '-p', ...config, '--allowedTools', 'mcp__substrat', '--', prompt]
    },
  },
  {
    name: 'Claude Code after claude mcp add',
    configure: (house, modelUrl) => {
      const user = userOf(house)
      const PATH = `${path.dirname(CLAUDE)}:${user.PATH}`
      execFileSync('sh', ['-c', snippetOf('docs/mcp.md', 'Claude Code', 'sh')], {
        cwd: house.workspace,
        env: { ...user, PATH },
        stdio: 'ignore',
      })
      return claudeAt(modelUrl)
    },
    argv: (_, prompt) => [CLAUDE, '-p', '--allowedTools', 'mcp__substrat', '--', prompt],
  },
  {
    name: 'Codex',
    configure: (house, modelUrl) => {
      const folder = path.join(house.env.HOME as string, '.codex')
      mkdirSync(folder, { recursive: true })
      // Codex passes on only the variables that its configuration names.
      const { PATH = '' } = userOf(house)
      const { SUBSTRAT_HOME = '', SUBSTRAT_PROVIDER = '', XDG_DATA_HOME = '' } = house.env
      const variables = Object.entries({ PATH, SUBSTRAT_HOME, SUBSTRAT_PROVIDER, XDG_DATA_HOME })
      const lines = [
        'model = "loopback"',
        'model_provider = "loopback"',
        '[model_providers.loopback]',
        'name = "loopback"',
        `base_url = "${modelUrl}/v1"`,
        'wire_api = "responses"',
        'env_key = "LOOPBACK_KEY"',
        snippetOf('docs/mcp.md', 'Codex', 'toml'),
        '[mcp_servers.substrat.env]',
        ...variables.map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
      ]
      writeFileSync(path.join(folder, 'config.toml'), `${lines.join('\n')}\n`)
      return { LOOPBACK_KEY: 'sk-loopback' }
    },
    argv: (_, prompt) => {
      const program = path.join(modules, '.bin', 'codex')
      return [program, 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt]
    },
  },
]

/** A model that spawns a sub-agent, sends it a message and waits; or with the prompt FIND sends the same message again. */
function modelOf(calls: string[]): (asked: Asked) => object {
  return ({ tools, texts, isAfterTool }) => {
    const last = texts.at(-1) ?? ''
    const call = (wanted: string, input: object): object => {
      const name = tools.find((tool) => tool.includes('substrat') && tool.endsWith(wanted))
      if (name === undefined) return { text: 'ok' }
      calls.push(wanted)
      return { tool_calls: [{ name, input }] }
    }
    const send = { agent: 'helper', message: 'work', key: 'k1' }
    if (texts.some((text) => text.includes('FIND')))
      return isAfterTool ? { text: `heard: ${last}` } : call('send', send)
    if (!isAfterTool) return call('spawn', { name: 'helper' })
    return last.includes('accepted') ? call('wait', { agents: ['helper'] }) : call('send', send)
  }
}

test.for(CALLERS)(
  '$name is killed while its sub-agent works, is started again, and finds the reply',
  async (caller) => {
    const house = new House()
    const calls: string[] = []
    const model = await startLooseModel(modelOf(calls))
    house.scenario('s.json', { after_file: 'go', say: 'The reply.' })
    await house.ok('config', 'set', 'scripted.scenario', path.join(house.workspace, 's.json'))
    const env = { ...userOf(house), ...caller.configure(house, model.url) }
    const start = (prompt: string) => {
      const [program, ...argv] = caller.argv(house, prompt)
      const child = spawn(program, argv, {
        cwd: house.workspace,
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      let said = ''
      child.stdout.on('data', (bytes) => {
        said += bytes
      })
      const ended = new Promise<string>((resolve) => child.once('close', () => resolve(said)))
      return { child, ended }
    }

    const calledOrEnded = async (): Promise<boolean> => {
      await waitFor(() => calls.includes('wait') || first.child.exitCode !== null, 'the wait')
      return calls.length > 0
    }
    // A program may ask its model before its MCP servers are ready. Then it ends at once, and its user asks again.
    let first = start('BEGIN')
    while (!(await calledOrEnded())) first = start('BEGIN')
    expect(calls).toEqual(['spawn', 'send', 'wait'])
    // Its whole process group, with the server.
    process.kill(-(first.child.pid as number), 'SIGKILL')
    await first.ended
    expect((await house.ok('list', '--json')).json.agents).toMatchObject([
      { name: 'helper', status: 'running' },
    ])
    house.write('go', '')
    await waitFor(
      async () => (await house.ok('list', '--json')).json.agents[0].status === 'idle',
      'the end of the turn',
    )

    let found = ''
    while (calls.length === 3) found = await start('FIND').ended
    expect(found).toContain('The reply.')
    const [{ id }] = (await house.ok('list', '--json')).json.agents
    expect(house.count(id, 'message.user')).toBe(1)
    await model.close()
  },
)
