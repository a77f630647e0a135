/** A turn whose agent program is killed, and every way to continue or retry it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Context } from '../../src/dispatch/context.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { deliver } from '../../src/operations/deliver.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import type { MessageRequest } from '../../src/operations/message/request.js'
import { recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import { retry } from '../../src/operations/retry.js'
import type { RecoveredAgent } from '../../src/schema/output.js'
import { openForRead } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const RECOVERY = /^(Your previous|An earlier) turn.* was interrupted[\s\S]*\n\nbuild it$/

/** It keeps what it was asked, and then ends as the file `end` says. */
const COMMAND = 'cat > asked-$(ls | grep -c asked); . ./end'

let store: FileStore
let workspace: string
let id: string
let notes: string[]

beforeEach(async () => {
  store = tempStore()
  workspace = tempDirectory()
  id = await newAgent(store, { provider: 'exec', options: { command: COMMAND }, workspace })
  end('kill -9 $$')
})

function end(script: string): void {
  writeFileSync(join(workspace, 'end'), script)
}

/** The prompts of its program, turn by turn. */
function asked(): string[] {
  const found: string[] = []
  for (let nth = 0; existsSync(join(workspace, `asked-${nth}`)); nth++)
    found.push(readFileSync(join(workspace, `asked-${nth}`), 'utf8'))
  return found
}

function command(): Context {
  const { ctx, notes: said } = contextAt(store, { bounds: { turnTimeoutMs: 3_600_000 } })
  notes = said
  return ctx
}

/** The outcome that the command tells. */
async function outcomeOf(
  act: (ctx: Context, told: (outcome: Outcome) => void) => Promise<void>,
): Promise<Outcome> {
  let told: Outcome | undefined
  await act(command(), (outcome) => {
    told = outcome
  })
  return told as Outcome
}

const sent = (over: Partial<MessageRequest> = {}): Promise<Outcome> =>
  outcomeOf((ctx, told) => {
    const asked = { content: 'build it', key: 'k', ifBusy: 'fail', ifWaiting: 'fail' } as const
    return deliverMessage(ctx, sendRequest(id, { ...asked, ...over }), told)
  })

async function recovered(): Promise<RecoveredAgent[]> {
  const found: RecoveredAgent[] = []
  await recover(command(), { all: true, agents: [] }, 'roots', (agent) => void found.push(agent))
  return found
}

function state(): State {
  return openForRead(store, id)?.state as State
}

describe('a program that dies', () => {
  test.each([
    ['of SIGKILL', 'kill -9 $$', 'SIGKILL'],
    ['of SIGTERM', 'kill -TERM $$', 'SIGTERM'],
    ['of a signal, under a shell that says so', "sh -c 'kill -9 $$'; exit $?", 'SIGKILL'],
    ['of SIGSEGV, under a shell', 'exit 139', 'SIGSEGV'],
  ])(
    '%s has its turn interrupted, to be continued later, and the signal is named',
    async (_, script, name) => {
      end(script)
      const { failure } = await sent()
      expect(failure).toMatchObject({
        code: 'INTERRUPTED',
        exitStatus: 6,
        facts: { reason: 'program_killed' },
      })
      expect(failure?.message).toContain(`was killed by ${name}`)
      expect(state().run).toMatchObject({ status: 'interrupted', reason: 'program_killed' })
      expect(state().recovery.interruption?.reason).toBe('program_killed')
    },
  )

  test.each([
    ['exits non-zero', 'exit 3'],
    ['exits with what is no number of a signal', 'exit 200'],
    ['is not to be found', 'exec no-such-program'],
  ])('otherwise, because it %s, has failed', async (_, script) => {
    end(script)
    expect((await sent()).failure).toMatchObject({ code: 'PROVIDER_FAILED', exitStatus: 9 })
  })
})

