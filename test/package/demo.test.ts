/** The demo of the README. */
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

// npm installs here, on a machine that may have more to do.
test('npm run demo kills two turns for real, and shows each of them going on', async () => {
  const house = new House()
  const repository = `${import.meta.dirname}/../..`
  const demo = house.launch(['npm', 'run', 'demo'], { cwd: repository, env: { TMPDIR: house.workspace } })
  const { exit, stdout, stderr } = await demo.result
  expect(exit, stdout + stderr).toBe(0)
  const lines = [
    /^\$ kill -9 \d+\nthe command ended by SIGKILL$/m,
    /^thinker +\w+ +active +interrupted /m,
    /^\{"seq":\d+,.*"kind":"model.requested"\}$/m,
    /^substrat: continuing the interrupted turn/m,
    /^Forty-two\.$/m,
    /^\$ substrat send thinker --key q1 'What is the answer\?'$/m,
    /^Forty-two\.$/m,
    /^\$ substrat send worker 'Tidy up\.' &\n\$ kill -9 \d+\nthe command ended by SIGKILL$/m,
    /^worker \(\w+\): continued, completed/m,
    /^status +idle$/m,
  ]
  let rest = stdout
  for (const line of lines) {
    expect(rest).toMatch(line)
    rest = rest.slice(rest.search(line) + 1)
  }
  // npm leaves node's compile cache there.
  expect(readdirSync(house.workspace).filter((name) => name.startsWith('substrat'))).toEqual([])
})
