/** `compact` by hand. The automatic one is in retries.test.ts, and test/turn/prompt/compact.test.ts has every cut. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const QUICK = { SUBSTRAT_RETRY_DELAYS: 'none' }

/** An agent `a` of a model that repeats what it received. `onSummary` runs before it sends a summary. */
async function withModel(onSummary = ''): Promise<{ house: House; id: string }> {
  const house = new House(QUICK)
  house.plugin(
    'hears',
    `const failure = (type) => Object.assign(new Error('no ' + type), { failure: { type } })
     export default {
       kind: 'model', description: 'x', options: {},
       async *complete(request) {
         const isSummary = request.prompt.startsWith('Summarise')
         if (isSummary) { ${onSummary} }
         if (request.model === 'none') throw failure('invalid')
         const text = isSummary ? 'the gist' : request.messages().map(({ content }) => content).join(' | ')
         yield { type: 'text', text }
         yield { type: 'usage', usage: { input_tokens: 3, output_tokens: 1 } }
         yield { type: 'stop', reason: 'end' }
       },
     }`,
  )
  const id = await house.spawn('a', '--provider', 'hears')
  for (const message of ['one', 'two']) await house.ok('send', 'a', message)
  return { house, id }
}

describe.concurrent('compact', () => {
  test('replaces all but the latest exchanges with a summary by the model, whose usage counts', async () => {
    const { house, id } = await withModel()
    const { json } = await house.ok('compact', 'a', '--keep', '1', '--json')
    expect(json).toMatchObject({ compacted: true, how: 'summary', messages: 3, agent: { path: 'a' } })
    const { stdout } = await house.ok('send', 'a', 'three')
    expect(stdout).toContain('the gist | one | one | two | three')
    expect(stdout).not.toContain('| one | one | one')
    expect((await house.ok('show', 'a', '--json')).json.usage).toMatchObject({ input_tokens: 12 })
    // The log keeps everything.
    expect((await house.ok('export', 'a', '--json')).json.messages).toHaveLength(6)
    expect(house.findings(true)).toEqual([])
    expect(house.count(id, 'run.started')).toBe(3)
  })

  test('keeps the latest third by default, and leaves out nothing more if it is repeated', async () => {
    const { house, id } = await withModel()
    expect((await house.ok('compact', 'a')).stdout).toMatch(/^a: \d messages are replaced by a summary\n$/)
    expect((await house.ok('compact', 'a')).stdout).toBe(
      'a: nothing to leave out (leave out every message: substrat compact a --keep 0)\n',
    )
    expect(house.count(id, 'context.compacted')).toBe(1)
  })

  test('with --keep 0 keeps only the summary, which is not summarised again', async () => {
    const { house, id } = await withModel()
    for (const compacted of [true, false])
      expect((await house.ok('compact', 'a', '--keep', '0', '--json')).json).toMatchObject({ compacted })
    expect(house.count(id, 'context.compacted')).toBe(1)
    expect((await house.ok('compact', 'a', '--keep', '0')).stdout).toBe('a: nothing to leave out\n')
    expect((await house.ok('send', 'a', 'three')).stdout).toMatch(/the gist \| three\n$/)
  })

  test('needs no model if it refuses the request for the summary', async () => {
    const { house } = await withModel(`throw failure('invalid')`)
    expect((await house.ok('compact', 'a', '--keep', '0')).stdout).toBe(
      'a: 4 messages are left out without a summary\n',
    )
    expect((await house.ok('send', 'a', 'three')).stdout).toContain('first 4 messages of this conversation')
  })

  test('leaves the conversation whole if the request for the summary fails otherwise, and counts its usage', async () => {
    const { house, id } = await withModel(
      `yield { type: 'usage', usage: { input_tokens: 70, output_tokens: 5 } }
       throw failure('authentication')`,
    )
    const { exit, stderr } = await house.run(['compact', 'a'])
    expect([exit, stderr]).toEqual([8, expect.stringMatching(/summary.*unchanged.*substrat compact a/)])
    expect(house.records(id).at(-1)).toMatchObject({
      kind: 'model.failed',
      error: { type: 'authentication' },
      usage: { input_tokens: 70 },
    })
    // 3 of each turn, and 70.
    expect((await house.ok('show', 'a', '--json')).json).toMatchObject({
      usage: { input_tokens: 76, output_tokens: 7, runs: 2 },
      run: { status: 'completed' },
    })
    expect(house.count(id, 'context.compacted')).toBe(0)
    expect((await house.ok('send', 'a', 'three')).stdout).toContain('one')
    expect(house.findings(true)).toEqual([])
  })

  test.each(['', ' \n'])(
    'leaves the conversation whole if the summary is empty (%j), and names --drop',
    async (text) => {
      const { house, id } = await withModel(
        `yield { type: 'text', text: ${JSON.stringify(text)} }
       yield { type: 'usage', usage: { input_tokens: 70, output_tokens: 5 } }
       yield { type: 'stop', reason: 'end' }
       return`,
      )
      const { exit, stderr } = await house.run(['compact', 'a'])
      expect([exit, stderr]).toEqual([
        9,
        expect.stringMatching(/no summary.*unchanged.*substrat compact a --drop/),
      ])
      expect(house.count(id, 'context.compacted')).toBe(0)
      expect((await house.ok('show', 'a', '--json')).json.usage).toMatchObject({ input_tokens: 76 })
      expect(house.findings(true)).toEqual([])
    },
  )

  test('with --drop also drops the summary of an earlier compaction', async () => {
    const house = new House()
    await house.spawn('a')
    for (const text of ['one', 'two', 'three']) await house.ok('send', 'a', text)
    await house.ok('compact', 'a', '--keep', '0')
    expect((await house.ok('compact', 'a')).stdout).toContain('nothing to leave out')
    expect((await house.ok('compact', 'a', '--keep', '0', '--drop')).stdout).toMatch(
      /messages? (is|are) left out/,
    )
  })

  test('with --drop asks no model, also for a model that refuses the conversation and never answered it', async () => {
    const { house, id } = await withModel(`throw failure('server_error')`)
    await house.ok('set', 'a', '--model', 'none')
    const { exit, stderr } = await house.run(['compact', 'a', '--keep', '0'])
    expect([exit, stderr]).toEqual([9, expect.stringContaining('substrat compact a --drop')])
    expect((await house.ok('compact', 'a', '--keep', '0', '--drop')).stdout).toBe(
      'a: 4 messages are left out without a summary\n',
    )
    expect(house.count(id, 'model.failed')).toBe(1)
    await house.ok('set', 'a', '--model', 'default')
    expect((await house.ok('send', 'a', 'three')).stdout).toMatch(
      /4 messages of this conversation.* \| three\n$/,
    )
    expect(house.findings(true)).toEqual([])
  })

  test('tells the model that a summary was cut off', async () => {
    const { house } = await withModel(
      `yield { type: 'text', text: 'half a gi' }
       yield { type: 'stop', reason: 'length' }
       return`,
    )
    await house.ok('compact', 'a', '--keep', '0')
    expect((await house.ok('send', 'a', 'three')).stdout).toContain(
      'half a gi\n\n[substrat] The summary may be incomplete (length). | three',
    )
  })

  test('leaves the conversation whole if its settings were never answered, and show does not name it', async () => {
    const { house, id } = await withModel(`if (request.model === 'none') throw failure('invalid')`)
    await house.ok('set', 'a', '--model', 'none')
    const { exit, stderr } = await house.run(['compact', 'a', '--keep', '0'])
    expect([exit, stderr]).toEqual([9, expect.stringMatching(/no invalid; the conversation is unchanged/)])
    expect(house.count(id, 'context.compacted')).toBe(0)
    expect((await house.run(['send', 'a', 'three'])).exit).toBe(9)
    expect((await house.ok('show', 'a', '--json')).json.next).not.toContain('compact')
    await house.ok('set', 'a', '--model', 'default')
    expect((await house.ok('send', 'a', 'four')).stdout).toContain('one')
  })

  test('also works while the agent is gated or on hold', async () => {
    const { house } = await withModel()
    await house.ok('gate', 'a')
    await house.ok('suspend', 'a', '--hold')
    expect((await house.ok('compact', 'a', '--json')).json).toMatchObject({ compacted: true })
  })
})

