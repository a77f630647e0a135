/**
 * `deliver` shares many agents among this process and worker processes, so that the syncs of different agents overlap.
 *
 * A worker is a `substrat deliver` of its own: it takes the same locks and slots and leaves the same files. If it is killed, its
 * turns are interrupted like those of any command, and this process visits its agents. If this process is killed, the workers
 * begin no further turn.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { type ErrorCode, SubstratError } from '../errors.js'
import type { Context, VisitResult } from './context.js'

/** This process and its workers: one more than processors, because one of them waits for the disk. */
const PROCESSES_MAX = Math.min(4, availableParallelism() + 1)
/** Fewer agents are delivered before a second process has started. */
const AGENTS_EACH_MIN = 8
/** Agents that wait in a worker, so that it never waits for this process. */
const AGENTS_AHEAD = 4

type Order =
  | { order: 'begin'; activeMax: number; waitMs: number }
  | { order: 'visit'; agentId: string }
  | { order: 'shutdown'; signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' }
  | { order: 'stop' | 'end' }

interface Report {
  agentId: string
  turns: number
  isHeld: boolean
  error: { code: ErrorCode; message: string; hint: string | undefined; facts: SubstratError['facts'] } | null
}

/**
 * Visits the agents, together with workers, and reports each visit, also those to agents that the turns of a worker woke. Resolves
 * when every worker has ended. Does nothing for few agents. The caller visits the agents that are not reported.
 */
export async function shareAmongWorkers(
  ctx: Context,
  agentIds: string[],
  script: string,
  onVisited: (agentId: string, visited: VisitResult) => void,
): Promise<void> {
  const count = Math.min(PROCESSES_MAX, ctx.bounds.slotsMax, Math.floor(agentIds.length / AGENTS_EACH_MIN))
  if (count < 2) return
  ctx.shutdown.listen()
  const waiting = [...agentIds].reverse()
  const activeMax = Math.floor(ctx.bounds.slotsMax / count)
  const share: Share = { script, activeMax, waiting, onVisited }
  const workers = Array.from({ length: count - 1 }, () => runWorker(ctx, share))
  await Promise.all([...workers, visitOwnShare(ctx, share)])
}

interface Share {
  script: string
  activeMax: number
  /** Shared by all workers. */
  waiting: string[]
  onVisited: (agentId: string, visited: VisitResult) => void
}

/** Takes an agent only when its visit can begin, so that none waits here while a worker is free. */
async function visitOwnShare(ctx: Context, { activeMax, waiting, onVisited }: Share): Promise<void> {
  const taken = new Set<string>()
  const own = ctx.deliveries.contextUnder({
    activeMax,
    onVisited: (agentId, visited) => {
      taken.delete(agentId)
      onVisited(agentId, visited)
      takeMore()
    },
  })
  const takeMore = (): void => {
    while (ctx.shutdown.requested === undefined && taken.size < activeMax) {
      const agentId = waiting.pop()
      if (agentId === undefined) return
      taken.add(agentId)
      own.deliveries.wake(agentId)
    }
  }
  takeMore()
  await own.deliveries.untilIdle()
}

function runWorker(ctx: Context, { script, activeMax, waiting, onVisited }: Share): Promise<void> {
  // A process group of its own: a signal of the terminal reaches the worker once, from this process.
  const worker = fork(script, ['deliver', '--worker'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
    env: { ...process.env, ...ctx.outbound.secrets, ...ctx.store.commandEnvironment },
  })
  const given = new Set<string>()
  let hasEnded = false
  const send = (order: Order): void => sendTo(worker, order)
  const giveMore = (): void => {
    while (ctx.shutdown.requested === undefined && given.size < activeMax + AGENTS_AHEAD) {
      const agentId = waiting.pop()
      if (agentId === undefined) break
      given.add(agentId)
      send({ order: 'visit', agentId })
    }
    if (given.size > 0 || hasEnded) return
    hasEnded = true
    send({ order: 'end' })
  }
  const onShutdown = (): void => {
    const signal = ctx.shutdown.requested
    if (signal !== undefined) send({ order: 'shutdown', signal })
    send({ order: 'end' })
  }
  const onStop = (): void => send({ order: 'stop' })
  worker.on('message', (report: Report) => {
    given.delete(report.agentId)
    onVisited(report.agentId, visitOf(report))
    giveMore()
  })
  send({ order: 'begin', activeMax, waitMs: ctx.bounds.waitMs })
  giveMore()
  if (ctx.shutdown.requested !== undefined) onShutdown()
  const { whenRequested, signal } = ctx.shutdown
  whenRequested.addEventListener('abort', onShutdown)
  signal.addEventListener('abort', onStop)
  return new Promise((resolve) => {
    const onEnd = (): void => {
      whenRequested.removeEventListener('abort', onShutdown)
      signal.removeEventListener('abort', onStop)
      resolve()
    }
    // Either that it did not start, or that an order could not be sent, because it has ended.
    worker.on('error', () => worker.pid === undefined && onEnd())
    worker.on('close', onEnd)
  })
}

function sendTo(worker: ChildProcess, order: Order): void {
  if (worker.connected) worker.send(order)
}

function visitOf({ turns, isHeld, error }: Report): VisitResult {
  if (error === null) return { turns, isHeld, error: undefined }
  const { code, message, hint, facts } = error
  return { turns, isHeld, error: new SubstratError(code, message, { ...(hint && { hint }), facts }) }
}

/** The worker's side: visits the agents that it is given, until the other process ends this or dies. */
export async function workOnDeliveries(command: Context): Promise<void> {
  const onVisited = (agentId: string, { turns, isHeld, error }: VisitResult): void => {
    const failure = error && {
      code: error.code,
      message: error.message,
      hint: error.hint,
      facts: error.facts,
    }
    const report: Report = { agentId, turns, isHeld, error: failure ?? null }
    // The other process may have died.
    if (process.connected) process.send?.(report, () => undefined)
  }
  let ctx = command
  command.shutdown.ignoreSignals()
  await new Promise<void>((resolve) => {
    const onOrder = (order: Order): void => {
      if (order.order === 'begin') {
        const { activeMax, waitMs } = order
        ctx = command.deliveries.contextUnder(
          { turnsMax: Number.POSITIVE_INFINITY, activeMax, onVisited },
          { bounds: { ...command.bounds, waitMs } },
        )
      } else if (order.order === 'visit') ctx.deliveries.wake(order.agentId)
      else if (order.order === 'shutdown') ctx.shutdown.request(order.signal)
      else if (order.order === 'stop') ctx.shutdown.stopNow()
      else resolve()
    }
    process.on('message', onOrder)
    process.on('disconnect', () => {
      ctx.shutdown.request('SIGTERM')
      resolve()
    })
  })
  await ctx.deliveries.untilIdle()
}
