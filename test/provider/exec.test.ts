import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { clock } from '../../src/clock.js'
import { limits } from '../../src/limits.js'
import type { AgentEvent, ProviderSettings, TurnCallOptions } from '../../src/provider/contract.js'
import { exec } from '../../src/provider/exec.js'
import { describeFailure } from '../../src/provider/failure.js'
import type { AgentHost, LaunchedProgram } from '../../src/provider/host-contract.js'
import type { RunError } from '../../src/schema/types.js'
import { isAlive, type RecordedHost, recordedHost } from '../support/programs.js'
import { tempDirectory } from '../support/temp.js'
import { holdClock, holdTimers } from '../support/time.js'
import { waitFor } from '../support/wait.js'

/** The pause after which the output of an exited program counts as complete. */
const QUIET_MS = 200

let directory: string
let recorded: RecordedHost

beforeEach(() => {
  directory = tempDirectory()
  recorded = recordedHost()
})

function settings(command: string, over: Partial<ProviderSettings> = {}): ProviderSettings {
  return { workspace: directory, model: null, instructions: null, options: { command }, ...over }
}

function options(signal = new AbortController().signal): TurnCallOptions {
  return { signal, allow: [] }
}

interface Turn {
  reply: string
  texts: string[]
  printed: { stdout: string; stderr: string }
}

const printed = { stdout: '', stderr: '' }
beforeEach(() => {
  printed.stdout = ''
  printed.stderr = ''
})

async function turn(
  command: string,
  prompt = 'hi',
  signal?: AbortSignal,
  over?: object,
  host = recorded.host,
): Promise<Turn> {
  const session = await exec.create(settings(command, over), host)
  const texts: string[] = []
  let reply: string | undefined
  for await (const event of session.send(prompt, options(signal))) {
    if (event.type === 'text') texts.push(event.text)
    if (event.type === 'output') printed[event.stream] += event.text
    if (event.type === 'done') reply = event.reply
  }
  await session.stop()
  return { reply: reply as string, texts, printed }
}

