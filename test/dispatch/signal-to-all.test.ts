/** A signal to every process at once, as of a machine or a container that is stopped. */
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { processesWith } from '../support/processes.js'
import { waitFor } from '../support/wait.js'

const SIGNALS = [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const

/**
 * Both have it before the sender can look: it stands still meanwhile. How long a signal may come after a death is a matter
 * of test/turn/stop.test.ts.
 */
function signalBoth(program: number, sender: Running, signal: NodeJS.Signals): void {
  sender.child.kill('SIGSTOP')
  process.kill(program, signal)
  for (const each of [signal, 'SIGCONT'] as const) sender.child.kill(each)
}

async function pidIn(house: House): Promise<number> {
  await waitFor(() => house.read('pid')?.endsWith('\n') === true, 'the program')
  return Number(house.read('pid'))
}

describe.concurrent('a signal to every process', () => {
  test.each(SIGNALS)(
    '%s, of which an agent program dies, leaves its turn to the next command',
    async (signal, exit) => {
      const house = new House()
      const command = 'if [ -e pid ]; then cat; else echo $$ > pid; exec sleep 3600; fi'
      const id = await house.spawn('a', '--provider', 'exec', '--option', `command=${command}`)
      const sender = house.start(['send', 'a', 'hello', '--key', 'k'])
      signalBoth(await pidIn(house), sender, signal)
      expect((await sender.result).exit).toBe(exit)
      expect(house.records(id).findLast(({ kind }) => kind === 'run.interrupted')).toMatchObject({
        reason: 'shutdown',
      })
      expect((await house.ok('recover', '--all')).stdout).toMatch(/continued, completed/)
      const again = await house.ok('send', 'a', 'hello', '--key', 'k')
      expect(again.stdout).toMatch(/^Your previous turn was interrupted[\s\S]*\n\nhello\n$/)
      expect(house.findings(true)).toEqual([])
    },
  )

  test('which substrat receives first does not fail the program either', async () => {
    const house = new House()
    await house.spawn('a', '--provider', 'exec', '--option', 'command=echo $$ > pid; exec sleep 3600')
    const sender = house.start(['send', 'a', 'hello'])
    const program = await pidIn(house)
    sender.child.kill('SIGINT')
    await sender.says('letting the turn finish')
    process.kill(program, 'SIGINT')
    expect((await sender.result).exit).toBe(130)
    await house.ok('set', 'a', '--option', 'command=cat')
    expect((await house.ok('send', 'a', 'next')).stdout).toBe('next\n')
  })

  test('to a parent that waits for its child ends both at once, for any grace period, and both continue', async () => {
    const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '1h' })
    const ask = { name: 'send_message', input: { to: 'kid', content: 'go', wait: true } }
    const scenario = house.scenario('s.json', { tools: [ask] }, { say: 'finished' })
    const parent = await house.spawn('parent', '--option', scenario, '--allow', 'all')
    const command = 'if [ -e pid ]; then echo child; else echo $$ > pid; exec sleep 600; fi'
    const exec = ['--provider', 'exec', '--option', `command=${command}`]
    await house.spawn('kid', '--parent', 'parent', ...exec)
    const sender = house.start(['send', 'parent', 'go'])
    process.kill(await pidIn(house), 'SIGTERM')
    sender.child.kill('SIGTERM')
    expect((await sender.result).exit).toBe(143)
    expect((await house.ok('recover', '--all')).stdout).toMatch(/continued, completed/)
    expect((await house.ok('show', 'parent', '--reply')).stdout).toBe('finished\n')
    expect(house.records(parent).filter(({ kind }) => kind === 'tool.finished')).toMatchObject([
      { content: 'child', is_error: false },
    ])
    expect(house.findings(true)).toEqual([])
  })

  test('in the middle of a tool leaves a call of unknown outcome to a person, and resume tells the model', async () => {
    const house = new House()
    const tools = [{ name: 'shell', input: { command: 'echo $$ > pid; exec sleep 3600' } }]
    const scenario = house.scenario('s.json', { tools }, { say: 'finished' })
    const id = await house.spawn('a', '--option', scenario, '--allow', 'all')
    const sender = house.start(['send', 'a', 'go'])
    signalBoth(await pidIn(house), sender, 'SIGTERM')
    expect((await sender.result).exit).toBe(143)
    expect(processesWith(`SUBSTRAT_AGENT=${id}`)).toEqual([])
    expect(house.records(id).findLast(({ kind }) => kind === 'tool.finished')).toMatchObject({
      content: expect.stringMatching(/^Interrupted: .* is unknown/),
      is_error: true,
    })
    expect(house.count(id, 'model.requested')).toBe(1)
    expect((await house.run(['recover', '--all'])).exit).toBe(6)
    expect((await house.ok('resume', 'a')).stdout).toBe('finished\n')
  })
})
