/**
 * Kills a peer in the middle of a prompt, and repeats the prompt as its user would. Records the outcome without judging
 * it.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../../test/support/wait.js'
import { Job, type Phase } from '../real/kills/job.js'
import type { Strike } from '../real/kills/modes.js'
import { strike, targetsOf } from '../real/kills/targets.js'
import type { Acpx } from './acpx.js'

export interface PeerMode {
  name: string
  /** `client` is the command alone; `substrat` means all of the peer's own processes. */
  to: Strike['to'] | 'client'
  signal: NodeJS.Signals
}

export const PEER_MODES: PeerMode[] = [
  { name: 'command', to: 'client', signal: 'SIGKILL' },
  { name: 'command and queue owner', to: 'substrat', signal: 'SIGKILL' },
  { name: 'everything', to: 'all', signal: 'SIGKILL' },
  { name: 'program', to: 'program', signal: 'SIGKILL' },
  { name: 'SIGTERM to all', to: 'all', signal: 'SIGTERM' },
]

export interface PeerKill {
  mode: string
  phase: Phase
  struck: string
  /** The exit statuses of the repeated command, until it printed the reply. */
  again: string[]
  /** Whether the work was done without a new command. */
  wentOn: boolean
  replied: boolean
  timesDone: number
  /** How often the native session has the prompt. */
  bare: number
  told: boolean
  /** Processes that were alive before the command was repeated. */
  left: number
}

const AGAIN_MAX = 3
const ALONE_MS = 4000
const CLEAR_MS_MAX = 10_000

export async function killPeer(acpx: Acpx, mode: PeerMode, phase: Phase, number: number): Promise<PeerKill> {
  const id = `mark-peer-${number}`
  const { trial } = acpx
  const job = new Job(id, phase, trial.program, join(trial.place.workspace, `${id}.txt`))
  trial.model.answer = (asked) => job.answer(asked)
  await acpx.begin()
  const sender = acpx.prompt(job.prompt)
  await Promise.race([job.waitForPhase(), sender.ended.then(({ code }) => throwTooEarly(code))])
  const pids =
    mode.to === 'client' ? [sender.child.pid as number] : targetsOf(mode.to, acpx.own(), acpx.all())
  strike(pids, mode.signal)
  job.release()
  const struck = await sender.ended
  const before = job.deliveries.length
  await sleep(ALONE_MS)
  const wentOn = job.timesDone() > 0 && job.deliveries.slice(before).some(({ isNew }) => !isNew)
  const left = acpx.all().length
  const again: string[] = []
  let replied = false
  while (again.length < AGAIN_MAX && !replied) {
    const { code, signal, stdout } = await acpx.prompt(job.prompt).ended
    again.push(String(code ?? signal))
    replied = stdout.includes(job.reply)
  }
  const result = { wentOn, replied, timesDone: job.timesDone(), left, again, mode: mode.name, phase }
  await clearAway(acpx)
  const bare = Math.max(0, ...job.deliveries.map((each) => each.bare))
  const told = job.deliveries.some((each) => each.told > 0)
  return { ...result, struck: String(struck.code ?? struck.signal), bare, told }
}

function throwTooEarly(code: number | null): never {
  throw new Error(`the prompt ended before its phase, with ${code}`)
}

export async function clearAway(acpx: Acpx): Promise<void> {
  strike(acpx.all(), 'SIGKILL')
  await waitFor(() => acpx.all().length === 0, 'the last process to go', CLEAR_MS_MAX)
}
