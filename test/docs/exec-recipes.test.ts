/** The recipes for `exec` in docs/providers.md, as typed. The programs that they name are replaced. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const [, section = ''] = readFileSync('docs/providers.md', 'utf8').split('## The provider `exec`')
const page = section.slice(0, section.indexOf('\n## '))
const recipes = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, recipe = '']) => recipe)
const PROMPT = /^### The prompt with `history=on`[\s\S]*?^```\n([\s\S]*?)\n```$/m

/** The replaced programs. `llm` appends its prompt to the file `prompts`. */
const PROGRAMS = {
  llm: 'tee -a prompts >/dev/null; echo "A balanced search tree."',
  ollama: '[ "$*" = "run llama3.2" ] || exit 2; cat >/dev/null; echo "Quicksort and others."',
  timeout: '[ "$1" = 10m ] || exit 2; shift; exec "$@"',
  make: 'echo "1 of 9 tests failed"; echo "make: *** [test] Error 1" >&2; exit 2',
}

function typed(house: House, recipe: string): string {
  const bin = path.join(house.root, 'bin')
  mkdirSync(bin)
  const substrat = house.command().map((word) => `'${word}'`)
  for (const [name, script] of Object.entries({ ...PROGRAMS, substrat: `exec ${substrat.join(' ')} "$@"` })) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(path.join(bin, name), 0o755)
  }
  const env = { ...house.env, PATH: `${bin}:${house.env.PATH}` }
  const { stdout, stderr, status } = spawnSync('sh', ['-ec', recipe], {
    cwd: house.workspace,
    env,
    encoding: 'utf8',
  })
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
}

describe('the recipe', () => {
  test('for a program that answers one message gives its answer', () => {
    expect(typed(new House(), recipes[0] as string)).toMatch(/A balanced search tree\.\n$/)
  })

  test('with a memory has the prompt that the page shows', () => {
    const house = new House()
    typed(house, recipes[1] as string)
    const [first, ...second] = readFileSync(path.join(house.workspace, 'prompts'), 'utf8').split('?')
    expect(first).toBe('What is a B-tree')
    expect(second.join('?')).toBe(PROMPT.exec(page)?.[1])
  })

  test('for a local model gives its answer', () => {
    expect(typed(new House(), recipes[2] as string)).toMatch(/Quicksort and others\.\n$/)
  })

  test('for a job that fails has its output in the log', () => {
    const log = typed(new House(), recipes[3] as string)
    expect(log).toContain('stdout: 1 of 9 tests failed\n')
    expect(log).toContain('stderr: make: *** [test] Error 1\n')
    expect(log).toContain('turn failed: ')
  })

  test('is one of these four', () => {
    expect(recipes).toHaveLength(4)
  })
})