describe('a turn whose program was killed', () => {
  beforeEach(async () => {
    await sent()
    end('echo built')
  })

  test.each<[string, () => Promise<unknown>]>([
    ['the same key', () => sent()],
    ['the same key with --retry', () => sent({ retry: true })],
    ['resume', () => outcomeOf((ctx, told) => resume(ctx, id, { reseed: false }, told))],
    ['retry', () => outcomeOf((ctx, told) => retry(ctx, id, told))],
    ['recover', () => recovered()],
    ['a message', () => sent({ key: null, content: 'next' })],
    [
      'a message for later, and its delivery',
      async () => {
        await sent({ key: null, content: 'next', isQueued: true })
        await deliver(command(), { all: true, agentIds: [] }, () => undefined)
      },
    ],
  ])('is continued by %s, with a prompt that says that it was started', async (_, goOn) => {
    await goOn()
    expect(asked()[0]).toBe('build it')
    expect(asked()[1]).toMatch(RECOVERY)
    expect((await sent()).result.reply).toBe('built')
    expect(asked().filter((prompt) => prompt.includes('build it'))).toHaveLength(2)
  })
})

describe('a turn whose program is killed each time', () => {
  test('is continued twice, and then left to a person', async () => {
    await sent()
    const exits: number[] = []
    for (let nth = 0; nth < 4; nth++) exits.push(...(await recovered()).map(({ exit }) => exit))
    expect(exits).toEqual([6, 6, 6, 6])
    expect(asked()).toHaveLength(3)
    end('echo built')
    const { result } = await outcomeOf((ctx, told) => resume(ctx, id, { reseed: false }, told))
    expect(result.reply).toBe('built')
  })

  test('keeps another message out until then, of which nothing is stored', async () => {
    await sent()
    const next = (): Promise<Outcome> => sent({ key: null, content: 'next' })
    for (let nth = 0; nth < 2; nth++)
      await expect(next()).rejects.toMatchObject({
        code: 'INTERRUPTED',
        message: /nothing of it was stored$/,
      })
    end('echo fine')
    expect((await next()).result.reply).toBe('fine')
    expect(notes).toContainEqual(expect.stringContaining('continued too often without progress'))
    expect(asked().at(-1)).toBe('next')
  })
})

describe('a turn that failed after its program was launched', () => {
  beforeEach(async () => {
    end('exit 3')
    await sent()
    end('echo built')
  })

  test('is answered as it failed where its key is sent again', async () => {
    expect((await sent()).failure?.exitStatus).toBe(9)
    expect(asked()).toHaveLength(1)
  })

  test.skipIf(IN_POSTGRES).each<[string, () => Promise<unknown>]>([
    ['--retry', () => sent({ retry: true })],
    ['retry', () => outcomeOf((ctx, told) => retry(ctx, id, told))],
    [
      '--retry through the inbox',
      async () => {
        await sent({ retry: true, isQueued: true })
        await deliver(command(), { all: true, agentIds: [] }, () => undefined)
      },
    ],
    [
      '--retry after another message',
      async () => {
        await sent({ key: null, content: 'next' })
        await sent({ retry: true })
      },
    ],
  ])('is tried again by %s in words that say that it was begun', async (_, tryAgain) => {
    await tryAgain()
    expect(asked().at(-1)).toMatch(RECOVERY)
    expect(records('run.failed')).toHaveLength(1)
    expect((await sent()).result.reply).toBe('built')
  })

  test('says so again where that attempt is killed', async () => {
    end('kill -9 $$')
    await sent({ retry: true })
    end('echo built')
    await recovered()
    expect(asked().at(-1)).toMatch(RECOVERY)
    expect(
      asked()
        .at(-1)
        ?.match(/was interrupted/g),
    ).toHaveLength(1)
  })
})

test('a turn that came to no launch is asked again as it was', async () => {
  const other = await newAgent(store, { provider: 'exec', options: { command: 'cat' }, workspace })
  // No program starts with a variable of this length (E2BIG).
  process.env.TOO_LONG = 'x'.repeat(256 * 1024)
  const { failure } = await sent({ agentId: other }).finally(() => delete process.env.TOO_LONG)
  expect(failure?.message).toContain('cannot start /bin/sh')
  expect((await sent({ agentId: other, retry: true })).result.reply).toBe('build it')
  expect((await sent({ agentId: other })).result.reply).toBe('build it')
})

function records(kind: SessionRecord['kind']): SessionRecord[] {
  return readFileSync(store.local.logPath(id), 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"kind":"${kind}"`))
    .map((line) => JSON.parse(line) as SessionRecord)
}
