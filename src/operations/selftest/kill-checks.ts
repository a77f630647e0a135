/**
 * Kills sends at times spread over the length of one, and repeats each with its key. The n-th turn runs a tool once, and replies
 * `reply n`.
 */
import { clock } from '../../clock.js'
import { cannotTell, check, doesNotHold, holds } from '../../host/selftest/check.js'
import type { SelftestCheck } from '../../schema/output-home.js'
import type { Ended } from './cli.js'

export const KILLS: [string, string] = [
  'a killed send loses and repeats nothing',
  'doctor finds nothing after the kills',
]

export interface KillWorld {
  /** The n-th message. Killed after that time, if it still runs then. */
  send(n: number, killAfterMs?: number): Promise<Ended>
  /** Removes the lock of a killed command, where it does not end with it. */
  unlock(): Promise<void>
  /** Continues what is left. */
  recover(): Promise<Ended>
  /** The traces of all turns in the log and of the tool, in their order. */
  traces(): Promise<{ prompts: string[]; replies: string[]; effects: string[]; interrupted: number }>
  /** The findings of the audit that no recovery repairs. */
  audit(): Promise<string[]>
}

/** The first sends are not killed: one fills caches, and the fastest of the others says how long one takes. */
const MEASURED = 3
const REPORT = 'keep the output, and report it as a bug of substrat, with the kind of the file system'

const MORE_KILLS = 'repeat it with more kills, so that some come during a turn: substrat selftest --kills 100'

export function promptOf(n: number): string {
  return `message ${n}`
}

export function replyOf(n: number): string {
  return `reply ${n}`
}

export async function killChecks(
  world: KillWorld,
  kills: number,
  onKilled: (done: number) => void = () => undefined,
): Promise<SelftestCheck[]> {
  const survives = await check(KILLS[0], async () => {
    const problems: string[] = []
    const times: number[] = []
    for (let n = 1; n <= MEASURED; n++) {
      const began = clock.monotonic()
      const { exit, stderr } = await world.send(n)
      if (exit !== 0) return doesNotHold(`a send without a kill failed: ${stderr.trim()}`, REPORT)
      times.push(clock.monotonic() - began)
    }
    const tookMs = Math.min(...times.slice(1))
    let killed = 0
    for (let kill = 1; kill <= kills; kill++) {
      const n = MEASURED + kill
      const at = Math.round((tookMs * kill) / kills)
      const first = await world.send(n, at)
      if (first.exit === null) killed += 1
      await world.unlock()
      const again = await world.send(n)
      const wanted = `${replyOf(n)}\n`
      if (again.exit !== 0 || again.stdout !== wanted)
        problems.push(`the send after a kill at ${at} ms exited ${again.exit}: ${again.stderr.trim()}`)
      if (first.stdout !== '' && first.stdout !== wanted)
        problems.push(`the send killed at ${at} ms printed another reply`)
      onKilled(kill)
    }
    const { interrupted, ...traces } = await world.traces()
    problems.push(...wrongIn(traces, MEASURED + kills))
    const [first] = problems
    if (first !== undefined) return doesNotHold(`${problems.length} problems, such as: ${first}`, REPORT)
    const detail = `${killed} of ${kills} sends were killed within ${Math.round(tookMs)} ms, ${interrupted} of them during a turn; each has one prompt, one reply, and its tool ran at most once`
    return interrupted === 0 ? cannotTell(detail, MORE_KILLS) : holds(detail)
  })
  const isClean = await check(KILLS[1], async () => {
    const { exit, stderr } = await world.recover()
    if (exit !== 0) return doesNotHold(`substrat recover exited ${exit}: ${stderr.trim()}`, REPORT)
    const found = await world.audit()
    return found.length === 0
      ? holds('every log was read completely')
      : doesNotHold(`${found.length} findings, such as: ${found[0]}`, REPORT)
  })
  return [survives, isClean]
}

function wrongIn(
  { prompts, replies, effects }: { prompts: string[]; replies: string[]; effects: string[] },
  turns: number,
): string[] {
  const numbers = Array.from({ length: turns }, (_, index) => index + 1)
  const count = (all: string[], wanted: string): number => all.filter((each) => each === wanted).length
  return [
    ...numbers.flatMap((n) => notOnce(`the prompt ${promptOf(n)}`, count(prompts, promptOf(n)))),
    ...numbers.flatMap((n) => notOnce(`the reply ${replyOf(n)}`, count(replies, replyOf(n)))),
    ...numbers.flatMap((n) => {
      const times = count(effects, String(n))
      return times > 1 ? [`the tool of ${promptOf(n)} ran ${times} times`] : []
    }),
  ]
}

function notOnce(what: string, times: number): string[] {
  return times === 1 ? [] : [`${what} is ${times} times in the log`]
}