describe.concurrent('compact refuses', () => {
  test('an agent program, which keeps its own conversation', async () => {
    const house = new House()
    await house.spawn('a', '--provider', 'exec', '--option', 'command=cat')
    await house.ok('send', 'a', 'hello')
    const { exit, stderr } = await house.run(['compact', 'a'])
    expect([exit, stderr]).toEqual([13, expect.stringContaining('exec keeps the conversation itself')])
  })

  test('an agent without a turn, and one that waits, with the command that ends the wait', async () => {
    const house = new House()
    const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    const id = await house.spawn('a', '--option', option)
    expect((await house.run(['compact', 'a'])).stderr).toContain('it has had no turn yet')
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    const { exit, stderr } = await house.run(['compact', 'a'])
    expect([exit, stderr]).toEqual([13, expect.stringMatching(/not finished.*substrat approve a/)])
    expect(house.count(id, 'context.compacted')).toBe(0)
    expect((await house.ok('show', 'a', '--json')).json.agent.status).toBe('waiting')
  })
})

test.each(['overflow', 'invalid'])(
  'after a turn whose conversation is refused (%s), show names compact, then retry, which has the prompt',
  async (type) => {
    const house = new House(QUICK)
    const refused = { fail: { type, attempts: 99 }, say: 'at last' }
    const option = house.scenario('s.json', {}, {}, refused)
    const id = await house.spawn('a', '--option', option)
    for (const message of ['one', 'two']) await house.ok('send', 'a', message)
    const sent = await house.run(['send', 'a', 'three'])
    expect([sent.exit, sent.stderr]).toEqual([9, expect.stringMatching(/substrat (compact|show) a/)])
    const next = async (): Promise<string> => (await house.ok('show', 'a', '--json')).json.next
    expect(await next()).toBe('substrat compact a')
    await house.ok('compact', 'a', '--keep', '0')
    expect(await next()).toBe('substrat retry a')
    house.write('s.json', JSON.stringify({ responses: [] }))
    expect((await house.ok('retry', 'a')).stdout).toBe('echo: three\n')
    expect(house.records(id).findLast(({ kind }) => kind === 'context.compacted')).toMatchObject({
      content: expect.stringContaining('three'),
    })
    expect(await next()).toMatch(/^substrat send/)
    expect(house.findings(true)).toEqual([])
  },
)

test('a turn that the model refused stays in the log for retry, and its prompt is in no summary', async () => {
  const house = new House(QUICK)
  const option = house.scenario('s.json', {}, { fail: { type: 'refused', attempts: 99 } })
  const id = await house.spawn('a', '--option', option)
  await house.ok('send', 'a', 'one')
  expect((await house.run(['send', 'a', 'forbidden'])).exit).toBe(9)
  await house.ok('compact', 'a', '--keep', '0')
  const record = house.records(id).findLast(({ kind }) => kind === 'context.compacted')
  expect(record).toMatchObject({ messages: 2, content: expect.not.stringContaining('forbidden') })
  house.write('s.json', JSON.stringify({ responses: [] }))
  expect((await house.ok('retry', 'a')).stdout).toBe('echo: forbidden\n')
  expect(house.findings(true)).toEqual([])
})
