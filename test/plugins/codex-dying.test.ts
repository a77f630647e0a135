/** Every way in which codex may die in a turn, and how a turn of it is stopped. */
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
} from './codex-support.js'

const HOUR_MS = 3_600_000

describe('killed', () => {
  test('before its thread is known: the turn fails, and there is no state', async () => {
    const killed = await firstTurn('--lines 0 --end kill')
    expect(killed.events).toEqual([])
    expect(failureIn(killed)).toEqual({
      type: 'crashed',
      message: 'codex was killed by SIGKILL in the middle of the turn',
    })
  })

  test.each([1, 2, 3, 4])('after %i lines: the turn fails, and the thread is known', async (lines) => {
    const killed = await firstTurn(`--lines ${lines} --stored 3 --end kill`)
    expect(failureIn(killed).type).toBe('crashed')
    expect(typesOf(killed)).not.toContain('done')
    expect(await codex.inspect(stateIn(killed), settingsFor())).toEqual({ outcome: 'unfinished' })
    const { host } = newLab()
    const restored = await codex.restore(stateIn(killed), settingsFor(), host)
    expect(replyIn(await turn(restored, 'go on'))).toBe('echo: hello there')
  })

  test('after its store has the end of the turn, and before it says so: the reply is that of the store', async () => {
    const killed = await firstTurn('--lines 4 --stored 6 --end kill')
    expect(replyIn(killed)).toBe('echo: hello there')
  })

  test('after the end of the turn: the reply counts', async () => {
    expect(replyIn(await firstTurn('--end kill'))).toBe('echo: hello there')
  })

  test('in a later turn: the reply of the turn before is not taken for its', async () => {
    const { host } = newLab()
    const first = await turn(await codex.create(settingsFor(), host))
    const dying = await codex.restore(stateIn(first), settingsFor('--lines 1 --stored 0 --end kill'), host)
    const second = await turn(dying, 'once more')
    expect(failureIn(second).type).toBe('crashed')
    expect(await codex.inspect(stateIn(second), settingsFor())).toEqual({ outcome: 'unfinished' })
  })
})

describe('an exit', () => {
  test('with success and without an end of the turn is no success', async () => {
    const ended = await firstTurn('--lines 3 --stored 3 --end exit')
    expect(failureIn(ended)).toEqual({
      type: 'crashed',
      ended_early: true,
      message: 'codex exited 0 in the middle of the turn',
    })
  })

  test('with success before the thread is known is that of some other program', async () => {
    expect(failureIn(await firstTurn('--lines 0 --end exit'))).not.toHaveProperty('ended_early')
  })

  test('with failure after the end of the turn is no failure', async () => {
    expect(replyIn(await firstTurn('--end 9'))).toBe('echo: hello there')
  })

  test('that leaves its stdout to a grandchild does not hold up the turn', async () => {
    const { host, groups } = newLab()
    const session = await codex.create(settingsFor('--lines 3 --stored 3 --end grandchild'), host)
    expect(failureIn(await turn(session)).type).toBe('crashed')
    expect(groups.length).toBe(1)
  })
})

test('a stdout that it closes is no end: it is ended, and the turn fails', async () => {
  const muted = await firstTurn('--lines 3 --stored 3 --end mute')
  expect(failureIn(muted)).toEqual({
    type: 'crashed',
    message: 'codex was killed by SIGTERM in the middle of the turn',
  })
})

test('that it does not exit after the end of the turn costs a grace, and not the reply', async () => {
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

  test('interrupts it as Ctrl-C does', async () => {
    holdTimers(GRACE_MS)
    const error = await stopped('')
    expect((error as Error).name).toBe('AbortError')
    expect(readFileSync(seenFile(), 'utf8')).toContain('"SIGINT"')
  })

  test('is over also where it minds no signal', async () => {
    const error = await stopped('--stubborn')
    expect((error as Error).name).toBe('AbortError')
  })

  test('before it was started starts nothing', async () => {
    const { host, groups } = newLab()
    const session = await codex.create(settingsFor(), host)
    const { error, events } = await turn(session, 'hello there', { signal: AbortSignal.abort() })
    expect(error).toBeInstanceOf(Error)
    expect(events).toEqual([])
    expect(groups).toEqual([])
  })
})

describe('without a network, where codex tries for ever', () => {
  test('our clock ends the turn, as unreachable', async () => {
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
    // What it says again is said once.
    expect(notes).toBe(3)
  })

  test('the clock stops when anything else is said', async () => {
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
