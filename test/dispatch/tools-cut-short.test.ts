/** A turn that is stopped or killed while a tool runs: by a signal to its process, or with SIGKILL. */
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { isAlive, processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const ENDLESS = ': > started; sleep 3600'

async function inTool(
  house: House,
  command: string,
  ...flags: string[]
): Promise<{ id: string; sender: Running }> {
  const tools = [{ name: 'shell', input: { command } }]
  const id = await house.spawn(
    'a',
    '--option',
    house.scenario('s.json', { tools }, { say: 'finished' }),
    '--allow',
    'all',
  )
  const sender = house.start(['send', 'a', 'go', ...flags])
  await waitFor(() => house.read('started') !== undefined, 'the tool')
  return { id, sender }
}

/** The one result of the one call, as the model is given it. */
function results(house: House, id: string): object[] {
  return house.records(id).filter(({ kind }) => kind === 'tool.finished')
}

describe.concurrent('a signal during a tool', () => {
  test('lets the tool and the turn finish within the grace: the reply, and exit 0', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ': > started; until [ -e go ]; do sleep 0.02; done; echo done')
    sender.child.kill('SIGTERM')
    await sender.says('SIGTERM: letting the turn finish')
    house.write('go', '')
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(results(house, id)).toMatchObject([{ content: 'done\n', is_error: false }])
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    '%s twice stops it: the result is recorded as interrupted, and a person decides how it goes on',
    async (signal, exit) => {
      const house = new House()
      const { id, sender } = await inTool(house, ENDLESS)
      sender.child.kill(signal)
      await sender.says('again to stop now')
      sender.child.kill(signal)
      const stopped = await sender.result
      expect(stopped.exit).toBe(exit)
      expect(stopped.stderr).toMatch(
        /is interrupted and saved; a tool call was interrupted, and its outcome is unknown \(see what it did: substrat log a; /,
      )
      expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
      expect(results(house, id)).toMatchObject([
        { content: 'Interrupted: the turn was stopped.', is_error: true },
      ])
      expect((await house.ok('list', '--json')).json.agents[0].status).toBe('interrupted_startup')
      expect((await house.run(['recover', '--all'])).exit).toBe(6)
      expect((await house.run(['send', 'a', 'more'])).exit).toBe(6)
      expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
      expect(results(house, id)).toHaveLength(1)
      expect(house.findings(true)).toEqual([])
    },
  )

  test('past the grace stops it as well', async () => {
    const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '50ms' })
    const { sender } = await inTool(house, ENDLESS)
    sender.child.kill('SIGTERM')
    expect((await sender.result).exit).toBe(143)
  })
})

