import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { SubstratError } from '../../../src/errors.js'
import { limits } from '../../../src/limits.js'
import type { Tool } from '../../../src/turn/tools/tool.js'
import type { Toolbox } from '../../../src/turn/tools/toolbox.js'
import { bench, serverThat } from '../../support/toolboxes.js'

test('each tool has a name that models accept, a description and an object schema', () => {
  for (const { name, description, input_schema } of bench().toolbox.definitions) {
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(description).not.toBe('')
    expect(input_schema).toMatchObject({ type: 'object', properties: {} })
  }
})

test('the kind of a tool is known by its name', () => {
  const { policy } = bench({ servers: { notes: serverThat('well') } }).toolbox
  const kinds = ['read_file', 'read_skill', 'write_file', 'edit_file', 'shell', 'ask_operator', 'notes__add']
  expect(kinds.map(policy.kindOf)).toEqual([
    'reads',
    'reads',
    'changes',
    'changes',
    'program',
    'ask',
    'changes',
  ])
})

test.each(['', 'Shell', 'toString', '__proto__', 'other__add', 'constructor__x', '__add'])(
  'there is no tool %j',
  async (name) => {
    const { toolbox, run } = bench({ servers: { notes: serverThat('well') } })
    expect(toolbox.policy.kindOf(name)).toBe('unknown')
    expect(await run(name, {})).toEqual({
      content: `There is no tool ${name} now.`,
      is_error: true,
      whole: null,
    })
  },
)

describe('a tool that', () => {
  /** Replaces `read_skill`. */
  function withTool(tool: Tool['run'], timeoutMs = 3_600_000, its?: Partial<Tool>): ReturnType<typeof bench> {
    const made = bench({ timeoutMs })
    const { tools } = made.toolbox as unknown as { tools: Map<string, Tool> }
    tools.set('read_skill', { ...(tools.get('read_skill') as Tool), ...its, run: tool })
    return made
  }

  test('throws a value that is not an Error has an error as its result', async () => {
    for (const thrown of ['text', new Error('m'), undefined, null, {}, Object.create(null)]) {
      const { run } = withTool(() => Promise.reject(thrown))
      expect((await run('read_skill', {})).is_error).toBe(true)
    }
  })

  test('writes to the home and meets a storage failure ends the turn without a result', async () => {
    const error = new SubstratError('STORAGE_FAILED', 'the disk is full')
    const { run } = withTool(() => Promise.reject(error), 3_600_000, { kind: 'own' })
    await expect(run('read_skill', {})).rejects.toBe(error)
  })

  test('returns more than the model may receive has its whole output beside the excerpt, for errors too', async () => {
    const { run } = withTool(() => Promise.reject(new Error('x'.repeat(limits.toolResultBytesMax + 1))))
    const { content, whole, is_error } = await run('read_skill', {})
    expect(is_error).toBe(true)
    expect(content).toContain('[… 1 bytes left out …]')
    expect(whole?.length).toBe(limits.toolResultBytesMax + 1)
  })

  test('returns exactly the limit is not cut', async () => {
    const { run } = withTool(async () => 'x'.repeat(limits.toolResultBytesMax))
    expect(await run('read_skill', {})).toMatchObject({ whole: null, is_error: false })
  })

  test('ignores a stop is abandoned after 3 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { run } = withTool(() => new Promise(() => undefined))
      const controller = new AbortController()
      let isOver = false
      const result = run('read_skill', {}, controller.signal).finally(() => {
        isOver = true
      })
      controller.abort()
      await vi.advanceTimersByTimeAsync(2999)
      expect(isOver).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect(await result).toMatchObject({ content: 'Interrupted: the turn was stopped.', is_error: true })
    } finally {
      vi.useRealTimers()
    }
  })

  test('ignores its timeout is abandoned, and its result names the timeout', async () => {
    const { run } = withTool(() => new Promise(() => undefined), 10)
    const { content, is_error } = await run('read_skill', {})
    expect(is_error).toBe(true)
    expect(content).toMatch(/^Timed out/)
  })

  test('times out has its signal aborted', async () => {
    const { run } = withTool(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          if (signal.aborted) reject(new Error('let go'))
          signal.addEventListener('abort', () => reject(new Error('let go')))
        }),
      10,
    )
    expect((await run('read_skill', {})).content).toMatch(/^Timed out: .*\nlet go$/)
  })
})

describe('read_skill', () => {
  function skill(folder: string, name: string, text: string): void {
    mkdirSync(join(folder, 'skills', name), { recursive: true })
    writeFileSync(join(folder, 'skills', name, 'SKILL.md'), text)
  }

  test('returns the whole text of a skill, from the home or the workspace', async () => {
    const { run, home, workspace } = bench()
    skill(home, 'deploy', '# Deploy\nfrom the home')
    skill(join(workspace, '.substrat'), 'review', '# Review\nfrom the workspace')
    expect((await run('read_skill', { name: 'deploy' })).content).toBe('# Deploy\nfrom the home')
    expect((await run('read_skill', { name: 'review' })).content).toBe('# Review\nfrom the workspace')
  })

  test.each(['..', '../skills/deploy', 'nothing', '', 'deploy/SKILL.md'])(
    'refuses %j, which is not a skill',
    async (name) => {
      const { run, home } = bench()
      skill(home, 'deploy', 'x')
      expect(await run('read_skill', { name })).toMatchObject({
        content: `there is no skill ${name}`,
        is_error: true,
      })
    },
  )
})

test('ask_operator never runs', async () => {
  const { run } = bench()
  expect(await run('ask_operator', { question: 'why?' })).toMatchObject({ is_error: true })
})

test('without configured servers no program starts', async () => {
  const { toolbox, startServers, groups } = bench()
  await startServers()
  await (toolbox as Toolbox).stop()
  expect(groups).toEqual([])
})
