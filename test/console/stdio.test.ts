/** stdout and stderr that are files, devices or pipes, also such that cannot be written. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House, type Result } from '../support/cli.js'
import { waitFor } from '../support/wait.js'

const house = new House()

/** Runs the command in a shell with that redirection. */
function redirected(redirection: string, ...args: string[]): Promise<Result> {
  return house.launch(['bash', '-c', `"$@" ${redirection}`, 'bash', ...house.command(...args)]).result
}

const NO_SPACE = 'substrat: cannot write the result to stdout: ENOSPC'

describe.skipIf(!existsSync('/dev/full'))('a stdout without space (needs /dev/full)', () => {
  test.concurrent.for([
    ['list', '--json'],
    ['list'],
    ['list', '--help'],
    ['help'],
    ['--version'],
    ['plugins', '--json'],
    ['config', 'list', '--json'],
  ])('ends %s at once with status 11 and one line', async (args) => {
    const { exit, stderr } = await redirected('>/dev/full', ...args)
    expect(exit).toBe(11)
    expect(stderr).toMatch(/^[^\n]+\n$/)
    expect(stderr).toContain(`${NO_SPACE} (free disk space`)
  })

  test.concurrent.for([
    [3, 'show', 'nobody', '--json'],
    [2, 'frobnicate', '--json'],
  ] as const)('leaves an error its own status, %i, and its own line', async ([status, ...args]) => {
    const { exit, stderr } = await redirected('>/dev/full', ...args)
    expect({ exit, lines: stderr.split('\n').length }).toEqual({ exit: status, lines: 2 })
    expect(stderr).not.toContain('stdout')
  })

  test.concurrent('does not change the exit status if stderr has no space either', async () => {
    expect((await redirected('>/dev/full 2>/dev/full', 'list', '--json')).exit).toBe(11)
    expect((await redirected('2>/dev/full', 'show', 'nobody')).exit).toBe(3)
  })

  test.concurrent.for(['--json', '--stream'])(
    'does not end a turn with %s: the line says which command shows the reply',
    async (flag) => {
      const name = `a${flag}`
      const id = await house.spawn(name)
      const { exit, stderr } = await redirected('>/dev/full', 'send', name, 'hi', flag)
      expect(exit).toBe(11)
      expect(stderr).toBe(
        `${NO_SPACE} (the turn has ended, and its reply is in the log: substrat show ${name} --reply)\n`,
      )
      expect(house.count(id, 'run.completed')).toBe(1)
      expect((await house.ok('show', name, '--reply')).stdout).toBe('echo: hi\n')
    },
  )
})

test.concurrent('a stdout that is open only for reading is status 11', async () => {
  const { exit, stderr } = await redirected('1</dev/null', 'list', '--json')
  expect(exit).toBe(11)
  expect(stderr).toContain('to stdout: EBADF')
})

test.concurrent('a result that is written only in part is status 11', async () => {
  const file = path.join(house.root, 'cut')
  const limited = ['bash', '-c', `ulimit -f 1; "$@" >'${file}'`, 'bash', ...house.command('help')] as const
  const { exit } = await house.launch([...limited]).result
  expect({ exit, bytes: readFileSync(file).length }).toEqual({ exit: 11, bytes: 1024 })
})

test.concurrent('the wrong end of a pipe is status 11, and its reader gets nothing', async () => {
  const script = `echo input | { "$@" >&0; code=$?; cat >read.txt; exit $code; }`
  const running = house.launch(['bash', '-c', script, 'bash', ...house.command('list', '--json')])
  expect((await running.result).exit).toBe(11)
  expect(house.read('read.txt')).toBe('input\n')
})

const hasStrace = spawnSync('strace', ['-V']).status === 0
test.skipIf(!hasStrace)('a device that refuses every write for now (needs strace) is status 11', async () => {
  const [out, when] = [path.join(house.root, 'refusing'), 'error=EAGAIN:when=1+']
  const strace = `strace -f -qq -o /dev/null -P '${out}' -e inject=write,pwrite64,writev:${when} "$@" >'${out}'`
  const running = house.launch(['bash', '-c', strace, 'bash', ...house.command('list', '--json')])
  const { exit, stderr } = await running.result
  expect({ exit, bytes: readFileSync(out).length }, stderr).toEqual({ exit: 11, bytes: 0 })
})

