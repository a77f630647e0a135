/** Node's inspector: it would show the keys in the environment to every user of the machine. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { msOf, SHARES } from '../support/moments.js'
import { waitFor } from '../support/wait.js'

const OPENED = 'Debugger listening'

describe.concurrent('SIGUSR1', () => {
  test('in the middle of a turn opens no inspector, and the turn goes on', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const running = house.start(['send', 'a', 'hi'])
    await gate.isReached()
    for (let round = 0; round < 3; round++) running.child.kill('SIGUSR1')
    gate.open()
    const { exit, stdout, stderr } = await running.result
    expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: 'done: hi\n' })
    expect(stderr).not.toContain(OPENED)
  })

  test('opens none in substrat mcp', async () => {
    const house = new House()
    const running = house.start(['mcp'], { stdin: 'open' })
    running.child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    await waitFor(() => running.stdout.includes('Refused'), 'the answer of the bridge')
    running.child.kill('SIGUSR1')
    running.child.stdin?.end()
    const { exit, stderr } = await running.result
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  })

  test('at any moment of the start ends the command, or changes nothing', async () => {
    const house = new House()
    await house.ok('list')
    const command = ['config', 'get', 'slots_max']
    const takesMs = await msOf(house, ...command)
    for (const share of [0, 0.1, 0.2, 0.3, ...SHARES]) {
      const running = house.start(command)
      await sleep(share * takesMs)
      running.child.kill('SIGUSR1')
      const { exit, stdout, stderr } = await running.result
      const isRefused = exit === 1 && stdout === '' && stderr.includes('refused to run')
      // Before Node has its own handler the signal ends the process.
      const isKilled = exit >= 128 && stdout === ''
      const isDone = exit === 0 && !stderr.includes(OPENED)
      expect({ share, exit, stderr, isWell: isRefused || isKilled || isDone }).toMatchObject({
        isWell: true,
      })
    }
  })
})

describe.concurrent('an inspector that is open', () => {
  const open = `data:text/javascript,process.getBuiltinModule('node:inspector').open(0)`

  test.for([['list'], ['mcp']])('by itself keeps %s from doing anything', async (args) => {
    const house = new House({ SECRET_API_KEY: 'sk-secret' })
    const [node, ...words] = house.command(...args)
    const { exit, stdout, stderr } = await house.launch([node, '--import', open, ...words]).result
    expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
    expect(stderr).toContain(
      "substrat: refused to run: a SIGUSR1 has opened Node's inspector (ws://127.0.0.1:",
    )
    expect(house.exists()).toBe(false)
  })

  test('that its user asked for is allowed', async () => {
    const house = new House()
    const [node, ...words] = house.command('list')
    expect((await house.launch([node, '--inspect=0', ...words]).result).exit).toBe(0)
  })
})
