/** The usage of agent programs' turns, however the turns end: in the log, in the snapshot, and in `usage`. */
import { describe, expect, test } from 'vitest'
import { NativeHouse } from '../support/native.js'
import { waitFor } from '../support/wait.js'

const ASKING = { type: 'wait', kind: 'approval', asks: [{ call_id: 'n1', tool: 'Bash', input: {} }] }
const DONE = { type: 'done', reply: 'installed' }
const PART = { input_tokens: 10, output_tokens: 2, cache_read_tokens: 4, reasoning_tokens: 1, cost_usd: 0.25 }
const MODELS = [{ model: 'large', ...PART }]
/** The program reports the usage and the model of its turn. */
const USED = { type: 'usage', usage: PART, models: MODELS }
const LAUNCH = { launch: 'true' }
const HANG = [LAUNCH, USED, { launch: 'touch used' }, { hang: true }]

function times(count: number): object {
  return Object.fromEntries(Object.entries(PART).map(([field, tokens]) => [field, tokens * count]))
}

async function newHouse(...turns: object[][]): Promise<{ house: NativeHouse; id: string }> {
  const house = new NativeHouse()
  house.turns(...turns)
  return { house, id: await house.spawn('a', '--provider', 'native') }
}

/** The usage of so many turns is counted, by the snapshot and by the log, and all of it is of the model. */
async function expectCounted(house: NativeHouse, count: number): Promise<void> {
  const { json } = await house.ok('usage', '--json')
  expect(json.total).toMatchObject(times(count))
  for (const by of ['agent', 'model', 'day']) {
    const read = (await house.ok('usage', '--since', '2020-01-01', '--by', by, '--json')).json
    expect(read.total).toEqual(json.total)
  }
  const { rows } = (await house.ok('usage', '--by', 'model', '--json')).json
  expect(rows).toMatchObject([{ model: 'large', ...times(count) }])
  expect(house.findings(true)).toEqual([])
}

/** The record of that kind has the usage of one turn. */
function expectIn(house: NativeHouse, id: string, kind: string): void {
  const record = house.records(id).find((each) => each.kind === kind)
  expect(record).toMatchObject({ usage: PART, models: MODELS })
}

describe.concurrent('the usage of a turn of an agent program', () => {
  test('that waits for approval is in its wait, and the rest of the turn is counted once', async () => {
    const { house, id } = await newHouse([LAUNCH, USED, ASKING], [LAUNCH, USED, DONE])
    expect((await house.run(['send', 'a', 'install it'])).exit).toBe(5)
    expectIn(house, id, 'run.waiting')
    await expectCounted(house, 1)
    // A new token writes the wait again.
    await house.ok('token', 'rotate', 'a')
    expect(house.count(id, 'run.waiting')).toBe(2)
    await expectCounted(house, 1)
    await house.ok('approve', 'a')
    await expectCounted(house, 2)
  })

  test('that is rate limited is in its wait', async () => {
    const limit = { type: 'rate_limit', message: 'usage limit reached', retry_after_ms: 3_600_000 }
    const { house, id } = await newHouse([LAUNCH, USED, { fail: limit }])
    expect((await house.run(['send', 'a', 'install it'])).exit).toBe(7)
    expectIn(house, id, 'run.waiting')
    await expectCounted(house, 1)
  })

  test('that fails is in its end', async () => {
    const { house, id } = await newHouse([LAUNCH, USED, { fail: { type: 'invalid', message: 'no' } }])
    expect((await house.run(['send', 'a', 'install it'])).exit).toBe(9)
    expectIn(house, id, 'run.failed')
    await expectCounted(house, 1)
  })

  test.each([
    ['cancelled', 'cancel', 'run.cancelled'],
    ['suspended', 'suspend', 'run.interrupted'],
  ])('that is %s is in its end', async (_, command, kind) => {
    const { house, id } = await newHouse(HANG)
    const sender = house.start(['send', 'a', 'install it'])
    await waitFor(() => house.read('used') !== undefined, 'the usage')
    await house.ok(command, 'a')
    await sender.result
    expectIn(house, id, kind)
    await expectCounted(house, 1)
  })

  test('whose program is killed is in its interruption, and its continuation is counted once', async () => {
    const fail = { type: 'crashed', message: 'it exited 0', ended_early: true }
    const { house, id } = await newHouse([LAUNCH, USED, { fail }], [LAUNCH, USED, DONE])
    await house.run(['send', 'a', 'install it'])
    expectIn(house, id, 'run.interrupted')
    await house.run(['resume', 'a'])
    expect(house.count(id, 'run.completed')).toBe(1)
    await expectCounted(house, 2)
  })

  test.each([
    ['had not finished is in its interruption', undefined, 'run.interrupted', 2],
    ['had finished is in its reply', 'from the store', 'message.agent', 1],
  ])(
    'whose substrat is killed comes from the store; that of a program that %s',
    async (_, reply, kind, turns) => {
      const { house, id } = await newHouse(HANG, [LAUNCH, USED, DONE])
      const killed = house.start(['send', 'a', 'install it'])
      await waitFor(() => house.read('used') !== undefined, 'the usage')
      await killed.kill()
      house.write('spent', JSON.stringify({ usage: PART, models: MODELS }))
      if (reply !== undefined) house.write('finished', reply)
      await house.ok('recover', '--all')
      expect(house.inspections()).toBe(1)
      expectIn(house, id, kind)
      expect(house.count(id, 'run.completed')).toBe(1)
      await expectCounted(house, turns)
      // Nothing is left to count.
      await house.ok('recover', '--all')
      await expectCounted(house, turns)
    },
  )
})
