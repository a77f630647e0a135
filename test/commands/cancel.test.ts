/** `cancel` ends a running, waiting or crashed turn from another process; `retry` repeats it. */
import { describe, expect, test } from 'vitest'
import { House, type Result, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { parked, ran } from '../support/parked.js'
import { processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

/** A turn during a shell command that has children. */
const TREE = 'sleep 3600 & (sleep 3600; true) & echo some output; : > started; wait'

async function inTool(
  house: House,
  command: string,
  ...flags: string[]
): Promise<{ id: string; sender: Running }> {
  const begun = await toTool(house, command, ...flags)
  await waitFor(() => house.read('started') !== undefined, 'the tool')
  return begun
}

async function toTool(
  house: House,
  command: string,
  ...flags: string[]
): Promise<{ id: string; sender: Running }> {
  const option = house.scenario(
    's.json',
    { tools: [{ name: 'shell', input: { command } }] },
    { say: 'finished' },
  )
  const id = await house.spawn('a', '--option', option, '--allow', 'shell')
  return { id, sender: house.start(['send', 'a', 'go', '--json', ...flags]) }
}

/** A turn that times out in its tool. On a machine that is too slow to reach the tool, runs again with twice the time. */
async function timedOut(
  begin: (seconds: number) => [House, ...string[]],
  isThere: (house: House) => boolean,
): Promise<{ house: House; id: string; sent: Result }> {
  for (let seconds = 2; ; seconds *= 2) {
    const [house, ...flags] = begin(seconds)
    const { id, sender } = await toTool(house, TREE, ...flags)
    const sent = await sender.result
    if (isThere(house)) return { house, id, sent }
  }
}

function expectWhole(house: House, id: string): void {
  const records = house.records(id)
  const calls = records.flatMap((record) => (record.kind === 'model.responded' ? (record.calls ?? []) : []))
  const results = records.filter(({ kind }) => kind === 'tool.finished')
  expect(results).toHaveLength(calls.length)
  expect(house.findings(true)).toEqual([])
}

describe.concurrent('cancel', () => {
  test('without an agent cancels nothing, and asks for its name instead of suggesting --all', async () => {
    const house = new House()
    const bare = await house.run(['cancel'])
    expect(bare).toMatchObject({ exit: 2, stdout: '' })
    expect(bare.stderr).toBe('substrat: cancel needs the name of an agent (list the agents: substrat list)\n')
    await house.spawn('a')
    const both = await house.run(['cancel', 'a', '--all'])
    expect(both.exit).toBe(2)
    expect(both.stderr).toContain('leave out --all')
  })

  test('ends the tools of a running turn with all their children; the sender exits 14', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, TREE)
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    expect(processesWith(`SUBSTRAT_AGENT=${id}`).length).toBeGreaterThan(2)
    expect(await house.ok('cancel', 'a')).toMatchObject({ stdout: 'a: cancelled\n' })
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    const sent = await sender.result
    expect([sent.exit, sent.json.error.code]).toEqual([14, 'CANCELLED'])
    expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: 'Interrupted: the turn was stopped.',
      is_error: true,
    })
    expect(house.inbox(id)).toHaveLength(1)
    expectWhole(house, id)
  })

  test('leaves queued messages in the inbox for the next command', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, TREE)
    await house.ok('send', 'a', 'later', '--if-busy', 'queue')
    await house.ok('cancel', 'a')
    await sender.result
    expect(house.count(id, 'mail.delivered')).toBe(0)
    await house.run(['resume', 'a'])
    expect(house.records(id).find(({ kind }) => kind === 'mail.delivered')).toMatchObject({
      content: 'later',
    })
  })

  test('reaches a tool that ignores SIGTERM', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, `trap '' TERM; : > started; while :; do sleep 0.05; done`)
    await house.ok('cancel', 'a')
    expect((await sender.result).exit).toBe(14)
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
  })

  test('ends a model request, and the turn of an agent program', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const program = await house.spawn('program', ...gate.flags)
    const model = await house.spawn('model', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const senders = ['program', 'model'].map((name) => house.start(['send', name, 'go']))
    await gate.isReached()
    await house.waitForRecord(model, 'model.requested')
    const { json } = await house.ok('cancel', '--all', '--json')
    expect(json.agents).toHaveLength(2)
    expect(json.agents.every(({ cancelled }: { cancelled: boolean }) => cancelled)).toBe(true)
    for (const sender of senders) expect((await sender.result).exit).toBe(14)
    for (const id of [program, model]) {
      expect(house.count(id, 'run.cancelled')).toBe(1)
      expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    }
  })

  test('revokes the token of a waiting turn and answers its calls', async () => {
    const house = new House()
    const { id } = await parked(house)
    expect((await house.ok('cancel', 'a', '--json')).json).toMatchObject({
      agents: [{ agent: { status: 'idle' }, cancelled: true }],
    })
    expect(house.kinds(id).slice(-4)).toEqual([
      'token.revoked',
      'tool.finished',
      'run.cancelled',
      'status.derived',
    ])
    expect((await house.run(['resume', 'a'])).stdout).toBe('')
    expectWhole(house, id)
  })

  test('ends a turn that a crash left open, so that no command continues it', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sender = house.start(['send', 'a', 'go'])
    await house.waitForRecord(id, 'model.requested')
    await sender.kill()
    expect((await house.ok('cancel', 'a')).stdout).toBe('a: cancelled\n')
    expect((await house.ok('recover', '--all')).exit).toBe(0)
    expect(house.count(id, 'run.started')).toBe(1)
    expect(house.count(id, 'run.interrupted')).toBe(0)
    expect(house.findings(true)).toEqual([])
  })

  test("ends a turn that was killed in a tool, and kills the tool's orphans", async () => {
    const house = new House()
    const { id, sender } = await inTool(house, TREE)
    await sender.kill()
    expect((await house.ok('cancel', 'a')).stdout).toBe('a: cancelled\n')
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    expect((await house.ok('resume', 'a')).stdout).toBe('')
    expect(house.count(id, 'run.interrupted')).toBe(0)
    expectWhole(house, id)
  })

  test.each(['a', '--all'])(
    'ends a turn that a signal interrupted, so that no command continues it (%s)',
    async (whom) => {
      const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '1ms' })
      const { id, sender } = await inTool(house, TREE)
      expect((await sender.kill('SIGTERM')).exit).toBe(143)
      expect((await house.ok('cancel', whom)).stdout).toBe('a: cancelled\n')
      expect((await house.ok('cancel', 'a')).stdout).toBe('a: nothing to cancel\n')
      expect((await house.ok('recover', '--all')).exit).toBe(0)
      expect((await house.ok('resume', 'a')).stdout).toBe('')
      expect(house.kinds(id).slice(-5)).toEqual([
        'session.activated',
        'run.started',
        'run.cancelled',
        'status.derived',
        'session.suspended',
      ])
      expectWhole(house, id)
      expect((await house.ok('retry', 'a')).stdout).toBe('finished\n')
    },
  )

  test('changes nothing for an idle agent, and says so', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'hello')
    const log = house.log(id)
    expect((await house.ok('cancel', 'a')).stdout).toBe('a: nothing to cancel\n')
    expect((await house.ok('cancel', '--all')).stdout).toBe('nothing to cancel\n')
    expect(house.log(id)).toBe(log)
    expect((await house.run(['cancel'])).exit).toBe(2)
    expect((await house.run(['cancel', 'a', '--all'])).exit).toBe(2)
  })
})

