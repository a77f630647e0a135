/** The ways in which codex can die during a turn, and how a turn is stopped. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GRACE_MS, holdTimers } from '../support/time.js'
import { waitFor } from '../support/wait.js'
import {
  codex,
  failureIn,
  firstTurn,
  newLab,
  place,
  replyIn,
  seenFile,
  settingsFor,
  stateIn,
  turn,
  typesOf,
  USED,
  usagesIn,
} from './codex-support.js'

const HOUR_MS = 3_600_000

describe('codex that is killed', () => {
  test('before its thread is known makes the turn fail without a state', async () => {
    const killed = await firstTurn('--lines 0 --end kill')
    expect(killed.events).toEqual([])
    expect(failureIn(killed)).toEqual({
      type: 'crashed',
      message: 'codex was killed by SIGKILL before the end of its turn',
    })
  })

  test.each([1, 2, 3, 4])('after %i lines makes the turn fail, and the thread is known', async (lines) => {
    const killed = await firstTurn(`--lines ${lines} --stored 3 --end kill`)
    expect(failureIn(killed).type).toBe('crashed')
    expect(typesOf(killed)).not.toContain('done')
    expect(await codex.inspect(stateIn(killed), settingsFor())).toMatchObject({ outcome: 'unfinished' })
    const { host } = newLab()
    const restored = await codex.restore(stateIn(killed), settingsFor(), host)
    expect(replyIn(await turn(restored, 'go on'))).toBe('echo: hello there')
  })

  test('after it stored the end of the turn, but before it reported it, has replied', async () => {
    const killed = await firstTurn('--lines 4 --stored 6 --end kill')
    expect(replyIn(killed)).toBe('echo: hello there')
  })

  test('after the end of the turn has replied', async () => {
    expect(replyIn(await firstTurn('--end kill'))).toBe('echo: hello there')
  })

  test('in a later turn does not get the reply of the previous turn', async () => {
    const { host } = newLab()
    const first = await turn(await codex.create(settingsFor(), host))
    const dying = await codex.restore(stateIn(first), settingsFor('--lines 1 --stored 0 --end kill'), host)
    const second = await turn(dying, 'once more')
    expect(failureIn(second).type).toBe('crashed')
    expect(await codex.inspect(stateIn(second), settingsFor())).toMatchObject({ outcome: 'unfinished' })
  })
})

describe('the usage of a turn that does not complete', () => {
  test.each([
    ['fails', '--play refused.jsonl --stored 5 --end 1'],
    ['is killed', '--lines 3 --stored 5 --end kill'],
    ['exits early', '--lines 3 --stored 5 --end exit'],
  ])('comes from the store if codex %s, and the next turn counts only its own', async (_, how) => {
    const ended = await firstTurn(how)
    expect(ended.error).toBeDefined()
    expect(usagesIn(ended)).toEqual([USED])
    const next = await codex.restore(stateIn(ended), settingsFor(), newLab().host)
    expect(usagesIn(await turn(next, 'go on'))).toEqual([USED])
  })

  test('comes from the store if the turn is stopped', async () => {
    const controller = new AbortController()
    const stopped = await firstTurn('--lines 4 --stored 5 --end hang', {}, undefined, {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'text') controller.abort()
      },
    })
    expect((stopped.error as Error).name).toBe('AbortError')
    expect(usagesIn(stopped)).toEqual([USED])
  })

  test('is not known if the store has none', async () => {
    expect(usagesIn(await firstTurn('--lines 3 --stored 3 --end kill'))).toEqual([])
  })
})

test('a completed turn of a new thread without a store has the total of the thread', async () => {
  const lost = await firstTurn('', {}, undefined, {
    onEvent: ({ type }) => {
      // Codex has its home already. The provider looks for the store in another.
      if (type === 'text') process.env.CODEX_HOME = join(place.home, 'other')
    },
  })
  expect(usagesIn(lost)).toEqual([USED])
})

describe('codex that exits', () => {
  test('with status 0 before the end of the turn makes the turn fail', async () => {
    const ended = await firstTurn('--lines 3 --stored 3 --end exit')
    expect(failureIn(ended)).toEqual({
      type: 'crashed',
      ended_early: true,
      message: 'codex exited 0 before the end of its turn',
    })
  })

  test('with status 0 before the thread is known is another program', async () => {
    expect(failureIn(await firstTurn('--lines 0 --end exit'))).not.toHaveProperty('ended_early')
  })

  test('with an error status after the end of the turn has replied', async () => {
    expect(replyIn(await firstTurn('--end 9'))).toBe('echo: hello there')
  })

  test('and leaves its stdout to a grandchild does not delay the turn', async () => {
    const { host, groups } = newLab()
    const session = await codex.create(settingsFor('--lines 3 --stored 3 --end grandchild'), host)
    expect(failureIn(await turn(session)).type).toBe('crashed')
    expect(groups.length).toBe(1)
  })
})

test('codex that closes its stdout during the turn is killed, and the turn fails', async () => {
  const muted = await firstTurn('--lines 3 --stored 3 --end mute')
  expect(failureIn(muted)).toEqual({
    type: 'crashed',
    message: 'codex was killed by SIGTERM before the end of its turn',
  })
})

test('codex that does not exit after the end of the turn is killed, and its reply counts', async () => {
  expect(replyIn(await firstTurn('--end hang'))).toBe('echo: hello there')
})

describe('a turn that is stopped', () => {
  async function stopped(how: string): Promise<unknown> {
    const { host } = newLab()
    const session = await codex.create(settingsFor(`--seen ${seenFile()} --lines 3 --end hang ${how}`), host)
    const controller = new AbortController()
    const ended = turn(session, 'hello there', { signal: controller.signal })
    await waitFor(() => existsSync(seenFile()), 'the stand-in to be started')
    controller.abort()
    const { error, events } = await ended
    expect(events.filter(({ type }) => type === 'done')).toEqual([])
    return error
  }

  test('interrupts codex as Ctrl-C does', async () => {
    holdTimers(GRACE_MS)
    const error = await stopped('')
    expect((error as Error).name).toBe('AbortError')
    expect(readFileSync(seenFile(), 'utf8')).toContain('"SIGINT"')
  })

  test('ends even if codex ignores signals', async () => {
    const error = await stopped('--stubborn')
    expect((error as Error).name).toBe('AbortError')
  })

  test('before its start launches nothing', async () => {
    const { host, groups } = newLab()
    const session = await codex.create(settingsFor(), host)
    const { error, events } = await turn(session, 'hello there', { signal: AbortSignal.abort() })
    expect(error).toBeInstanceOf(Error)
    expect(events).toEqual([])
    expect(groups).toEqual([])
  })
})

describe('codex without a network, which retries forever', () => {
  test('is ended by offline_timeout, and the turn fails as unreachable', async () => {
    const clock = holdTimers(HOUR_MS)
    let notes = 0
    const lost = await firstTurn(
      '--play offline.jsonl --stored 3 --end hang',
      { offline_timeout: '1h' },
      undefined,
      {
        onEvent: ({ type }) => {
          notes += type === 'note' ? 1 : 0
          if (notes === 3) clock.fire(HOUR_MS)
        },
      },
    )
    expect(failureIn(lost)).toMatchObject({ type: 'unreachable' })
    expect(failureIn(lost).message).toMatch(/no connection for 3600 s: Reconnecting... waiting for network/)
    // A repeated message becomes one note.
    expect(notes).toBe(3)
  })

  test('is not ended if any other message follows', async () => {
    const clock = holdTimers(HOUR_MS)
    const running: [type: string, clocks: number][] = []
    const until = join(place.home, 'go')
    const slow = await firstTurn(
      `--play recovered.jsonl --end exit --until ${until}`,
      { offline_timeout: '1h' },
      undefined,
      {
        onEvent: ({ type }) => {
          running.push([type, clock.pending(HOUR_MS)])
          if (type === 'text') writeFileSync(until, '')
        },
      },
    )
    expect(replyIn(slow)).toBe('echo: hello there')
    expect(running.filter(([type]) => type === 'note').at(-1)).toEqual(['note', 1])
    expect(running.filter(([type]) => type === 'text')).toEqual([['text', 0]])
  })
})