async function failure(command: string, prompt?: string, over?: object): Promise<RunError> {
  const thrown = await turn(command, prompt, undefined, over).then(
    ({ reply }) => `it replied ${reply}`,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(Error)
  return describeFailure(thrown)
}

function isThere(name: string): boolean {
  return existsSync(join(directory, name))
}

function isWritten(name: string): boolean {
  return isThere(name) && readFileSync(join(directory, name), 'utf8').endsWith('\n')
}

function pidIn(name: string): number {
  return Number(readFileSync(join(directory, name), 'utf8'))
}

describe('the reply', () => {
  const REPLIES: [string, string, string][] = [
    ['is what the program printed, its prompt on stdin', "printf 'you said: '; cat", 'you said: hi'],
    ['loses one newline at its end, not two', "printf 'a\\n\\n'", 'a\n'],
    ['loses one CRLF at its end', "printf 'a\\r\\n'", 'a'],
    ['may be empty', ':', ''],
    ['keeps NUL bytes', "printf 'a\\0b'", 'a\0b'],
    ['has U+FFFD for what is not UTF-8', "printf 'a\\377b'", 'a\ufffdb'],
    ['keeps a byte order mark', "printf '\\357\\273\\277a'", '\ufeffa'],
    ['is without what went to stderr', 'echo out; echo err >&2', 'out'],
  ]
  test.each(REPLIES)('%s', async (_, command, reply) => {
    expect((await turn(command)).reply).toBe(reply)
  })

  test('comes as text while it is printed, whole characters only', async () => {
    const { reply, texts } = await turn("printf 'a\\303'; sleep 0.05; printf '\\274b'")
    expect(reply).toBe('aüb')
    expect(texts.join('')).toBe('aüb')
  })

  test('may have as many bytes as the limit, and not one more', async () => {
    const { reply } = await turn(`head -c ${limits.replyBytesMax} /dev/zero | tr '\\0' x`)
    expect(reply).toHaveLength(limits.replyBytesMax)
    const { message } = await failure(`head -c ${limits.replyBytesMax + 1} /dev/zero`)
    expect(message).toBe(`the command printed more than ${limits.replyBytesMax} bytes`)
  })

  test('stops at the limit if the program prints without end, and the program is killed', async () => {
    expect((await failure('echo $$ > pid; exec yes')).message).toMatch(/more than/)
    expect(isAlive(pidIn('pid'))).toBe(false)
  })
})

describe('the program', () => {
  test('runs in the workspace with SUBSTRAT_* in its environment', async () => {
    const { reply } = await turn('pwd -P; echo $SUBSTRAT_HOME $SUBSTRAT_AGENT $SUBSTRAT_RUN $SUBSTRAT_LOG')
    expect(reply).toBe(`${directory}\n/h a ${recorded.runId} /l`)
  })

  test.skipIf(process.platform !== 'linux')(
    'has no descriptor but those of any child: the gate is closed (needs /proc)',
    async () => {
      const any = spawnSync('/bin/sh', ['-c', 'ls /proc/self/fd'], { encoding: 'utf8' }).stdout
      expect(`${(await turn('ls /proc/self/fd')).reply}\n`).toBe(any)
    },
  )

  test('that does not read a huge prompt does not block the turn', async () => {
    expect((await turn('echo done', 'x'.repeat(20 << 20))).reply).toBe('done')
    expect((await turn('exec <&-; sleep 0.1; echo done', 'x'.repeat(20 << 20))).reply).toBe('done')
  })

  test('reads a huge prompt whole', async () => {
    expect((await turn('wc -c', 'x'.repeat(10 << 20))).reply.trim()).toBe(String(10 << 20))
  })

  test('is the leader of the group that was recorded before it ran', async () => {
    const { reply } = await turn('echo $$; cut -d" " -f5 /proc/$$/stat')
    const [group] = recorded.groups
    expect(reply).toBe(`${group?.process_group}\n${group?.process_group}`)
  })
})

describe('a program that', () => {
  const FAILURES: [string, string, RegExp][] = [
    ['exits non-zero', 'exit 3', /^the command exited 3$/],
    ['exits non-zero after output', 'echo half; exit 1', /^the command exited 1$/],
    ['prints the reason on stderr', 'echo "no key" >&2; exit 3', /^the command exited 3: no key$/],
    ['is killed by a signal', 'kill -9 $$', /^the command was killed by SIGKILL$/],
    ['kills itself with SIGTERM', 'kill -TERM $$', /^the command was killed by SIGTERM$/],
    ['reports a death by a real-time signal, as a shell does', 'exit 162', /^the command exited 162$/],
    ['does not exist', 'no-such-program-here', /^the command exited 127: .*no-such-program-here/],
  ]
  test.each(FAILURES)('%s fails its turn', async (_, command, message) => {
    const error = await failure(command)
    expect(error.type).toBe('crashed')
    expect(error.message).toMatch(message)
  })

  test('gets a real-time signal, which Node could mistake for exit 0, runs to its end', async () => {
    const signals = 'for n in 34 35 50 63 64; do kill -$n $$ || exit 3; done'
    expect((await turn(`printf half; ${signals}; sh -c "${signals}"; echo ", whole"`)).reply).toBe(
      'half, whole',
    )
  })

  test('prints much on stderr fails its turn with the end of that text', async () => {
    const { message } = await failure(
      'i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done >&2; exit 1',
    )
    expect(message).toMatch(/line 19998 line 19999$/)
    expect(message.length).toBeLessThan(2100)
  })

  test('leaves an orphan that holds its stdout open: the turn ends, and the orphan is killed', async () => {
    const { reply } = await turn('sleep 3600 & echo $! > pid; echo done')
    expect(reply).toBe('done')
    expect(isAlive(pidIn('pid'))).toBe(false)
  })

  test('leaves an orphan that keeps printing: output soon after the exit is in the reply, later output is not', async () => {
    const timers = holdTimers(QUIET_MS)
    const late = turn('(until [ -e go ]; do sleep 0.01; done; echo late; sleep 0.01; echo later) & echo done')
    // The program has exited, and its orphan has not printed yet.
    await waitFor(() => timers.pending(QUIET_MS) > 0, 'the exit')
    writeFileSync(join(directory, 'go'), '')
    expect((await late).reply).toBe('done\nlate\nlater')
  })

  test('leaves an orphan that prints without end: the turn still ends', async () => {
    const time = holdClock()
    let program: LaunchedProgram | undefined
    const launch: AgentHost['launch'] = async (...given) => {
      program = await recorded.host.launch(...given)
      return program
    }
    const command = 'while :; do echo tick; done & echo done; : > ready'
    const endless = turn(command, 'hi', undefined, {}, { ...recorded.host, launch })
    await waitFor(() => isThere('ready'), 'the program')
    await program?.exited
    time.pass(60_000)
    expect((await endless).reply).toMatch(/^(tick\n)*done\n(tick\n?)*$/)
  })

  test('ignores SIGTERM is killed two seconds after the stop', async () => {
    const stop = new AbortController()
    const running = turn('trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done', 'hi', stop.signal)
    await waitFor(() => isWritten('pid'), 'the program')
    const pid = pidIn('pid')
    const time = holdClock()
    stop.abort()
    time.pass(1999)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isAlive(pid)).toBe(true)
    time.pass(1)
    await expect(running).rejects.toThrow('was killed by SIGKILL')
    expect(isAlive(pid)).toBe(false)
  })

  test('exits with status 0 after the stop has answered', async () => {
    const stop = new AbortController()
    const command = 'trap "echo cleaned up; exit 0" TERM; : > ready; while :; do sleep 0.02; done'
    const running = turn(command, 'hi', stop.signal)
    await waitFor(() => isThere('ready'), 'the program')
    holdClock()
    stop.abort()
    expect((await running).reply).toBe('cleaned up')
  })

  test('is stopped before its start is not started', async () => {
    await expect(turn(': > ran', 'hi', AbortSignal.abort())).rejects.toThrow()
    expect(isThere('ran')).toBe(false)
    expect(recorded.groups).toEqual([])
  })

  test('is not read to its end is killed with its turn', async () => {
    const session = await exec.create(settings('echo $$ > pid; echo one; sleep 3600'), recorded.host)
    for await (const _ of session.send('hi', options())) break
    expect(isAlive(pidIn('pid'))).toBe(false)
  })
})