describe.concurrent('cancel --recursive', () => {
  test('ends the turns of an agent and all agents below it, delivers nothing, and affects no other agent', async () => {
    const house = new House()
    const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    const flags = ['--option', option]
    const lead = await house.spawn('lead', ...flags)
    await house.spawn('idle', '--parent', 'lead', ...flags)
    const deep = await house.spawn('deep', '--parent', 'lead/idle', ...flags)
    await house.spawn('other', ...flags)
    for (const path of ['lead', 'lead/idle/deep', 'other'])
      expect((await house.run(['send', path, 'go'])).exit).toBe(5)
    const { json } = await house.ok('cancel', 'lead', '--recursive', '--json')
    expect(
      json.agents.map(({ agent, cancelled }: { agent: { path: string }; cancelled: boolean }) => [
        agent.path,
        cancelled,
      ]),
    ).toEqual([
      ['lead', true],
      ['lead/idle/deep', true],
    ])
    expect((await house.ok('show', 'other', '--json')).json.agent.status).toBe('waiting')
    for (const id of [lead, deep]) expect(house.count(id, 'run.started')).toBe(1)
    // The agent in between gets an error, which the next command delivers.
    expect((await house.ok('show', 'lead/idle', '--json')).json.agent.inbox).toBe(1)
    expect(house.findings(true)).toEqual([])
  })

  test('is not the default: cancel ends one turn, and its parent gets the error in a turn', async () => {
    const house = new House()
    const option = house.scenario('s.json', { tools: [{ name: 'shell', input: { command: 'true' } }] })
    const lead = await house.spawn('lead')
    await house.spawn('child', '--parent', 'lead', '--option', option)
    expect((await house.run(['send', 'lead/child', 'go'])).exit).toBe(5)
    await house.ok('cancel', 'lead/child')
    expect(house.count(lead, 'run.completed')).toBe(1)
    expect((await house.run(['cancel', 'lead', '--all'])).exit).toBe(2)
    expect((await house.run(['cancel', '--all', '--recursive'])).exit).toBe(2)
  })
})

