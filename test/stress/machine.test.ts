/** The simulated machine, which runs commands within the lab's own process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import { tempDirectory } from '../support/temp.js'

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
