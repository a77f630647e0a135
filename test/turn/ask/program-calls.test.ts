/** Calls by an agent program: the slot that its turn releases during a wait, and the end of the turn during a call. */
import { describe, expect, test } from 'vitest'
import { SubstratError } from '../../../src/errors.js'
import type { NewRecord } from '../../../src/session/records.js'
import { ProgramCalls, type ProgramTurn } from '../../../src/turn/ask/program-calls.js'
import type { TurnEvent } from '../../../src/turn/step/turn-event.js'
import type { Toolbox, ToolResult } from '../../../src/turn/tools/toolbox.js'

/** A turn whose tools and slots respond when the test says so. */
class FakeTurn {
  slots = 1
  /** Number of slots that the turn holds: more than one would be a leak. */
  held = 1
  readonly events: TurnEvent[] = []
  readonly stop = new AbortController()
  readonly ends = new Map<string, (result: Partial<ToolResult>) => void>()
  isShuttingDown = false
  private readonly wanted: { give(): void; refuse(): void }[] = []
  private seq = 0

  get turn(): ProgramTurn {
    const session = { id: 'a', writeBlob: () => ({ blob: '', bytes: 0 }) }
    const state = { run: { run_id: 'r', allow: ['tree'] } }
    Object.defineProperty(state, 'last_seq', { get: () => ++this.seq })
    const toolbox = {
      whyNot: () => undefined,
      isWaiting: (name: string) => name.startsWith('wait'),
      run: ({ name }: { name: string }) =>
        new Promise<ToolResult>((resolve) => {
          this.ends.set(name, (result) => resolve({ content: name, is_error: false, whole: null, ...result }))
        }),
    }
    return {
      session: { ...session, state } as unknown as ProgramTurn['session'],
      toolbox: toolbox as unknown as Toolbox,
      signal: this.stop.signal,
      endIfShuttingDown: () => {
        if (this.isShuttingDown) this.stop.abort()
      },
      persist: (event) => void this.events.push(event),
      stored: ({ call_id, name, input }) => ({ call_id, name, input }),
      lendSlot: async () => {
        this.held = 0
      },
      takeSlotBack: () =>
        new Promise((resolve, reject) => {
          this.wanted.push({
            give: () => {
              this.held += 1
              resolve()
            },
            refuse: () => reject(new SubstratError('NO_SLOT', 'all slots were taken')),
          })
        }),
    }
  }

  async end(name: string, result: Partial<ToolResult> = {}): Promise<void> {
    await settled()
    this.ends.get(name)?.(result)
    await settled()
  }

  async give(how: 'give' | 'refuse' = 'give'): Promise<number> {
    const waiting = this.wanted.splice(0)
    for (const each of waiting) each[how]()
    await settled()
    return waiting.length
  }

  finished(): string[] {
    return this.events.flatMap((event) => (event.type === 'program_call_finished' ? [event.content] : []))
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function begun(): { fake: FakeTurn; calls: ProgramCalls; call(name: string): Promise<{ content: string }> } {
  const fake = new FakeTurn()
  const calls = new ProgramCalls(fake.turn)
  return { fake, calls, call: (name) => calls.call(name, {}, new AbortController().signal) }
}

test('a call is recorded before it runs, and its result before the program receives it', async () => {
  const { fake, call } = begun()
  const told = call('quick')
  await settled()
  expect([fake.events.map(({ type }) => type), [...fake.ends.keys()]]).toEqual([
    ['program_called'],
    ['quick'],
  ])
  await fake.end('quick')
  await told
  expect(fake.events.map(({ type }) => type)).toEqual(['program_called', 'program_call_finished'])
})

describe('the slot', () => {
  test('stays with the turn during a call that does not wait', async () => {
    const { fake, call } = begun()
    const told = call('quick')
    await fake.end('quick')
    expect([(await told).content, fake.held]).toEqual(['quick', 1])
  })

  test('is released during a wait, and taken again before the program receives the result', async () => {
    const { fake, call } = begun()
    let isTold = false
    const told = call('wait').then(() => {
      isTold = true
    })
    await settled()
    expect(fake.held).toBe(0)
    await fake.end('wait')
    expect(isTold).toBe(false)
    expect(await fake.give()).toBe(1)
    await told
    expect(fake.held).toBe(1)
  })

  test('is taken again once if two waits end together', async () => {
    const { fake, call } = begun()
    const told = [call('wait 1'), call('wait 2')]
    await fake.end('wait 1')
    expect(await fake.give()).toBe(0)
    await fake.end('wait 2')
    expect(await fake.give()).toBe(1)
    await Promise.all(told)
    expect(fake.held).toBe(1)
  })

  test('is released again if another wait began while it was taken', async () => {
    const { fake, call } = begun()
    const first = call('wait 1')
    await fake.end('wait 1')
    const second = call('wait 2')
    await settled()
    await fake.give()
    expect((await first).content).toBe('wait 1')
    expect(fake.held).toBe(0)
    await fake.end('wait 2')
    await fake.give()
    await second
    expect(fake.held).toBe(1)
  })

  test('that cannot be taken again loses no result', async () => {
    const { fake, call } = begun()
    const told = call('wait')
    await fake.end('wait')
    await fake.give('refuse')
    expect((await told).content).toBe('wait')
    expect(fake.finished()).toEqual(['wait'])
  })
})

describe('a call', () => {
  test('after the end of the turn is refused, and one in flight at that end has no result recorded', async () => {
    const { fake, calls, call } = begun()
    const under = call('quick')
    await settled()
    calls.close()
    await fake.end('quick')
    expect((await under).content).toBe('Refused: the turn of this agent is over.')
    expect((await call('later')).content).toBe('Refused: the turn of this agent is over.')
    expect(fake.events.map(({ type }) => type)).toEqual(['program_called'])
  })

  test('that still waits when substrat is stopped ends its turn, and the program receives no result', async () => {
    const { fake, call } = begun()
    const vain = call('quick')
    await fake.end('quick', { isOpen: true })
    expect((await vain).content).toBe('quick')
    fake.isShuttingDown = true
    const last = call('late')
    await fake.end('late', { isOpen: true })
    expect((await last).content).toBe('Refused: the turn of this agent is over.')
    expect(fake.finished()).toEqual(['quick'])
  })

  test('after `complete` is refused', async () => {
    const { fake, calls, call } = begun()
    const done = call('complete')
    await fake.end('complete', { ends: 'the result' })
    await done
    expect(calls.isDone).toBe(true)
    expect((await call('later')).content).toBe('Refused: the turn of this agent is over.')
  })

  test('whose connection closes is cancelled, and its effects on the agent are dropped', async () => {
    const { fake, calls } = begun()
    const gone = new AbortController()
    const told = calls.call('complete', {}, gone.signal)
    gone.abort()
    const records: NewRecord[] = [{ kind: 'mail.answered' }]
    await fake.end('complete', { ends: 'the result', records })
    expect((await told).content).toBe('Cancelled by the program before the call finished.')
    expect(calls.isDone).toBe(false)
    expect(fake.events[1]).not.toHaveProperty('records')
  })
})
