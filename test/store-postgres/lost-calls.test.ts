/**
 * Calls of commands are lost, before and after the server has executed them, and commands are killed there. `npm run test:labs` loses
 * the answers of the calls that change something, each once after each call that precedes it in some command, and at least the last
 * answer of each command; LOST_CALLS=all loses every call of every command, both ways.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres, whyNoPostgres } from '../support/postgres.js'
import { type Fault, type Loss, PostgresProxy } from '../support/postgres-proxy.js'
import { type Answer, COMMANDS, FaultyHome, NO_CALLS } from './faults/home.js'
import { anonymousText, conversationsOf, viewOf } from './faults/view.js'

const MANIFEST = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../../oclif.manifest.json'), 'utf8'),
) as { commands: Record<string, unknown> }
const IS_ALL = process.env.LOST_CALLS === 'all'
/** Half of the commands wait for each other (`VISITS`). */
const LIMIT_MS = IS_ALL ? 3 * 60 * 60_000 : undefined
const LOSSES: Loss[] = IS_ALL ? ['unsent', 'unanswered'] : ['unanswered']
const CHANGES =
  /^(take|take_hold|append|end_turn|rest|create_agent|remove_agent|(put|move|replace)_mail|.*_name|write_.*)$/
/** On a socket, the thread of the command executes them; over TCP, another one does (`BlockingExecutor`, `ThreadExecutor`). */
const WAYS = ['a socket', 'TCP'] as const
type Way = (typeof WAYS)[number]
const ALSO_BY_TCP = ['send', 'import']
/** These lose each call that changes something. */
const IN_FULL = ['send', 'import']
/** This one is killed in every run of the tests. The kill sweep (test/stress/kill-sweep-postgres.test.ts) kills others. */
const KILLED = ['import']
/** Repeating these has an effect: a prompt is sent again, and a tool that was killed waits for a decision. */
const NOT_REPEATED = ['spawn with a prompt', 'approve']
const RECOVER = ['recover', '--all']
const DELIVER = ['deliver', '--all']

function faultsIn(calls: string[], isNew: (steps: string) => boolean = () => true): Fault[] {
  const places = calls.flatMap((name, index) => {
    const isPlace = IS_ALL || (CHANGES.test(name) && isNew(`${calls[index - 1]}, ${name}`))
    return isPlace ? [index + 1] : []
  })
  return LOSSES.flatMap((loss) => places.map((at) => ({ at, loss })))
}

function place({ at, loss }: Fault, calls: string[]): string {
  return `${loss} call ${at}, ${calls[at - 1]}`
}

test('the calls of each command are lost, or the reason is named', () => {
  const ids = Object.keys(MANIFEST.commands)
  const lost = Object.values(COMMANDS).map(([first = '', second = '']) =>
    ids.includes(`${first}:${second}`) ? `${first}:${second}` : first,
  )
  expect([...new Set([...lost, ...Object.keys(NO_CALLS)])].sort()).toEqual(ids.sort())
})

describe.skipIf(whyNoPostgres() !== undefined)('a home in PostgreSQL', () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'lost-calls-'))
  let server: Postgres
  let home: FaultyHome
  beforeAll(async () => {
    server = new Postgres()
    home = await FaultyHome.make(server, path.join(root, 'workspace'))
  })
  afterAll(() => {
    server?.remove()
    rmSync(root, { recursive: true, force: true })
  })

  describe.each(WAYS)('by %s,', (way) => {
    const commands = Object.entries(COMMANDS).filter(
      ([name]) => IS_ALL || way === 'a socket' || ALSO_BY_TCP.includes(name),
    )
    const wholes = new Map<string, Awaited<ReturnType<typeof outcome>>>()

    // The suite is not concurrent itself: the next one waits for it.
    describe('if no connection breaks,', () => {
      test.concurrent.each(commands)('%s succeeds or is refused', async (name, argv) => {
        const whole = await outcome(way, argv)
        expect(whole.answer.exit, whole.answer.stderr).toBeLessThan(7)
        wholes.set(name, whole)
      })
    })

    /** Chosen in the order of the commands, so that it does not depend on which command ends first. */
    const faultsOf = (command: string): Fault[] => {
      const seen = new Set<string>()
      for (const [name] of commands) {
        const isNew = (steps: string): boolean => seen.size < seen.add(steps).size || IN_FULL.includes(name)
        const { calls } = wholes.get(name) ?? { calls: [] }
        const faults = faultsIn(calls, isNew)
        if (name !== command) continue
        return faults.length > 0 ? faults : [{ at: calls.length, loss: 'unanswered' }]
      }
      return []
    }
    describe.concurrent('if one breaks at a call,', () => {
      test.each(commands)(
        '%s has the same result',
        async (name, argv) => {
          const whole = wholes.get(name)
          assert(whole !== undefined, `${name} failed without a fault, or its first test was not selected`)
          for (const fault of faultsOf(name)) {
            const { answer, view, calls } = await outcome(way, argv, fault)
            const where = `${place(fault, calls)}: ${answer.stderr}`
            // Turns of different agents run at once, so it may be another call than in the whole run.
            expect(calls.length, where).toBeGreaterThanOrEqual(fault.at)
            const said = anonymousText(whole.answer.stdout)
            expect([answer.exit, anonymousText(answer.stdout)], where).toEqual([whole.answer.exit, said])
            expect(view, where).toEqual(whole.view)
          }
        },
        LIMIT_MS,
      )
    })
  })

  describe.concurrent('if it is killed at a call and repeated,', () => {
    const killed = Object.entries(COMMANDS).filter(
      ([name]) => KILLED.includes(name) || (IS_ALL && !NOT_REPEATED.includes(name)),
    )
    test.each(killed)(
      '%s loses and doubles nothing',
      async (_name, argv) => {
        const whole = await repeated(argv)
        for (const fault of faultsIn(whole.calls)) {
          const { said, calls } = await repeated(argv, fault)
          expect(said, `killed at ${place(fault, calls)}`).toEqual(whole.said)
        }
      },
      LIMIT_MS,
    )
  })

  /** Runs the command in a copy of the home. */
  async function outcome(way: Way, argv: string[], fault?: Fault) {
    const database = await server.copy(home.template)
    const { answer, calls } = await through(way, database, argv, fault)
    const view = await viewOf(server, database)
    await server.drop(database)
    return { answer, calls, view }
  }

  /** Runs the command, kills it at the fault, recovers, and repeats it. */
  async function repeated(argv: string[], fault?: Fault) {
    const database = await server.copy(home.template)
    const { calls } = await through('a socket', database, argv, fault, true)
    for (const next of [RECOVER, argv, DELIVER]) await home.run(database, next)
    await expectSound(database)
    const said = await conversationsOf(server, database)
    await server.drop(database)
    return { calls, said }
  }

  async function through(way: Way, database: string, argv: string[], fault?: Fault, isKilled = false) {
    let kill = (): void => undefined
    const proxy = await PostgresProxy.before(
      server.directory,
      fault && { ...fault, onLoss: () => isKilled && kill() },
    )
    try {
      const answer: Answer = await home.run(database, argv, {
        url: way === 'TCP' ? proxy.url(database) : server.url(database, 'postgres', proxy.directory),
        onStart: (child) => {
          kill = () => child.kill('SIGKILL')
        },
      })
      return { answer, calls: proxy.calls }
    } finally {
      await proxy.close()
    }
  }

  async function expectSound(database: string): Promise<void> {
    const doctor = await home.run(database, ['doctor', '--all'])
    expect(doctor.exit, doctor.stdout + doctor.stderr).toBe(0)
  }
})