describe.concurrent('a turn that is killed during a tool', () => {
  test('is, by default, left to a person: exit 6 each time, and resume hands the outcome to the model', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ENDLESS)
    const left = processesWith(`SUBSTRAT_AGENT=${id}`).filter((pid) => pid !== sender.pid)
    await sender.kill()
    expect(left).not.toEqual([])
    // Its leash killed it: no command has run since.
    await waitFor(() => !left.some(isAlive), 'the end of what the dead process had left')
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect(results(house, id)).toMatchObject([{ is_error: true }])
    expect(house.records(id).find(({ kind }) => kind === 'run.interrupted')).toMatchObject({
      reason: 'unknown_tool',
    })
    const shown = await house.ok('show', 'a')
    expect(shown.stdout).toMatch(/^status +interrupted$/m)
    expect(shown.stdout).toMatch(
      /^next +see what it did: substrat log a; then continue the turn: substrat resume a; or /m,
    )
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(results(house, id)).toHaveLength(1)
    expect(house.findings(true)).toEqual([])
  })

  test('is left to a person by a repeated key, by another message and by mail, and nothing runs', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ENDLESS, '--key', 'k')
    await sender.kill()
    const decide =
      /see what it did: substrat log a; then continue the turn: substrat resume a; or give it up: substrat cancel a/
    for (const retry of [[], ['--retry'], []]) {
      const again = await house.run(['send', 'a', 'go', '--key', 'k', ...retry])
      expect([again.exit, again.stdout]).toEqual([6, ''])
      expect(again.stderr).toMatch(decide)
    }
    const other = await house.run(['send', 'a', 'another', '--json'])
    expect([other.exit, other.json.error.code]).toEqual([6, 'OUTCOME_UNKNOWN'])
    expect(other.json.error.message).toMatch(/its outcome is unknown; the message was not stored$/)
    expect((await house.ok('send', 'a', 'by mail', '--queue')).stderr).toMatch(
      /once you resume or cancel its interrupted turn/,
    )
    expect((await house.run(['deliver', 'a'])).exit).toBe(6)
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect([house.count(id, 'message.user'), house.count(id, 'model.requested')]).toEqual([1, 1])
    expect((await house.ok('show', 'a', '--json')).json).toMatchObject({
      next: 'substrat resume a',
      agent: { refused: [{ cause: 'unknown_tool' }] },
    })
    expect(await house.run(['resume', 'a'])).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(house.count(id, 'mail.delivered')).toBe(1)
    expect((await house.ok('send', 'a', 'go', '--key', 'k')).stdout).toBe('finished\n')
    expect(house.findings(true)).toEqual([])
  })

  test('lets later messages run once it is given up', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ENDLESS)
    await sender.kill()
    expect((await house.run(['send', 'a', 'another'])).exit).toBe(6)
    expect((await house.ok('cancel', 'a')).exit).toBe(0)
    expect((await house.run(['send', 'a', 'another'])).exit).toBe(0)
    expect(results(house, id)).toHaveLength(1)
  })

  test('is continued before another message with --if-unknown continue', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ENDLESS)
    await sender.kill()
    expect((await house.run(['send', 'a', 'another', '--if-unknown', 'continue'])).exit).toBe(0)
    expect([house.count(id, 'run.completed'), house.count(id, 'run.cancelled')]).toEqual([2, 0])
  })

  test('is continued by its key with --if-unknown continue: the message is not asked twice', async () => {
    const house = new House()
    const { id, sender } = await inTool(house, ENDLESS, '--key', 'k')
    await sender.kill()
    const again = ['send', 'a', 'go', '--key', 'k', '--if-unknown', 'continue']
    expect(await house.run(again)).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(house.count(id, 'message.user')).toBe(1)
    expect(results(house, id)).toMatchObject([{ is_error: true }])
    expect(await house.run(again)).toMatchObject({ exit: 0, stdout: 'finished\n' })
    expect(house.findings(true)).toEqual([])
  })

  test('continues by itself with recovery.unknown_tool continue, and the model receives a notice', async () => {
    const house = new House({ SUBSTRAT_RECOVERY_UNKNOWN_TOOL: 'continue' })
    const { id, sender } = await inTool(house, ENDLESS)
    await sender.kill()
    expect((await house.ok('recover', '--all')).stdout).toMatch(
      /continued, completed \[E: tool started, no result\]/,
    )
    expect(results(house, id)).toMatchObject([{ is_error: true }])
    expect(house.count(id, 'message.notice')).toBe(1)
    expect(house.count(id, 'run.interrupted')).toBe(0)
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
  })
})

test('a message that a killed turn sent is not sent again by the run that continues it', async () => {
  const house = new House()
  const scenario = (name: string, ...responses: object[]): string => house.scenario(name, ...responses)
  const ask = { name: 'send_message', input: { to: 'child', content: 'how far?', wait: true } }
  await house.spawn(
    'parent',
    '--option',
    scenario('p.json', { tools: [ask] }, { say: 'ok' }),
    '--allow',
    'tree',
  )
  const slow = scenario('c.json', { after_file: 'go', say: 'done' })
  const child = await house.spawn('child', '--parent', 'parent', '--option', slow)
  const sender = house.start(['send', 'parent', 'go'])
  await waitFor(() => house.count(child, 'model.requested') > 0, 'the turn of the child')
  await sender.kill()
  house.write('go', '')
  // Ends the run as interrupted, with its call begun: another run finishes that.
  await house.run(['recover', 'parent', '--continue', 'none'])
  expect(await house.run(['resume', 'parent'])).toMatchObject({ exit: 0, stdout: 'ok\n' })
  await house.run(['recover', '--all', '--continue', 'all'])
  expect(house.count(child, 'mail.delivered')).toBe(1)
  expect(house.findings(true)).toEqual([])
})

test('a reply that came meanwhile is the result of the call that is run again, and leaves the inbox', async () => {
  const house = new House()
  const ask = { name: 'send_message', input: { to: 'child', content: 'how far?', wait: true } }
  const asks = house.scenario('p.json', { tools: [ask] }, { say: 'ok' })
  const parent = await house.spawn('parent', '--option', asks, '--allow', 'tree')
  const slow = house.scenario('c.json', { after_file: 'go', say: 'done' })
  const child = await house.spawn('child', '--parent', 'parent', '--option', slow)
  const sender = house.start(['send', 'parent', 'go'])
  await waitFor(() => house.count(child, 'model.requested') > 0, 'the turn of the child')
  await sender.kill()
  await house.ok('suspend', 'parent', '--hold')
  house.write('go', '')
  // Its parent is on hold, and is left as it is: exit 6.
  await house.run(['deliver', 'child'])
  expect(await house.run(['resume', 'parent'])).toMatchObject({ exit: 0, stdout: 'ok\n' })
  expect(results(house, parent)).toMatchObject([{ content: 'done', is_error: false }])
  expect(house.findings(true)).toEqual([])
})
