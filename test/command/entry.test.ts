/** The end of the process after its command. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { modelProvider } from '../support/plugin.js'
import { waitFor } from '../support/wait.js'

const ANSWER = `yield { type: 'text', text: 'done' }; yield { type: 'stop', reason: 'end' }`

function houseWith(body: string): House {
  const house = House.ofProcesses()
  house.plugin('test', modelProvider(body))
  return house
}

test('a timer, connection or turn that a provider leaves does not keep the process alive', async () => {
  const house = houseWith(`setInterval(() => undefined, 1000); ${ANSWER}`)
  const { exit, stdout, stderr } = await house.run(['spawn', 'hi', '--provider', 'test'])
  expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: 'done\n' })
})

test.concurrent.for([
  ['takes no notice of its end', 'await new Promise(() => setInterval(() => undefined, 1000))'],
  ['waits for what never comes', 'await new Promise(() => undefined)'],
  ['takes no notice and blocks each tick', 'for (;;) await new Promise((resolve) => setTimeout(resolve, 5))'],
])('the process ends at the turn timeout although the provider %s', async ([, body]) => {
  const house = houseWith(body as string)
  const { exit, stderr } = await house.run(['spawn', 'hi', '--provider', 'test', '--turn-timeout', '1s'])
  expect(exit, stderr).toBe(12)
})

test.concurrent('the process ends after a signal although the provider hangs', async () => {
  const house = houseWith('await new Promise(() => setInterval(() => undefined, 1000))')
  const id = await house.spawn('a', '--provider', 'test')
  const running = house.start(['send', 'a', 'hi'])
  await house.waitForRecord(id, 'model.requested')
  running.child.kill('SIGTERM')
  await running.says('again to stop now')
  expect((await running.kill('SIGTERM')).exit).toBe(143)
  expect(house.kinds(id).slice(-3)).toEqual(['run.interrupted', 'session.suspended', 'status.derived'])
})

test('a slow reader gets the whole output', async () => {
  const house = new House()
  const reply = 'x'.repeat(1_000_000)
  house.write('reply.txt', reply)
  await house.spawn('a', '--provider', 'exec', '--option', 'command=cat reply.txt')
  const running = house.start(['send', 'a', 'hi'], { stdout: 'unread' })
  // The turn is over and the lock is free before the first byte is read: a full pipe delays no other command.
  await waitFor(
    async () => (await house.run(['show', 'a', '--json'])).json.agent.state === 'suspended',
    'rest',
  )
  expect((await house.run(['send', 'a', 'hi', '--if-busy', 'fail'])).exit).toBe(0)
  let bytes = 0
  running.child.stdout?.on('data', (piece: Buffer) => {
    bytes += piece.length
  })
  expect((await running.result).exit).toBe(0)
  await waitFor(() => running.child.stdout?.readableEnded === true, 'the end of the pipe')
  expect(bytes).toBe(reply.length + 1)
})

test('a reader that closes the pipe stops neither the turn nor the exit', async () => {
  const house = new House()
  const id = await house.spawn(
    'a',
    '--provider',
    'exec',
    '--option',
    'command=head -c 1000000 /dev/zero; echo',
  )
  const { exit, stderr } = await house.run(['send', 'a', 'hi'], { stdout: 'closed' })
  expect(exit, stderr).toBe(0)
  expect(house.count(id, 'run.completed')).toBe(1)
})

test('an unknown command is reported on one line', async () => {
  const house = new House()
  expect(await house.run(['frobnicate'])).toMatchObject({
    exit: 2,
    stdout: '',
    stderr: 'substrat: there is no command frobnicate (substrat help)\n',
  })
  const { exit, json } = await house.run(['config', 'frob', '--json'])
  expect({ exit, code: json.error.code }).toEqual({ exit: 2, code: 'USAGE' })
})

test('an unknown command that other tools have suggests those that do the same here', async () => {
  const house = new House()
  const meant = {
    ls: 'list',
    ps: 'list',
    status: 'list',
    rm: 'remove',
    new: 'spawn',
    init: 'spawn',
    login: 'providers',
    run: 'send or spawn',
    start: 'spawn or resume',
    stop: 'cancel or suspend',
    kill: 'cancel or terminate',
  }
  for (const [word, command] of Object.entries({ ...meant, 'config ls': 'config list' }))
    expect((await house.run(word.split(' '))).stderr).toBe(
      `substrat: there is no command ${word}; did you mean ${command}? (substrat help)\n`,
    )
})

test('a failed command for plugins gives its reason on one line', async () => {
  const { exit, stdout, stderr } = await new House().run(['plugins', 'uninstall', 'nowhere'])
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
  expect(stderr).toBe(
    'substrat: the plugin nowhere is not installed (list the installed ones: substrat plugins)\n',
  )
})
