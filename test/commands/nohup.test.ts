/** SIGHUP for a command that was started with SIGHUP ignored. Node would reset it to its default. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Running } from '../support/cli.js'
import { Gate } from '../support/gate.js'
import { waitFor } from '../support/wait.js'

const CLI = resolve('bin/run.js')

/** The shell execs the command, so the command has the shell's pid. */
async function hangsUp(script: string): Promise<{ house: House; gate: Gate; sender: Running }> {
  const house = new House({ SUBSTRAT_SHUTDOWN_GRACE: '10ms' })
  const gate = new Gate(house, 'g')
  await house.spawn('a', ...gate.flags)
  const sender = house.launch(['/bin/sh', '-c', script, 'sh', CLI])
  await gate.isReached()
  const ofShell = join(house.workspace, 'pid')
  process.kill(existsSync(ofShell) ? Number(readFileSync(ofShell, 'utf8')) : (sender.pid as number), 'SIGHUP')
  return { house, gate, sender }
}

describe.concurrent('SIGHUP', () => {
  test.each([
    ['nohup', 'exec nohup "$1" send a one'],
    ['a shell that ignores it', 'trap "" HUP; exec "$1" send a one'],
    [
      'a shell that ignores it, with node itself',
      'trap "" HUP; node "$1" send a one & echo $! > pid; wait $!',
    ],
  ])('under %s does not stop a turn', async (_, script) => {
    const { house, gate, sender } = await hangsUp(script)
    gate.open()
    expect(await sender.result).toMatchObject({ exit: 0, stdout: 'done: one\n' })
    expect(house.findings(true)).toEqual([])
  })

  test('otherwise stops a turn, which is saved', async () => {
    const { sender, gate } = await hangsUp('exec "$1" send a one')
    await waitFor(() => sender.stderr.includes('stopped by SIGHUP'), 'the end of the turn')
    gate.open()
    expect((await sender.result).exit).toBe(129)
  })
})
