/** The snippets of docs/acp.md and docs/mcp.md start servers that work. `test/servers/acpx.test.ts` runs the one of acpx. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, expect, test } from 'vitest'
import { snippetOf, userOf } from '../acp/shell-path.js'
import { House } from '../support/cli.js'

interface Server {
  command: string
  args: string[]
}

const house = new House()
const children = new Set<ReturnType<typeof spawn>>()
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** The answer of the server to its first request. */
async function answerOf({ command, args }: Server, params: object): Promise<{ result?: object }> {
  const child = spawn(command, args, {
    env: userOf(house),
    cwd: house.workspace,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  children.add(child)
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
  const [bytes] = await once(child.stdout, 'data')
  child.stdin.end()
  await once(child, 'exit')
  return JSON.parse(String(bytes))
}

/** The words of a Lua or TOML list. */
function listOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"/g)].map(([, word]) => word as string)
}

function found(pattern: RegExp, text: string): string {
  const [, match] = pattern.exec(text) ?? []
  if (match === undefined) throw new Error(`${pattern} is not in:\n${text}`)
  return match
}

test.for(['Zed', 'JetBrains IDEs'])(
  'docs/acp.md: the snippet for %s starts an ACP agent',
  async (heading) => {
    const { agent_servers: servers } = JSON.parse(snippetOf('docs/acp.md', heading, 'json'))
    const answer = await answerOf(servers.substrat, { protocolVersion: 1, clientCapabilities: {} })
    expect(answer.result).toMatchObject({ protocolVersion: 1, agentCapabilities: { loadSession: true } })
  },
)

test('docs/acp.md: the snippets for Neovim start an ACP agent', async () => {
  const companion = snippetOf('docs/acp.md', 'Neovim', 'lua')
  const [command = '', ...args] = listOf(found(/default = \{([^}]*)\}/, companion))
  const avante = snippetOf('docs/acp.md', 'Neovim', 'lua', 'avante')
  const other = {
    command: found(/command = "([^"]*)"/, avante),
    args: listOf(found(/args = \{([^}]*)\}/, avante)),
  }
  expect(other).toEqual({ command, args })
  const answer = await answerOf(other, { protocolVersion: 1, clientCapabilities: {} })
  expect(answer.result).toMatchObject({ protocolVersion: 1 })
})

test('docs/mcp.md: the snippets for Claude Code and Codex start the MCP server', async () => {
  const { substrat } = JSON.parse(snippetOf('docs/mcp.md', 'Claude Code', 'json')).mcpServers
  const [, added = ''] = / -- (.*)/.exec(snippetOf('docs/mcp.md', 'Claude Code', 'sh')) ?? []
  expect([substrat.command, ...substrat.args].join(' ')).toBe(added)
  const toml = snippetOf('docs/mcp.md', 'Codex', 'toml')
  const codex = {
    command: found(/command = "([^"]*)"/, toml),
    args: listOf(found(/args = \[([^\]]*)\]/, toml)),
  }
  expect(codex).toEqual(substrat)
  const answer = await answerOf(codex, {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  expect(answer.result).toMatchObject({ serverInfo: { name: 'substrat' }, capabilities: { tools: {} } })
})
