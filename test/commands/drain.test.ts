/** The turns that a command runs besides its own: in parallel, and none with --no-drain. Their bound is in test/dispatch/deliveries.test.ts. */
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'

const ask = (to: string): object => ({ name: 'send_message', input: { to, content: 'work' } })

/** A lead with one slow child and ten quick ones. Its first turn writes to all of them, the slow one first. */
async function team(house: House): Promise<{ lead: string; slow: string; quick: string[]; gate: Gate }> {
  const names = ['slow', ...Array.from({ length: 10 }, (_, n) => `quick${n}`)]
  const scenario = house.scenario('lead.json', { tools: names.map(ask) }, { say: 'asked' })
  const lead = await house.spawn('lead', '--option', scenario, '--allow', 'tree')
  const gate = new Gate(house, 'slow')
  const slow = await house.spawn('slow', '--parent', 'lead', ...gate.flags)
  const soon = house.scenario('quick.json', { say: 'soon' })
  const quick: string[] = []
  for (const name of names.slice(1)) quick.push(await house.spawn(name, '--parent', 'lead', '--option', soon))
  return { lead, slow, quick, gate }
}

/** Waits until the quick children are done while the slow turn runs, then lets the slow turn end. */
async function expectUndelayed(
  house: House,
  { slow, quick, gate }: Awaited<ReturnType<typeof team>>,
): Promise<void> {
  await gate.isReached()
  for (const id of quick) await house.waitForRecord(id, 'run.completed')
  expect(house.count(slow, 'run.completed')).toBe(0)
  gate.open()
}

describe('one slow turn delays no other agent', () => {
  test('when one deliver --all runs them', async () => {
    const house = new House()
    const all = await team(house)
    const { lead, slow, quick } = all
    expect((await house.run(['send', 'lead', 'go', '--no-drain'])).exit).toBe(0)
    for (const id of [slow, ...quick]) expect(house.inbox(id)).toHaveLength(1)
    const delivery = house.run(['deliver', '--all'])
    await expectUndelayed(house, all)
    expect((await delivery).exit).toBe(0)
    expect(house.inbox(lead)).toEqual([])
  })

  test('when one send causes them', async () => {
    const house = new House()
    const all = await team(house)
    const { lead } = all
    const sending = house.run(['send', 'lead', 'go'])
    await expectUndelayed(house, all)
    expect(await sending).toMatchObject({ exit: 0, stdout: 'asked\n' })
    // All replies have arrived, the slow one last.
    const replies = house
      .records(lead)
      .flatMap((record) => (record.kind === 'mail.delivered' ? [record] : []))
    expect(replies.map(({ mail_kind }) => mail_kind)).toEqual(Array(11).fill('response'))
    expect(replies.at(-1)?.content).toMatch(/^done: /)
    expect(house.findings(true)).toEqual([])
  })
})

describe.concurrent('--no-drain', () => {
  test('runs only the agent itself, and deliver does the rest', async () => {
    const house = new House()
    const scenario = house.scenario('s.json', { tools: [ask('child')] }, { say: 'asked' }, { say: 'thanks' })
    const lead = await house.spawn('lead', '--option', scenario, '--allow', 'tree')
    const child = await house.spawn('child', '--parent', 'lead', '--provider', 'scripted')
    const sent = await house.run(['send', 'lead', 'go', '--no-drain'])
    expect(sent).toMatchObject({ exit: 0, stdout: 'asked\n', stderr: '' })
    expect(house.count(child, 'run.started')).toBe(0)
    expect(house.inbox(child)).toHaveLength(1)
    expect((await house.run(['deliver', '--all'])).exit).toBe(0)
    expect((await house.ok('show', 'lead', '--reply')).stdout).toBe('thanks\n')
    expect([...house.inbox(lead), ...house.inbox(child)]).toEqual([])
  })

  test('still delivers mail that came during its turn: its sender found the agent busy and left', async () => {
    const house = new House()
    const slow = house.scenario('s.json', { after_file: 'go', say: 'one' }, { say: 'two' })
    const id = await house.spawn('a', '--option', slow)
    const holder = house.start(['send', 'a', 'hi', '--no-drain'])
    await house.waitForRecord(id, 'model.requested')
    await house.ok('send', 'a', 'you are busy', '--queue')
    house.write('go', '')
    expect((await holder.result).exit).toBe(0)
    expect(house.count(id, 'run.completed')).toBe(2)
    expect(house.inbox(id)).toEqual([])
  })
})

describe.concurrent('a message that comes during a turn', () => {
  test('gets its own turn afterwards', async () => {
    const house = new House()
    const slow = house.scenario('s.json', { after_file: 'go', say: 'one' }, { say: 'two' }, { say: 'three' })
    const id = await house.spawn('a', '--option', slow)
    const holder = house.start(['send', 'a', 'first'])
    await house.waitForRecord(id, 'model.requested')
    for (const text of ['second', 'third']) await house.ok('send', 'a', text, '--queue')
    house.write('go', '')
    expect(await holder.result).toMatchObject({ exit: 0, stdout: 'one\n' })
    const told = house
      .records(id)
      .filter(({ kind }) => ['run.started', 'message.user', 'mail.delivered', 'run.completed'].includes(kind))
      .map((record) => ('content' in record ? record.content : record.kind))
    const turn = (content: string): string[] => ['run.started', content, 'run.completed']
    expect(told).toEqual([...turn('first'), ...turn('second'), ...turn('third')])
    await waitFor(() => house.inbox(id).length === 0, 'the inbox')
  })
})
