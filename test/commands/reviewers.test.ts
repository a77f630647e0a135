/** Runs the script and the first lines of docs/agent-tree.md unchanged. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { blockOf } from '../support/markdown.js'

test('three reviewers work in parallel, and their replies are those of the guide', async () => {
  const page = readFileSync('docs/agent-tree.md', 'utf8').split('## Three reviewers')[1] ?? ''
  const script = blockOf(page, 'sh')
  expect(script.split('\n').length - 1).toBeLessThanOrEqual(12)
  const house = new House()
  const bin = path.join(house.root, 'bin')
  mkdirSync(bin)
  const [node, run] = house.command()
  writeFileSync(path.join(bin, 'substrat'), `#!/bin/sh\nexec '${node}' '${run}' "$@"\n`)
  chmodSync(path.join(bin, 'substrat'), 0o755)
  house.write('change.diff', blockOf(page, 'diff'))
  const file = house.write('review.sh', script)
  const env = { PATH: `${bin}:${house.env.PATH}` }
  // Runs twice: the second time the reviewers already exist.
  for (let n = 0; n < 2; n++) {
    const { exit, stdout, stderr } = await house.launch(['sh', file], { env }).result
    expect([exit, stdout, stderr]).toEqual([0, blockOf(page, 'text'), ''])
  }
  expect(house.findings(true)).toEqual([])
})

test('the first lines of the guide work in a home without a default provider', async () => {
  const lines = blockOf(readFileSync('docs/agent-tree.md', 'utf8'), '').trim().split('\n')
  const house = new House({ SUBSTRAT_PROVIDER: '' })
  for (const line of lines) {
    const [, ...words] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word ?? '',
    )
    await house.ok(...words)
  }
  expect((await house.ok('tree')).stdout).toMatch(/lead .*\n.*tests .*\n.*docs /)
})