describe.concurrent('--turn-timeout during a tool', () => {
  test('exits 12 and kills the whole process group of the tool', async () => {
    const { house, id, sent } = await timedOut(
      (seconds) => [new House(), '--turn-timeout', `${seconds}s`],
      (house) => house.read('started') !== undefined,
    )
    expect([sent.exit, sent.json.error.code]).toEqual([12, 'TIMED_OUT'])
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    expectWhole(house, id)
  })

  test('differs from tool_timeout, which ends only the tool: the model gets an error and continues', async () => {
    const { house, id, sent } = await timedOut(
      (seconds) => [new House({ SUBSTRAT_TOOL_TIMEOUT: `${seconds}s` })],
      (house) => house.read('started') !== undefined,
    )
    expect(sent.json).toMatchObject({ reply: 'finished', run: { status: 'completed' } })
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    const result = house.records(id).find(({ kind }) => kind === 'tool.finished')
    expect(result).toMatchObject({ is_error: true })
    expect(JSON.stringify(result)).toMatch(/Timed out: .*some output/)
  })
})

describe.concurrent('retry', () => {
  test('repeats a failed turn', async () => {
    const house = new House({ SUBSTRAT_RETRY_DELAYS: 'none' })
    const id = await house.spawn(
      'a',
      '--option',
      house.scenario('s.json', { fail: { type: 'invalid' }, say: 'ok' }),
    )
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(9)
    expect(await house.run(['retry', 'a'])).toMatchObject({ exit: 0, stdout: 'ok\n' })
    expect(house.count(id, 'message.user')).toBe(1)
    expect(house.records(id).filter(({ kind }) => kind === 'run.started')).toMatchObject([
      { origin: 'operator' },
      { origin: 'continuation', auto: false },
    ])
  })

  test('repeats a cancelled turn with its key', async () => {
    const house = new House()
    const id = await house.spawn('a', '--option', house.scenario('s.json', { delay_ms: 3_600_000 }))
    const sender = house.start(['send', 'a', 'go', '--key', 'k'])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('cancel', 'a')
    expect((await sender.result).exit).toBe(14)
    house.scenario('s.json', { say: 'ok' })
    const again = await house.run(['send', 'a', 'go', '--key', 'k'])
    expect([again.exit, house.count(id, 'run.started')]).toEqual([14, 1])
    expect(again.stderr).toContain('to run it again: substrat retry a')
    expect((await house.run(['retry', 'a'])).stdout).toBe('ok\n')
    expect((await house.run(['send', 'a', 'go', '--key', 'k'])).stdout).toBe('ok\n')
    expect(house.count(id, 'message.user')).toBe(1)
  })

  test('is refused if the turn did not fail, or if there is none', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const early = await house.run(['retry', 'a'])
    expect(early).toMatchObject({ exit: 13, stdout: '' })
    expect(early.stderr).toContain('there is nothing to retry for a: it has had no turn yet')
    await house.ok('send', 'a', 'hello')
    const log = house.log(id)
    expect((await house.run(['retry', 'a'])).stderr).toContain('its latest turn completed')
    expect(house.log(id)).toBe(log)
  })

  test('exits 5 for a waiting turn, and runs nothing', async () => {
    const house = new House()
    await parked(house)
    expect((await house.run(['retry', 'a'])).exit).toBe(5)
    expect(ran(house)).toBe(0)
  })
})
