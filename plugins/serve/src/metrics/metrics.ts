/** `/metrics`: counts from the logs, the agents by status, and times that this server measured. */
import type { Progress } from '../../../shared/src/face/commands.js'
import type { Core, Store } from '../core.js'
import { Counter, exposition, gaugeLines, Histogram } from './families.js'
import { LogCounts } from './log-counts.js'

const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

export class Metrics {
  private readonly counts: LogCounts
  private readonly syncs = new Histogram(
    'substrat_fsync_seconds',
    'Time of an fsync of a log by this server, before it sends or counts records.',
    SECONDS,
  )
  private readonly lockWaits = new Histogram(
    'substrat_lock_wait_seconds',
    'Time until a command of this server was durable, if another process held its agent when it began.',
    SECONDS,
  )
  private readonly errors = new Counter('substrat_command_errors', 'Commands of this server that failed.')

  constructor(private readonly core: Core) {
    this.counts = new LogCounts(core, this.onSync)
  }

  readonly onSync = (seconds: number): void => this.syncs.observe(seconds)

  /** A command begins. */
  begin(store: Store | undefined, agentId: string | undefined): Progress {
    const isHeld = agentId !== undefined && store?.isHeld(agentId) === true
    const began = performance.now()
    let waits = isHeld
    const durable = (): void => {
      if (waits) this.lockWaits.observe((performance.now() - began) / 1000)
      waits = false
    }
    return {
      durable,
      ended: (error) => {
        durable()
        if (error !== undefined) this.errors.add({ code: error.code })
      },
    }
  }

  async text(store: Store | undefined): Promise<string> {
    await this.counts.refresh(store)
    const { core, syncs, lockWaits, errors } = this
    const statuses = new Map<string, number>(core.SHOWN_STATUSES.map((status) => [status, 0]))
    for (const { shown_status: status } of core.listAgents(store, { roots: false, all: true }))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const agents = [...statuses].map(([status, count]): [{ status: string }, number] => [{ status }, count])
    return exposition([
      gaugeLines('substrat_agents', 'Agents by status, as in substrat list.', agents),
      ...this.counts.families(),
      syncs.lines(),
      lockWaits.lines(),
      errors.lines(),
    ])
  }
}
