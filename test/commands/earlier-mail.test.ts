/** A direct `send` after messages that the same sender queued: they run first. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { MARKS } from '../support/parked.js'
import { waitFor } from '../support/wait.js'

const QUEUED = ['--queue', '--no-drain']

async function withQueued(house: House, contents: string[], ...flags: string[]): Promise<string> {
  const id = await house.spawn('a', ...flags)
  for (const content of contents) await house.ok('send', 'a', content, ...QUEUED)
  return id
}

/** An agent whose answers are these, in order, and that has queued messages. */
function scripted(house: House, contents: string[], ...responses: object[]): Promise<string> {
  return withQueued(house, contents, '--option', house.scenario('s.json', ...responses))
}

function order(house: House, id: string): unknown[] {
  return house
    .records(id)
    .flatMap((record) =>
      (record.kind === 'message.user' && record.origin === 'operator') || record.kind === 'mail.delivered'
        ? [record.content]
        : [],
    )
}

const pending = async (house: House): Promise<unknown[]> =>
  (await house.ok('inbox', 'a', '--json')).json.messages.map(({ content }: { content: string }) => content)

const LIMITED = { fail: { type: 'rate_limit', retry_after_ms: 3_600_000, attempts: 9 } }

describe.concurrent('a direct send', () => {
  test('runs what its sender queued before first, and prints only its own reply', async () => {
    const house = new House()
    const id = await withQueued(house, ['A', 'B'])
    const sent = await house.ok('send', 'a', 'C')
    expect(sent.stdout).toBe('echo: C\n')
    expect(sent.stderr).toContain('substrat: 2 earlier messages run first (to overtake: --first)\n')
    expect(order(house, id)).toEqual(['A', 'B', 'C'])
    const { messages } = (await house.ok('inbox', '--json')).json
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['echo: A', 'echo: B'])
    expect(house.findings(true)).toEqual([])
  })

  test('overtakes them with --first; they run afterwards', async () => {
    const house = new House()
    const id = await withQueued(house, ['A', 'B'])
    const sent = await house.ok('send', 'a', 'C', '--first')
    expect(sent.stdout).toBe('echo: C\n')
    expect(sent.stderr).not.toContain('run first')
    expect(order(house, id)).toEqual(['C', 'A', 'B'])
  })

  test('waits for no message that is not due, and for none of another sender', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.spawn('b', '--parent', 'a')
    await house.ok('send', 'a', 'later', '--not-before', '1d')
    await house.ok('send', 'a', 'from b', '--from', 'a/b', '--no-drain')
    const sent = await house.ok('send', 'a', 'C')
    expect(sent.stderr).not.toContain('first')
    expect(order(house, id)).toEqual(['C', 'from b'])
  })

  test('is not held up by an earlier one that fails, whose failure does not decide its exit', async () => {
    const house = new House()
    const id = await scripted(house, ['A'], { fail: { type: 'crashed', attempts: 1 }, say: 'fine' })
    expect(await house.ok('send', 'a', 'C')).toMatchObject({ stdout: 'fine\n' })
    expect(house.count(id, 'run.failed')).toBe(1)
    expect(order(house, id)).toEqual(['A', 'C'])
  })

  test('streams only its own turn', async () => {
    const house = new House()
    const id = await withQueued(house, ['A'])
    const { stdout } = await house.ok('send', 'a', 'C', '--stream')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const [, own] = house.records(id).filter(({ kind }) => kind === 'run.started')
    const runs = new Set(lines.flatMap(({ run_id }) => (run_id === undefined ? [] : [run_id])))
    expect([...runs]).toEqual([(own as { run_id: string }).run_id])
    expect(lines.some(({ kind, partial }) => kind === 'message.agent' && partial !== true)).toBe(true)
  })
})