test.concurrent.for([
  ['stderr', 0],
  ['stdout', 11],
] as const)(
  "a preloaded module that has Node's %s ends no turn by a failed write",
  async ([name, status]) => {
    const own = new House()
    const late = `const { existsSync, writeFileSync } = require('node:fs')
if (existsSync('preloads')) {
  const stream = process.${name}
  const look = setInterval(() => {
    if (!existsSync('started')) return
    clearInterval(look)
    stream.write('late')
    setTimeout(() => writeFileSync('written', ''))
  }, 20)
}`
    const preload = own.write('late.cjs', late)
    const program = 'touch started; until [ -e written ]; do sleep 0.05; done; echo done'
    const id = await own.spawn('a', '--provider', 'exec', '--option', `command=${program}`)
    own.write('preloads', '')
    const to = name === 'stderr' ? '2>/dev/full' : '>/dev/full'
    const command = ['bash', '-c', `"$@" ${to}`, 'bash', ...own.command('send', 'a', 'hi')] as const
    const { exit, stderr } = await own.launch([...command], { env: { NODE_OPTIONS: `--require ${preload}` } })
      .result
    expect(exit, stderr).toBe(status)
    expect(own.count(id, 'run.completed')).toBe(1)
  },
)

const NUMBERS = Array.from({ length: 200_000 }, (_, index) => index).join('\n')

/** An agent whose replies are longer than a pipe. */
async function talkative(name: string): Promise<string> {
  house.write('numbers.txt', NUMBERS)
  return house.spawn(name, '--provider', 'exec', '--option', 'command=cat numbers.txt')
}

test.concurrent('a pipe that is full delays no turn, and its reader gets the whole result in order', async () => {
  await talkative('piped')
  const script = `"$@" | { until [ -e read-now ]; do sleep 0.1; done; cat >got.txt; }; exit $PIPESTATUS`
  const running = house.launch(['bash', '-c', script, 'bash', ...house.command('send', 'piped', 'hi')])
  const state = async () => (await house.run(['show', 'piped', '--json'])).json.agent.state
  await waitFor(async () => (await state()) === 'suspended', 'the end of the turn')
  house.write('read-now', '')
  expect((await running.result).exit).toBe(0)
  expect(house.read('got.txt')).toBe(`${NUMBERS}\n`)
})

test.concurrent('a pipe whose reader has ended stops neither the turn nor the exit', async () => {
  const id = await talkative('unread')
  const { exit, stderr } = await redirected('| true; exit $PIPESTATUS', 'send', 'unread', 'hi')
  expect(exit, stderr).toBe(0)
  expect(house.count(id, 'run.completed')).toBe(1)
})

/** Node's modules for streams that the command has loaded at its end. */
async function streamModules(redirection: string, command: string[]): Promise<string[]> {
  const loaded = path.join(house.root, `loaded ${randomUUID()}`)
  const save = `require('node:fs').writeFileSync(${JSON.stringify(loaded)}, process.moduleLoadList.join('\\n'))`
  writeFileSync(`${loaded}.cjs`, `process.on('exit', () => ${save})`)
  const argv = ['bash', process.execPath, '--require', `${loaded}.cjs`, ...command]
  const { exit, stderr } = await house.launch(['bash', '-c', `"$@" ${redirection}`, ...argv]).result
  expect(exit, stderr).toBe(0)
  const modules = readFileSync(loaded, 'utf8').split('\n')
  return modules.filter((name) =>
    /^NativeModule (stream|net|tty|readline|internal\/fs\/promises)$/.test(name),
  )
}

test.concurrent.for([
  ['a file', '>quick.out 2>quick.err'],
  ['a device', '>/dev/null 2>&1'],
  // Only there can a pipe be opened again.
  ...(existsSync('/proc/self/fd') ? [['a pipe', '2>&1 | cat'] as const] : []),
] as const)("a command that prints to %s loads none of Node's streams", async ([, redirection]) => {
  await house.run(['spawn', '--name', 'a', '--if-exists', 'use'])
  const [, ...send] = house.command('send', 'a', 'hi')
  expect(await streamModules(redirection, send)).toEqual(await streamModules('>/dev/null', ['-e', '0']))
})
