/** Turns of provider-codex, against replayed output of the real codex. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildPlugin } from './built.js'
import {
  codex,
  FIRST_THREAD,
  firstTurn,
  newLab,
  place,
  replyIn,
  seen,
  seenFile,
  settingsFor,
  stateIn,
  turn,
  typesOf,
  USED,
} from './codex-support.js'

function decoded(state: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(state).toString('utf8'))
}

describe('a turn', () => {
  test('reports its thread first, then text and usage, then the reply', async () => {
    const first = await firstTurn()
    expect(typesOf(first)).toEqual(['state', 'note', 'text', 'usage', 'done'])
    expect(decoded(stateIn(first))).toMatchObject({ thread_id: FIRST_THREAD })
    expect(first.events.slice(1)).toEqual([
      { type: 'note', text: expect.stringContaining('codex: Model metadata for `m` not found') },
      { type: 'text', text: 'echo: hello there' },
      { type: 'usage', usage: USED },
      { type: 'done', reply: 'echo: hello there' },
    ])
  })

  test('passes the prompt only through stdin, and closes it', async () => {
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

  test('continues its thread, and counts only its own tokens', async () => {
    const { host } = newLab()
    const settings = settingsFor(`--seen ${seenFile()}`)
    const session = await codex.create(settings, host)
    await turn(session)
    const state = await session.suspend()
    const restored = await codex.restore(state as Uint8Array, settings, host)
    const second = await turn(restored, 'once more')
    expect(seen().flags.resume).toBe(FIRST_THREAD)
    expect(seen().prompt).toBe('once more')
    // Codex reports the totals of both turns, 22 and 14.
    expect(second.events).toContainEqual({ type: 'usage', usage: USED })
    expect(replyIn(second)).toBe('echo: hello there')
    expect(typesOf(second)[0]).toBe('state')
  })

  test('reports each tool call, except calls of substrat tools', async () => {
    const tools = {
      name: 'substrat',
      command: 'node',
      args: ['mcp'],
      env: {},
      respond: async () => undefined,
    }
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
      finished('item_7', 'command_execution', 'still running when the turn ended', true),
    ])
    expect(replyIn({ events, error: undefined })).toBe('That is done.')
    expect(events.filter(({ type }) => type === 'text')).toEqual([
      { type: 'text', text: 'I look first.' },
      { type: 'text', text: '\n\nThat is done.' },
    ])
  })

  test('preserves U+2028 and similar characters in the text', async () => {
    expect(replyIn(await firstTurn('--play text.jsonl'))).toBe('a\u2028b\u2029c\u0085d \u{1f600}')
  })

  test('ignores lines that are not events, and unknown events', async () => {
    const plain = await firstTurn()
    const noisy = await firstTurn('--garbage')
    expect(noisy.events).toEqual(plain.events)
  })

  test('reads a line of 10 MB, and clips it', async () => {
    const { events, error } = await firstTurn('--bytes 10485760')
    expect(replyIn({ events, error })).toBe('echo: hello there')
    const output = events.flatMap((event) => (event.type === 'tool_finished' ? [event.output] : []))
    expect(output).toEqual([expect.stringMatching(/^x{8000}\n\[10469760 characters left out\]\nx{8000}$/)])
  })
})

test('the suspended state is small, and has no position of a running turn', async () => {
  const session = await codex.create(settingsFor(), newLab().host)
  expect(await session.suspend()).toBeNull()
  await turn(session)
  const state = decoded((await session.suspend()) as Uint8Array)
  expect(state).toEqual({ thread_id: FIRST_THREAD, rollout_bytes: null })
})

test('a missing program is reported, with a remedy', async () => {
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

test('the plugin is one file that needs only node, and its package.json names it', async () => {
  const imports = [
    ...readFileSync(await buildPlugin('provider-codex'), 'utf8').matchAll(/\brequire\("([^"]+)"\)/g),
  ].map(([, name]) => name)
  expect(imports.length).toBeGreaterThan(3)
  expect(imports.filter((name) => name?.startsWith('node:') !== true)).toEqual([])
  const root = join(import.meta.dirname, '../../plugins/provider-codex')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({
    oclif: {},
    files: ['dist'],
    substrat: { providers: { codex: './dist/index.cjs' } },
  })
  expect(manifest.dependencies).toBeUndefined()
})

test('its description says that it cannot ask for permission', () => {
  expect(codex.description).toContain('codex exec')
  expect(codex.description).toContain('cannot ask for permission')
})
