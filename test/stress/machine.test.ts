/** The simulated machine, which runs commands within the lab's own process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import type { OnStep } from '../../stress/machine/process.js'
import { tempDirectory } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

afterEach(() => vi.unstubAllEnvs())

test('a lab does not load the plugins of its user', async () => {
  const data = tempDirectory()
  mkdirSync(join(data, 'substrat'))
  const list = { oclif: { plugins: [{ name: 'theirs', type: 'link', root: data }] } }
  writeFileSync(join(data, 'substrat', 'package.json'), JSON.stringify(list))
  vi.stubEnv('XDG_DATA_HOME', data)
  const lab = MachineLab.open()
  try {
    await lab.do('spawn', '--name', 'a')
    expect(await lab.run(['doctor'])).toMatchObject({ status: 0, stderr: '' })
  } finally {
    lab.close()
  }
})

test('a signal before the first turn ends only its own command, even after another command was killed in a turn', async () => {
  const lab = MachineLab.open()
  const { exit } = process
  const signalled: OnStep = (_, process) => {
    if (process.steps === 1) process.signal('SIGTERM')
    return undefined
  }
  const expectStopped = async (): Promise<void> =>
    expect(await lab.run(['recover', '--all'], signalled)).toMatchObject({
      status: 143,
      stderr: expect.stringMatching(/stopped by SIGTERM[^\n]*\n$/),
    })
  try {
    const scenario = join(lab.workspace, 's.json')
    writeFileSync(scenario, JSON.stringify({ responses: [{ after_file: 'never', say: 'done' }] }))
    await lab.do('spawn', '--name', 'a', '--option', `scenario=${scenario}`)
    await expectStopped()
    const asking = lab.start(['send', 'a', 'hi'])
    await waitFor(async () => (await lab.do('log', 'a', '--json')).includes('model.requested'), 'its request')
    asking.kill()
    await asking.ended
    await expectStopped()
    expect(process.exit).toBe(exit)
  } finally {
    lab.close()
  }
})
