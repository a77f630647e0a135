/** Children of two parents have the same name, so messages and the commands that they advise need the path. */
import { expect, test } from 'vitest'
import { type ErrorCode, EXIT_STATUS } from '../../src/errors.js'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { MARKS } from '../support/parked.js'

interface Row {
  title: string
  /** The first turn of the child. */
  turn?: object
  /** Commands before the one that fails. */
  before?: string[][]
  args: string[]
  code: ErrorCode
}

const SENDS = ['send', 'lead/tests', 'go']

const ROWS: Row[] = [
  { title: 'a turn that waits for approval', turn: { tools: [MARKS] }, args: SENDS, code: 'WAITING' },
  {
    title: 'a turn that waits for an answer',
    turn: { tools: [{ name: 'ask_operator', input: { question: 'Which?' } }] },
    args: SENDS,
    code: 'WAITING',
  },
  {
    title: 'a rate limit',
    turn: { fail: { type: 'rate_limit', retry_after_ms: 60_000 } },
    args: SENDS,
    code: 'NOT_BEFORE',
  },
  { title: 'a failed turn', turn: { fail: { type: 'crashed' } }, args: SENDS, code: 'PROVIDER_FAILED' },
  {
    title: 'a failed login',
    turn: { fail: { type: 'authentication' } },
    args: SENDS,
    code: 'PROVIDER_MISCONFIGURED',
  },
  {
    title: 'a parked turn before a message',
    turn: { tools: [MARKS] },
    before: [SENDS],
    args: ['send', 'lead/tests', 'again', '--if-waiting', 'fail'],
    code: 'WAITING',
  },
  {
    title: 'a cancelled turn',
    turn: { tools: [MARKS] },
    before: [SENDS, ['cancel', 'lead/tests']],
    args: ['wait', 'lead/tests'],
    code: 'CANCELLED',
  },
  { title: 'a gate', before: [['gate', 'lead/tests']], args: SENDS, code: 'GATED' },
  { title: 'a hold', before: [['suspend', 'lead/tests', '--hold']], args: SENDS, code: 'ON_HOLD' },
  { title: 'a retry of nothing', args: ['retry', 'lead/tests'], code: 'SESSION_STATE' },
  { title: 'an approval of nothing', args: ['approve', 'lead/tests'], code: 'SESSION_STATE' },
  {
    title: 'an entry that is not allowed',
    args: ['set', 'lead/tests', '--disallow', 'shell'],
    code: 'USAGE',
  },
]

test.concurrent.each(ROWS)(
  '$title is reported with the path of the child',
  async ({ turn, before = [], args, code }) => {
    const house = await twins(turn)
    for (const each of before) await house.run(each)
    const ended = await house.run(args, { env: { SUBSTRAT_RETRY_DELAYS: 'none' } })
    expect(ended.exit, ended.stderr).toBe(EXIT_STATUS[code])
    expectPath(ended.stderr)
  },
)

test('a token that was replaced, and an agent that another process holds, are reported with the path of the child', async () => {
  const house = await twins({ tools: [MARKS] })
  await house.run(SENDS)
  const rotated = async () => (await house.ok('token', 'rotate', 'lead/tests', '--json')).json.wait.token
  const old = await rotated()
  await rotated()
  const { exit, stderr } = await house.run(['resume', 'lead/tests', '--token', old, '--approve'])
  expect(exit, stderr).toBe(EXIT_STATUS.TOKEN_REVOKED)
  expectPath(stderr)

  const gate = new Gate(house, 'g')
  await house.spawn('held', '--parent', 'lead', ...gate.flags)
  await house.spawn('held', '--parent', 'other', ...gate.flags)
  const sender = house.start(['send', 'lead/held', 'go'])
  await gate.isReached()
  const busy = await house.run(['send', 'lead/held', 'too', '--if-busy', 'fail'])
  expect(busy.exit, busy.stderr).toBe(EXIT_STATUS.LOCKED)
  expect(busy.stderr).toContain('substrat show lead/held')
  gate.open()
  await sender.result
})

async function twins(turn: object = { say: 'done' }): Promise<House> {
  const house = new House()
  const option = house.scenario('s.json', turn, { say: 'done' })
  for (const parent of ['lead', 'other']) {
    await house.spawn(parent)
    await house.spawn('tests', '--parent', parent, '--option', option)
  }
  return house
}

function expectPath(stderr: string): void {
  expect(stderr).toContain('lead/tests')
  expect(stderr.replaceAll('lead/tests', '')).not.toMatch(/\btests\b/)
}
