/** The blocks of README.md are run as typed. The install commands are run by test/servers/readme.test.ts. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { House } from '../support/cli.js'
import { startModelServer } from '../support/model-server/server.js'
import { block, blocks, namedBlocks, readme } from '../support/readme.js'

test('every code block of README.md is run by a test', () => {
  expect(blocks).toEqual(namedBlocks())
})

test('README.md has at most 750 words', () => {
  expect(readme.trim().split(/\s+/).length).toBeLessThanOrEqual(750)
})

test('the two commands for a clone install it, and run the demo and the tests', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  // test/package/demo.test.ts runs the demo, test/servers/readme.test.ts runs npm ci, and this is a run of the tests.
  expect(block('clone')).toBe('npm ci && npm run demo\nnpm ci && npm test\n')
  expect(scripts).toMatchObject({ demo: expect.any(String), test: expect.any(String) })
})

test('the exit codes of README.md are what substrat help exit-codes prints', async () => {
  const [command = '', ...output] = block('exits').split('\n')
  const { exit, stdout } = await run(shell(), command.slice(2))
  expect(exit).toBe(0)
  expect(stdout.trimEnd()).toBe(output.join('\n').trimEnd())
})

test('the transcript of README.md is what its commands print', async () => {
  const house = shell()
  const steps = block('transcript')
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...output] = step.trimEnd().split('\n')
      return { command, output: output.filter((line) => line !== '') }
    })
  // A person kills the command once it is at work.
  const isAtWork = `until substrat log thinker | grep -q 'program started'; do :; done`
  // At a terminal, the list is for people. This one does not know its size.
  const typed = (command: string): string =>
    command === 'substrat list' ? `NO_COLOR=1 script -qec '${command}' /dev/null | tr -d '\\r'` : command
  const script = steps.map(({ command }, step) =>
    [
      `echo STEP ${step}`,
      typed(command),
      ...(command.endsWith('&') ? [isAtWork] : []),
      ...(command.startsWith('kill') ? ['wait'] : []),
    ].join('\n'),
  )
  const { stdout } = await run(house, ['exec 2>&1', 'set -m', ...script].join('\n'))
  const printed = stdout
    .split(/^STEP \d+\n/m)
    .slice(1)
    .map((text) => text.split('\n').filter((line) => line !== '' && !/^\S*bash: line .* Killed/.test(line)))
  expect(printed.map(withoutIds)).toEqual(steps.map(({ output }) => withoutIds(output)))
})

test('the first errand of README.md summarises the commits, and its third line costs nothing when it is repeated', async () => {
  const house = shell()
  const server = await startModelServer({ responses: [{ text: 'You wrote a README.' }] })
  onTestFinished(() => server.close())
  house.env.OPENAI_BASE_URL = `${server.url}/v1`
  // Only what the errand needs of a clone: a history.
  mkdirSync(house.env.HOME as string, { recursive: true })
  const git = (...args: string[]): unknown =>
    execFileSync('git', args, { cwd: house.workspace, env: house.env, stdio: 'pipe' })
  git('init', '-q')
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  git(...author, 'commit', '-q', '--allow-empty', '-m', 'readme: the errand is run as typed')

  const lines = block('errand')
  expect(lines.trimEnd().split('\n')).toHaveLength(4)
  const first = await run(house, `set -e\n${lines}`)
  expect(first.exit, first.stderr).toBe(0)
  expect(first.stdout).toContain('You wrote a README.\n')
  expect(house.read('weekly.md')).toContain('You wrote a README.')
  expect(server.requests).toHaveLength(1)
  expect(JSON.stringify(server.requests[0]?.body)).toContain('readme: the errand is run as typed')
  expect(server.refusals()).toEqual([])

  const [key, , third] = lines.split('\n')
  const second = await run(house, `set -e\n${key}\n${third}`)
  expect(second).toMatchObject({ exit: 0, stdout: 'You wrote a README.\n' })
  expect(server.requests).toHaveLength(1)
})

/** A person's house, with `substrat` in the PATH. */
function shell(): House {
  const house = House.ofProcesses()
  const folder = `${house.root}/bin`
  mkdirSync(folder)
  const [node, program] = house.command()
  writeFileSync(`${folder}/substrat`, `#!/bin/sh\nexec '${node}' '${program}' "$@"\n`)
  chmodSync(`${folder}/substrat`, 0o755)
  house.env.PATH = `${folder}:${house.env.PATH}`
  return house
}

function run(house: House, script: string): Promise<{ exit: number; stdout: string; stderr: string }> {
  return house.launch(['bash', '-c', script]).result
}

function withoutIds(lines: string[]): string[] {
  return lines.map((line) =>
    line
      .replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UUID')
      .replaceAll(/\d+ (s|min) ago/g, 'AGO')
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/g, 'TIME'),
  )
}