describe('output before the exit is read although', () => {
  function exited(code: number): LaunchedProgram & { stdout: PassThrough; stderr: PassThrough } {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    return {
      stdin,
      stdout,
      stderr,
      exited: Promise.resolve({ code, signal: null }),
      kill: async () => undefined,
    }
  }

  async function sessionOf(program: LaunchedProgram) {
    return exec.create(settings('true'), { ...recorded.host, launch: async () => program })
  }

  async function failureOf(program: LaunchedProgram): Promise<void> {
    for await (const _ of (await sessionOf(program)).send('hi', options()));
  }

  test('its stderr comes after its exit and the end of its stdout', async () => {
    const program = exited(3)
    program.stdout.end()
    program.stdout.once('close', () => setImmediate(() => program.stderr.end('no key')))
    await expect(failureOf(program)).rejects.toThrow('the command exited 3: no key')
  })

  test('an orphan holds its stderr open', async () => {
    const program = exited(3)
    program.stdout.end()
    program.stderr.write('no key')
    await expect(failureOf(program)).rejects.toThrow('the command exited 3: no key')
  })

  test('the reader stalled for longer than the pause for late output', async () => {
    const { monotonic } = clock
    onTestFinished(() => void Object.assign(clock, { monotonic }))
    const program = exited(0)
    program.stdout.write('one ')
    const events: AgentEvent[] = []
    for await (const event of (await sessionOf(program)).send('hi', options())) {
      events.push(event)
      if (events.length > 1) continue
      clock.monotonic = () => monotonic() + 60_000
      program.stdout.write('two ')
      program.stdout.write('three')
    }
    expect(events.at(-1)).toEqual({ type: 'done', reply: 'one two three' })
  })
})

