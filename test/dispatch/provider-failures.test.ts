/**
 * Misbehaviour of a provider leads to a failed turn with a plain sentence, never a broken session or a process that
 * stays.
 */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { processesWith } from '../support/processes.js'

const modelThat = (body: string): string => `
export default {
  kind: 'model', description: 'a plugin of a test', options: {},
  async *complete(request, { signal }) { ${body} },
}
`

const agentThat = (body: string): string => `
const session = { async *send(prompt, { signal }) { ${body} }, async suspend() { return null }, async stop() {} }
export default {
  kind: 'agent', description: 'a plugin of a test', options: {},
  create: async () => session, restore: async () => session, inspect: async () => ({ outcome: 'unknown' }),
}
`

const GOOD_MODEL = modelThat(`yield { type: 'text', text: 'well' }; yield { type: 'stop', reason: 'end' }`)
const GOOD_AGENT = agentThat(`yield { type: 'done', reply: 'well' }`)

const failures: [string, string, RegExp][] = [
  ['throws', modelThat(`throw new Error('no luck\\n  at all')`), /failed: no luck +at all/],
  ['throws what is no error', modelThat(`throw null`), /failed: /],
  ['ends without an answer', modelThat(`yield { type: 'text', text: 'half' }`), /ended without an answer/],
  ['yields garbage', modelThat(`yield 42`), /broke its contract: an event 42/],
  ['yields text that is none', modelThat(`yield { type: 'text', text: {} }`), /broke its contract/],
  [
    'goes on after its end',
    modelThat(`yield { type: 'stop', reason: 'end' }; yield { type: 'text', text: 'x' }`),
    /event after its stop/,
  ],
  ['ends the process', modelThat(`process.exit(0)`), /failed: the provider tried to end the process/],
  [
    'ends the process where nobody catches it',
    modelThat(`setTimeout(() => process.exit(0)); await new Promise(() => {})`),
    /failed: the provider tried to end the process/,
  ],
  ['is an agent that throws', agentThat(`throw new Error('no luck')`), /failed: no luck/],
  ['is an agent that ends early', agentThat(``), /ended without an answer/],
  ['is an agent that yields garbage', agentThat(`yield 'x'`), /broke its contract/],
]

describe.concurrent('a provider that', () => {
  test.each(failures)(
    '%s fails the turn with exit 9, and the session is good for the next',
    async (_, source, why) => {
      const house = source.includes('process.exit') ? House.ofProcesses() : new House()
      house.plugin('bad', source)
      const id = await house.spawn('a', '--provider', 'bad')
      const sent = await house.run(['send', 'a', 'hello'])
      expect(sent).toMatchObject({ exit: 9, stdout: '' })
      expect(sent.stderr).toMatch(why)
      expect(sent.stderr.trim().split('\n')).toHaveLength(1)
      expect(sent.stderr).not.toMatch(/\n +at /)
      expect(house.kinds(id).slice(-4)).toEqual([
        'run.failed',
        'session.suspended',
        'status.derived',
        'mail.answered',
      ])
      house.plugin('bad', source.startsWith('\nexport') ? GOOD_MODEL : GOOD_AGENT)
      expect(await house.run(['send', 'a', 'again'])).toMatchObject({ exit: 0, stdout: 'well\n' })
      expect(house.findings(true)).toEqual([])
    },
  )

  test('cannot be loaded is exit 8, named by providers, and stops no other command', async () => {
    const house = new House()
    house.plugin('bad', `throw new Error('broken at import')`)
    const spawned = await house.run(['spawn', '--provider', 'bad', '--json'])
    expect(spawned.exit).toBe(8)
    expect(spawned.json.error).toMatchObject({
      code: 'PROVIDER_MISCONFIGURED',
      provider: 'bad',
      plugin: 'bad',
    })
    const listed = await house.ok('providers', '--json')
    expect(listed.json.providers[2]).toMatchObject({ name: 'bad', kind: 'broken' })
    await house.spawn('a')
    expect((await house.run(['send', 'a', 'hello'])).stdout).toBe('echo: hello\n')
  })

  test('is an agent that hangs is stopped at --turn-timeout with exit 12, and keeps no process', async () => {
    const house = House.ofProcesses()
    house.plugin('bad', agentThat(`setInterval(() => {}, 10); await new Promise(() => {})`))
    const id = await house.spawn('a', '--provider', 'bad')
    const sent = await house.run(['send', 'a', 'hello', '--turn-timeout', '50ms'])
    expect(sent.exit).toBe(12)
    expect(house.kinds(id).slice(-4)).toEqual([
      'run.cancelled',
      'session.suspended',
      'status.derived',
      'mail.answered',
    ])
    expect(processesWith(`SUBSTRAT_HOME=${house.home}`)).toEqual([])
  })
})

describe.concurrent('a program of exec that', () => {
  const programs: [string, string, number, RegExp][] = [
    [
      'exits non-zero',
      'echo some; echo what went wrong >&2; exit 3',
      9,
      /the command exited 3: what went wrong/,
    ],
    ['dies of a signal', 'kill -9 $$', 6, /was killed by SIGKILL/],
    ['is not there', 'no-such-program', 8, /the program no-such-program is not in PATH/],
    ['starts another one that is not there', 'exec no-such-program', 9, /exited 127: .*no-such-program/],
    ['ignores SIGTERM', "trap '' TERM; sleep 3600 & wait; sleep 3600", 12, /exceeded its time limit/],
    ['prints without end', 'yes', 9, /printed more than|larger than/],
  ]
  test.each(programs)('%s', async (_, command, exit, why) => {
    const house = new House()
    const id = await house.spawn('a', '--provider', 'exec', '--option', `command=${command}`)
    const sent = await house.run(['send', 'a', 'hello', '--turn-timeout', exit === 12 ? '100ms' : '1h'])
    expect(sent).toMatchObject({ exit, stdout: '' })
    expect(sent.stderr).toMatch(why)
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    await house.ok('set', 'a', '--option', 'command=cat')
    expect((await house.run(['send', 'a', 'again'])).stdout).toBe('again\n')
    expect(house.findings(true)).toEqual([])
  })

  test('does not read its prompt, or leaves something running with its stdout, still gives its reply', async () => {
    const house = new House()
    const id = await house.spawn('a', '--provider', 'exec', '--option', 'command=sleep 3600 & echo ready')
    const sent = await house.run(['send', 'a', '-'], { stdin: 'x'.repeat(1_000_000) })
    expect(sent).toMatchObject({ exit: 0, stdout: 'ready\n' })
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
  })
})
