/** The machine of the labs that run commands within their own process. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { MachineLab } from '../../stress/machine/lab.js'
import { tempDirectory } from '../support/temp.js'

afterEach(() => vi.unstubAllEnvs())

test('a plugin of whoever runs a lab is none of the lab', async () => {
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
