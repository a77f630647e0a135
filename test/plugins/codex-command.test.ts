/** How provider-codex runs `codex exec`, and which settings it rejects. */
import { describe, expect, test } from 'vitest'
import {
  codex,
  FIRST_THREAD,
  newLab,
  place,
  replyIn,
  seen,
  seenFile,
  settingsFor,
  turn,
} from './codex-support.js'

describe('the command', () => {
  async function commandWith(
    how: { allow?: string[]; options?: Record<string, string>; model?: string; instructions?: string } = {},
    tools: Parameters<typeof newLab>[0] = null,
  ): Promise<ReturnType<typeof seen>> {
    const settings = {
      ...settingsFor(`--seen ${seenFile()}`, how.options),
      model: how.model ?? null,
      instructions: how.instructions ?? null,
    }
    replyIn(await turn(await codex.create(settings, newLab(tools).host), 'hi', { allow: how.allow ?? [] }))
    return seen()
  }

  test.each([
    [[], 'read-only'],
    [['read_file'], 'read-only'],
    [['shell'], 'workspace-write'],
    [['write_file'], 'workspace-write'],
    [['all'], 'workspace-write'],
  ])('with --allow %j has the sandbox %s', async (allow, sandbox) => {
    expect((await commandWith({ allow })).flags['--sandbox']).toBe(sandbox)
  })

  test('has the sandbox of the option, regardless of --allow', async () => {
    for (const sandbox of ['read-only', 'danger-full-access']) {
      expect((await commandWith({ allow: ['all'], options: { sandbox } })).flags['--sandbox']).toBe(sandbox)
    }
  })

  test('has the model, the arguments and the config values of the options', async () => {
    const config = `model_reasoning_effort="high"; notice = "a; b" ;web_search='x;y'`
    const { flags } = await commandWith({ model: 'gpt-6', options: { args: "--add-dir '/a b'", config } })
    expect(flags).toMatchObject({ '--model': 'gpt-6', '--add-dir': '/a b' })
    expect(flags.config).toEqual([
      'model_reasoning_effort="high"',
      'notice = "a; b"',
      "web_search='x;y'",
      'approval_policy="never"',
    ])
  })

  test('passes instructions to a new thread as a TOML string', async () => {
    const instructions = 'Be "kind" \\ always.\n\u007f\u2028\ud800 é'
    const { flags, prompt } = await commandWith({ instructions })
    expect(flags.config[0]).toBe(
      'developer_instructions="Be \\"kind\\" \\\\ always.\\n\\u007f\u2028\ufffd é"',
    )
    expect(prompt).toBe('hi')
  })

  test('puts instructions that are too long for an argument before the first prompt', async () => {
    const instructions = 'long '.repeat(30_000)
    const { flags, prompt } = await commandWith({ instructions })
    expect(flags.config).toEqual(['approval_policy="never"'])
    expect(prompt).toBe(`<instructions>\n${instructions}\n</instructions>\n\nhi`)
  })

  test.each([['short'], ['long '.repeat(30_000)]])(
    'does not repeat the instructions in a later turn',
    async (instructions) => {
      const settings = { ...settingsFor(`--seen ${seenFile()}`), instructions }
      const session = await codex.create(settings, newLab().host)
      replyIn(await turn(session))
      replyIn(await turn(session, 'once more'))
      expect(seen().flags.resume).toBe(FIRST_THREAD)
      expect(seen().flags.config).toEqual(['approval_policy="never"'])
      expect(seen().prompt).toBe('once more')
    },
  )

  test("offers substrat's tools, without secrets in arguments, and without approvals by codex", async () => {
    const tools = {
      name: 'substrat',
      command: '/bin/x',
      args: ['mcp', 'a "b"'],
      env: { SUBSTRAT_SECRET: 's3cret' },
      respond: async () => undefined,
    }
    const { flags, argv, env } = await commandWith({}, tools)
    expect(flags.config.slice(0, -1)).toEqual([
      'mcp_servers.substrat.command="/bin/x"',
      'mcp_servers.substrat.args=["mcp","a \\"b\\""]',
      'mcp_servers.substrat.env_vars=["SUBSTRAT_SECRET"]',
      'mcp_servers.substrat.default_tools_approval_mode="approve"',
      'mcp_servers.substrat.required=true',
      'mcp_servers.substrat.startup_timeout_sec=60',
      'mcp_servers.substrat.tool_timeout_sec=604800',
    ])
    expect(argv.join(' ')).not.toContain('s3cret')
    expect(env.SUBSTRAT_SECRET).toBe('s3cret')
  })

  test('runs in the workspace, with the environment of a turn', async () => {
    const { env } = await commandWith()
    expect(env.SUBSTRAT_RUN).toMatch(/^[0-9a-f-]{36}$/)
    expect(env.PWD).toBe(place.workspace)
  })
})

describe('check', () => {
  const refusal = async (options: Record<string, string>): Promise<string> => {
    try {
      await codex.check?.({ workspace: place.workspace, model: null, instructions: null, options })
      return 'accepted'
    } catch (error) {
      return `${(error as { failure: { type: string } }).failure.type}: ${(error as Error).message}`
    }
  }

  test.each<[string, Record<string, string>]>([
    ['the option sandbox must be one of', { sandbox: 'none' }],
    ['option command is empty', { command: ' ' }],
    ['command has an unclosed quote', { command: "codex 'x" }],
    ['the option args must not contain --ephemeral', { args: '--ephemeral' }],
    ['the option args must not contain --cd', { args: '--cd=/' }],
    ['the option args must not contain resume', { args: 'resume x' }],
    ['is not key=value', { config: 'model_reasoning_effort' }],
    ['codex exec cannot ask for permission', { config: 'approval_policy="on-request"' }],
    ['the option offline_timeout must be a duration', { offline_timeout: '5' }],
    ['the option offline_timeout must be a duration', { offline_timeout: '999h' }],
  ])('rejects invalid options: %s', async (why, options) => {
    expect(await refusal(options)).toMatch(/^misconfigured: /)
    expect(await refusal(options)).toContain(why)
  })

  test('accepts valid options', async () => {
    expect(await refusal({})).toBe('accepted')
    expect(
      await refusal({
        command: 'npx codex',
        sandbox: 'workspace-write',
        args: '--profile x',
        config: 'approval_policy="never";a.b=[1]',
        offline_timeout: '90s',
      }),
    ).toBe('accepted')
  })
})
