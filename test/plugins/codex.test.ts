/** Turns of provider-codex, against what the real codex printed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  codex,
  FIRST_THREAD,
  firstTurn,
  newLab,
  PLUGIN_FILE,
  place,
  replyIn,
  seen,
  seenFile,
  settingsFor,
  stateIn,
  turn,
  typesOf,
} from './codex-support.js'

function decoded(state: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(state).toString('utf8'))
}

describe('a turn', () => {
  test('says its thread before all else, then what it wrote and used, and ends with the reply', async () => {
    const first = await firstTurn()
    expect(typesOf(first)).toEqual(['state', 'note', 'text', 'usage', 'done'])
    expect(decoded(stateIn(first))).toMatchObject({ thread_id: FIRST_THREAD })
    expect(first.events.slice(1)).toEqual([
      { type: 'note', text: expect.stringContaining('codex: Model metadata for `m` not found') },
      { type: 'text', text: 'echo: hello there' },
      { type: 'usage', usage: { input_tokens: 11, output_tokens: 7 } },
      { type: 'done', reply: 'echo: hello there' },
    ])
  })

  test('is given its prompt on stdin, which is closed, and no other word of it', async () => {
    const prompt = '-c x=y resume \u2028 $(id) `id`\n--json'
    replyIn(await firstTurn(`--seen ${seenFile()}`, {}, prompt))
    expect(seen().prompt).toBe(prompt)
    expect(seen().argv.join(' ')).not.toContain('$(id)')
    expect(seen().flags).toMatchObject({
      '--skip-git-repo-check': true,
      '--cd': place.workspace,
      stdin: true,
    })
    expect(seen().flags.config).toEqual(['approval_policy="never"'])
  })

  test('goes on with its thread, and counts only what this turn used', async () => {
    const { host } = newLab()
    const settings = settingsFor(`--seen ${seenFile()}`)
    const session = await codex.create(settings, host)
    await turn(session)
    const state = await session.suspend()
    const restored = await codex.restore(state as Uint8Array, settings, host)
    const second = await turn(restored, 'once more')
    expect(seen().flags.resume).toBe(FIRST_THREAD)
    expect(seen().prompt).toBe('once more')
    // codex says 22 and 14: of both turns.
    expect(second.events).toContainEqual({ type: 'usage', usage: { input_tokens: 11, output_tokens: 7 } })
    expect(replyIn(second)).toBe('echo: hello there')
    expect(typesOf(second)[0]).toBe('state')
  })

  test('says each use of a tool, but not the calls of substrat that substrat records', async () => {
    const tools = { name: 'substrat', command: 'node', args: ['mcp'], env: {} }
    const { events } = await turn(await codex.create(settingsFor('--play tools.jsonl'), newLab(tools).host))
    const uses = events.filter(({ type }) => type === 'tool_started' || type === 'tool_finished')
    const path = '/tmp/codex-ws/new.txt'
    const still = "/bin/bash -lc 'echo still; sleep 30'"
    expect(uses).toEqual([
      started('item_2', 'file_change', { changes: [{ path, kind: 'add' }] }),
      started('item_4', 'notes/look', { a: 1 }),
      finished('item_4', 'notes/look', 'did look', false),
      finished('item_2', 'file_change', 'completed', false),
      started('item_5', 'command_execution', { command: "/bin/bash -lc 'echo hi; false'" }),
      finished('item_5', 'command_execution', 'hi\n[exit 1]', true),
      started('item_6', 'notes/kill', { a: 1 }),
      finished('item_6', 'notes/kill', 'MCP tool call requires approval, but approval policy is never', true),
      started('item_7', 'command_execution', { command: still }),
      finished('item_7', 'command_execution', 'it was still running when the turn ended', true),
    ])
    expect(replyIn({ events, error: undefined })).toBe('That is done.')
    expect(events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'I look first.' },
      { type: 'text', text: '\n\nThat is done.' },
    ])
  })

  test('keeps U+2028 and its like in the text', async () => {
    expect(replyIn(await firstTurn('--play text.jsonl'))).toBe('a\u2028b\u2029c\u0085d \u{1f600}')
  })

  test('passes over lines that are no events, and events that it does not know', async () => {
    const plain = await firstTurn()
    const noisy = await firstTurn('--garbage')
    expect(noisy.events).toEqual(plain.events)
  })

  test('reads a line of 10 MB, and keeps little of it', async () => {
    const { events, error } = await firstTurn('--bytes 10485760')
    expect(replyIn({ events, error })).toBe('echo: hello there')
    const output = events.flatMap((event) => (event.type === 'tool_finished' ? [event.output] : []))
    expect(output).toEqual([expect.stringMatching(/^x{8000}\n\[10469760 characters left out\]\nx{8000}$/)])
  })
})

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
  ])('allowed %j, it has the sandbox %s', async (allow, sandbox) => {
    expect((await commandWith({ allow })).flags['--sandbox']).toBe(sandbox)
  })

  test('has the sandbox of the option, whatever is allowed', async () => {
    for (const sandbox of ['read-only', 'danger-full-access']) {
      expect((await commandWith({ allow: ['all'], options: { sandbox } })).flags['--sandbox']).toBe(sandbox)
    }
  })

  test('has the model, more arguments, and values of the configuration', async () => {
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

  test('gives a new thread its instructions, as a string of TOML', async () => {
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
    'does not give a thread its instructions again',
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

  test('offers the tools of substrat: nothing secret in an argument, and no approval of its own', async () => {
    const tools = {
      name: 'substrat',
      command: '/bin/x',
      args: ['mcp', 'a "b"'],
      env: { SUBSTRAT_SECRET: 's3cret' },
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

  test('runs in the workspace, in the environment of a turn', async () => {
    const { env } = await commandWith()
    expect(env.SUBSTRAT_RUN).toMatch(/^[0-9a-f-]{36}$/)
    expect(env.PWD).toBe(place.workspace)
  })
})

describe('its check', () => {
  const refusal = async (options: Record<string, string>): Promise<string> => {
    try {
      await codex.check?.({ workspace: place.workspace, model: null, instructions: null, options })
      return 'accepted'
    } catch (error) {
      return `${(error as { failure: { type: string } }).failure.type}: ${(error as Error).message}`
    }
  }

  test.each<[string, Record<string, string>]>([
    ['sandbox is', { sandbox: 'none' }],
    ['command names no program', { command: ' ' }],
    ['command has a quote without its end', { command: "codex 'x" }],
    ['args may not have --ephemeral', { args: '--ephemeral' }],
    ['args may not have --cd', { args: '--cd=/' }],
    ['args may not have resume', { args: 'resume x' }],
    ['is not key=value', { config: 'model_reasoning_effort' }],
    ['codex exec cannot ask for permission', { config: 'approval_policy="on-request"' }],
    ['offline_timeout is no duration', { offline_timeout: '5' }],
    ['offline_timeout is no duration', { offline_timeout: '999h' }],
  ])('refuses what cannot work: %s', async (why, options) => {
    expect(await refusal(options)).toMatch(/^misconfigured: /)
    expect(await refusal(options)).toContain(why)
  })

  test('accepts what can', async () => {
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

test('what is needed for a later turn is small, and says nothing of a turn that runs', async () => {
  const session = await codex.create(settingsFor(), newLab().host)
  expect(await session.suspend()).toBeNull()
  await turn(session)
  const state = decoded((await session.suspend()) as Uint8Array)
  expect(state).toEqual({ thread_id: FIRST_THREAD, rollout_bytes: null, input_tokens: 11, output_tokens: 7 })
})

test('a program that is not there is said so, with what to do', async () => {
  const { error } = await turn(
    await codex.create({ ...settingsFor(), options: { command: join(place.home, 'gone') } }, newLab().host),
  )
  expect(error).toMatchObject({ failure: { type: 'misconfigured' } })
  expect(String(error)).toContain('npm install -g @openai/codex')
})

function started(call_id: string, tool: string, input: object): object {
  return { type: 'tool_started', call_id, tool, input }
}

function finished(call_id: string, tool: string, output: string, is_error: boolean): object {
  return { type: 'tool_finished', call_id, tool, output, is_error }
}

test('it is one file that needs nothing but node, of a plugin that names it', () => {
  const imports = [...readFileSync(PLUGIN_FILE, 'utf8').matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(
    ([, name]) => name,
  )
  expect(imports.length).toBeGreaterThan(3)
  expect(imports.filter((name) => name?.startsWith('node:') !== true)).toEqual([])
  const root = join(import.meta.dirname, '../../plugins/provider-codex')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({
    oclif: {},
    files: ['dist'],
    substrat: { providers: { codex: './dist/index.js' } },
  })
  expect(manifest.dependencies).toBeUndefined()
})

test('it says by name that it cannot ask', () => {
  expect(codex.description).toContain('codex exec')
  expect(codex.description).toContain('cannot ask for permission')
})