describe.concurrent('a direct send whose earlier message', () => {
  test('parks is refused with exit 5: nothing of it is stored, and it replaces no turn', async () => {
    const house = new House()
    const id = await scripted(house, ['A', 'B'], { tools: [MARKS] }, { say: 'finished' })
    const sent = await house.run(['send', 'a', 'C', '--print-token'])
    expect(sent).toMatchObject({ exit: 5, stdout: '' })
    expect(sent.stderr).toMatch(
      /the message was not delivered: an earlier turn \([0-9a-f]{8}\) is waiting since /,
    )
    expect(sent.stderr).toContain('--if-waiting queue stores it behind that turn')
    // Nothing but this command prints the token of that turn.
    expect(sent.stderr).toMatch(/^substrat: token st_/m)
    expect(house.count(id, 'run.cancelled')).toBe(0)
    expect(order(house, id)).toEqual(['A'])
    expect(await pending(house)).toEqual(['B'])
    expect((await house.ok('show', 'a', '--json')).json.agent.status).toBe('waiting')
  })

  test('parks is queued behind it with --if-waiting queue', async () => {
    const house = new House()
    const id = await scripted(house, ['A', 'B'], { tools: [MARKS] }, { say: 'finished' })
    const sent = await house.ok('send', 'a', 'C', '--if-waiting', 'queue')
    expect(sent.stderr).toMatch(/queued as message \S+; a will run it after the turn that is waiting/)
    expect(await pending(house)).toEqual(['B', 'C'])
    await house.ok('approve', 'a')
    expect(order(house, id)).toEqual(['A', 'B', 'C'])
  })

  test('is limited by the provider is refused with exit 7', async () => {
    const house = new House()
    const id = await scripted(house, ['A'], LIMITED)
    const sent = await house.run(['send', 'a', 'C', '--json'])
    expect([sent.exit, sent.json.run, sent.json.wait.kind]).toEqual([7, null, 'not_before'])
    expect(order(house, id)).toEqual(['A'])
    expect(await pending(house)).toEqual([])
  })

  test('is cancelled still has its turn', async () => {
    const house = House.ofProcesses()
    const id = await scripted(
      house,
      ['A', 'B'],
      { after_file: 'go', say: 'never' },
      { say: 'b' },
      { say: 'c' },
    )
    const sending = house.start(['send', 'a', 'C'])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('cancel', 'a')
    house.write('go', '')
    expect(await sending.result).toMatchObject({ exit: 0 })
    expect(order(house, id)).toEqual(['A', 'B', 'C'])
  })

  test('is suspended is refused with exit 6', async () => {
    const house = House.ofProcesses()
    const id = await scripted(house, ['A', 'B'], { after_file: 'go', say: 'never' })
    const sending = house.start(['send', 'a', 'C'])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('suspend', 'a')
    const sent = await sending.result
    expect(sent).toMatchObject({ exit: 6, stdout: '' })
    expect(sent.stderr).toContain(
      'a was suspended before the message was delivered; the message was not stored',
    )
    expect(order(house, id)).toEqual(['A'])
    expect(await pending(house)).toEqual(['B'])
  })

  test.each([
    ['fail', 13],
    ['queue', 0],
  ])('is followed by a gate: with --if-busy %s it ends with %i', async (how, exit) => {
    const house = House.ofProcesses()
    const id = await scripted(house, ['A'], { after_file: 'go', say: 'a' }, { say: 'c' })
    const sending = house.start(['send', 'a', 'C', '--if-busy', how])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('gate', 'a')
    house.write('go', '')
    expect(await sending.result).toMatchObject({ exit, stdout: '' })
    expect(order(house, id)).toEqual(['A'])
    expect(await pending(house)).toEqual(how === 'queue' ? ['C'] : [])
    await house.ok('ungate', 'a')
    expect(order(house, id)).toEqual(how === 'queue' ? ['A', 'C'] : ['A'])
  })

  test('died with the command is continued, in order, by the next send', async () => {
    const house = House.ofProcesses()
    const id = await scripted(house, ['A', 'B'], { delay_ms: 3_600_000 })
    const sending = house.start(['send', 'a', 'C'])
    await house.waitForRecord(id, 'model.requested')
    await sending.kill()
    house.scenario('s.json', { say: 'a' }, { say: 'b' }, { say: 'c' })
    expect(await house.ok('send', 'a', 'C')).toMatchObject({ stdout: 'c\n' })
    expect(order(house, id)).toEqual(['A', 'B', 'C'])
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('--if-busy queue', () => {
  test('stores the message before an earlier one begins, and runs it last', async () => {
    const house = House.ofProcesses()
    const id = await scripted(house, ['A'], { after_file: 'go', say: 'a' }, { say: 'c' })
    const sending = house.start(['send', 'a', 'C', '--if-busy', 'queue', '--no-drain'])
    await house.waitForRecord(id, 'model.requested')
    await sending.says('queued as message ')
    expect(await pending(house)).toEqual(['C'])
    house.write('go', '')
    expect(await sending.result).toMatchObject({ exit: 0, stdout: '' })
    expect(order(house, id)).toEqual(['A', 'C'])
    expect(house.findings(true)).toEqual([])
  })

  test('stores the message before an interrupted turn continues', async () => {
    const house = House.ofProcesses()
    const id = await scripted(house, [], { delay_ms: 3_600_000 })
    const first = house.start(['send', 'a', 'A'])
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    house.scenario('s.json', { after_file: 'go', say: 'a' }, { say: 'c' })
    const sending = house.start(['send', 'a', 'C', '--key', 'k', '--if-busy', 'queue'])
    await waitFor(() => house.count(id, 'model.requested') === 2, 'the turn that continues')
    expect(await pending(house)).toEqual(['C'])
    house.write('go', '')
    expect(await sending.result).toMatchObject({ exit: 0 })
    expect(order(house, id)).toEqual(['A', 'C'])
    expect(await house.ok('send', 'a', 'C', '--key', 'k')).toMatchObject({ stdout: 'c\n' })
  })

  test('with --first stores nothing ahead', async () => {
    const house = new House()
    const id = await withQueued(house, ['A'])
    expect((await house.ok('send', 'a', 'C', '--if-busy', 'queue', '--first')).stdout).toBe('echo: C\n')
    expect(order(house, id)).toEqual(['C', 'A'])
  })
})

describe.concurrent('--if-waiting supersede', () => {
  test('lets the first of the earlier messages replace a turn that waited before', async () => {
    const house = new House()
    const id = await scripted(house, [], { tools: [MARKS] }, { say: 'b' }, { say: 'c' })
    expect((await house.run(['send', 'a', 'parks'])).exit).toBe(5)
    await house.ok('send', 'a', 'B', ...QUEUED)
    const sent = await house.ok('send', 'a', 'C')
    expect(sent.stderr).toContain('gave up the pending approval')
    expect(sent.stderr).toContain('your earlier message starts a new turn')
    expect(order(house, id)).toEqual(['parks', 'B', 'C'])
    expect(house.records(id)).toContainEqual(
      expect.objectContaining({ kind: 'run.cancelled', reason: 'superseded' }),
    )
  })

  test('does not replace the turn of such a message, if that parks too', async () => {
    const house = new House()
    const id = await scripted(house, [], { tools: [MARKS] }, { tools: [MARKS] })
    expect((await house.run(['send', 'a', 'parks'])).exit).toBe(5)
    await house.ok('send', 'a', 'B', ...QUEUED)
    expect((await house.run(['send', 'a', 'C'])).exit).toBe(5)
    expect(order(house, id)).toEqual(['parks', 'B'])
    expect(house.count(id, 'run.cancelled')).toBe(1)
  })

  test('does not replace an interrupted turn that the command continues and that then parks', async () => {
    const house = House.ofProcesses()
    const id = await scripted(house, [], { delay_ms: 3_600_000 })
    const first = house.start(['send', 'a', 'one'])
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    house.scenario('s.json', { tools: [MARKS] })
    expect((await house.run(['send', 'a', 'two'])).exit).toBe(5)
    expect([order(house, id), house.count(id, 'run.cancelled')]).toEqual([['one'], 0])
  })
})

describe.concurrent('a send with a key', () => {
  test('that ended before returns its outcome and runs nothing', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'K', '--key', 'k')
    await house.ok('send', 'a', 'A', ...QUEUED)
    expect(await house.ok('send', 'a', 'K', '--key', 'k')).toMatchObject({ stdout: 'echo: K\n' })
    expect([order(house, id), await pending(house)]).toEqual([['K'], ['A']])
  })

  test('that was queued itself keeps that place, and runs once', async () => {
    const house = new House()
    const id = await withQueued(house, ['A'])
    await house.ok('send', 'a', 'K', '--key', 'k', ...QUEUED)
    await house.ok('send', 'a', 'B', ...QUEUED)
    expect(await house.ok('send', 'a', 'K', '--key', 'k')).toMatchObject({ stdout: 'echo: K\n' })
    expect(order(house, id)).toEqual(['A', 'K', 'B'])
  })

  test('conflicts with another message that was queued with it before', async () => {
    const house = new House()
    const id = await house.spawn('a')
    await house.ok('send', 'a', 'other', '--key', 'k', ...QUEUED)
    const sent = await house.run(['send', 'a', 'K', '--key', 'k', '--json'])
    expect([sent.exit, sent.json.error.code]).toEqual([13, 'KEY_CONFLICT'])
    expect(order(house, id)).toEqual(['other'])
  })
})

test('spawn with a prompt into a name runs what was queued before first', async () => {
  const house = new House()
  const id = await withQueued(house, ['A'])
  expect((await house.ok('spawn', 'C', '--name', 'a', '--if-exists', 'use')).stdout).toBe('echo: C\n')
  expect(order(house, id)).toEqual(['A', 'C'])
})