describe('the log gets', () => {
  test('the stdout of a failed command, and its stderr', async () => {
    await failure("echo half; printf 'nö' >&2; echo ' key' >&2; exit 1")
    expect(printed).toEqual({ stdout: 'half\n', stderr: 'nö key\n' })
  })

  test('the stdout up to the limit of a command that prints too much', async () => {
    await failure(`head -c ${limits.replyBytesMax + 1} /dev/zero | tr '\\0' x`)
    expect(printed.stdout.length).toBeGreaterThan(limits.replyBytesMax)
  })

  test('the stderr of a command that replies, which has all its stdout', async () => {
    const { reply } = await turn('echo careful >&2; echo done; echo more >&2')
    expect(reply).toBe('done')
    expect(printed).toEqual({ stdout: '', stderr: 'careful\nmore\n' })
  })

  test('stderr while the command runs and prints nothing else', async () => {
    const session = await exec.create(
      settings('echo one >&2; until [ -e go ]; do sleep 0.01; done'),
      recorded.host,
    )
    const seen: AgentEvent[] = []
    for await (const event of session.send('hi', options())) {
      seen.push(event)
      writeFileSync(join(directory, 'go'), '')
    }
    expect(seen).toEqual([
      { type: 'output', stream: 'stderr', text: 'one\n' },
      { type: 'done', reply: '' },
    ])
  })

  test('the output of a stopped command', async () => {
    const stop = new AbortController()
    const running = turn('echo half; echo why >&2; : > ready; exec sleep 3600', 'hi', stop.signal)
    await waitFor(() => isThere('ready'), 'the program')
    stop.abort()
    await expect(running).rejects.toThrow('was killed by SIGTERM')
    expect(printed).toEqual({ stdout: 'half\n', stderr: 'why\n' })
  })
})

test('the history is off unless the option says on', () => {
  const given = (history: string): ProviderSettings =>
    settings('cat', { options: { command: 'cat', history } })
  expect([given('on'), given('off'), settings('cat')].map((each) => exec.needsHistory?.(each))).toEqual([
    true,
    false,
    false,
  ])
  const { type, message } = describeFailure(thrownBy(() => exec.check?.(given('yes'))))
  expect({ type, message }).toEqual({
    type: 'misconfigured',
    message: 'option history is on or off, not "yes"',
  })
})

describe('a workspace', () => {
  test('that was deleted fails the turn with its path', async () => {
    const workspace = join(directory, 'gone')
    const { message } = await failure('echo hi', 'hi', { workspace })
    expect(message).toContain(workspace)
    expect(message).toMatch(/^cannot start /)
  })

  test('that is a file fails the turn with its path', async () => {
    const workspace = join(directory, 'file')
    writeFileSync(workspace, '')
    expect((await failure('echo hi', 'hi', { workspace })).message).toContain(workspace)
  })
})

test.each([{}, { command: '' }, { command: ' \n' }])(
  'without a command it is misconfigured: %j',
  (options) => {
    const { type, message } = describeFailure(
      thrownBy(() => exec.check?.({ ...settings(''), options } as ProviderSettings)),
    )
    expect(type).toBe('misconfigured')
    expect(message).toContain('--option command=')
  },
)

test('a command that is too long for the kernel fails the turn', async () => {
  const { message } = await failure(`: ${'x'.repeat(3 << 20)}`)
  expect(message).toMatch(/^cannot start /)
})

test('exec has no state, and inspect of a dead turn is unknown', async () => {
  const session = await exec.create(settings('cat'), recorded.host)
  expect(await session.suspend()).toBeNull()
  const events: AgentEvent[] = []
  const restored = await exec.restore(new Uint8Array(), settings('cat'), recorded.host)
  for await (const event of restored.send('again', options())) events.push(event)
  expect(events.at(-1)).toEqual({ type: 'done', reply: 'again' })
  expect(await exec.inspect(null, settings('cat'))).toEqual({ outcome: 'unknown' })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
    return undefined
  } catch (error) {
    return error
  }
}
