/**
 * The kept server of an agent during a turn: reuses it, or launches another one.
 *
 * Invariants:
 * - A server that a turn uses is recorded as launched by that turn before the provider gets it. After a crash, recovery treats
 *   it like any other program.
 * - A server stays only if the turn completed and the provider kept it. When `close` returns, any other server is dead and its
 *   end is recorded. One that does not die stays recorded, and no other is started.
 * - During the turn a server is on the leash: it dies with this process, or when its lease ends.
 */
import { SubstratError } from '../errors.js'
import { isExiting, ownIdentity } from '../host/identity.js'
import { limits } from '../limits.js'
import type { ProcessGroup } from '../schema/types.js'
import type { Session } from '../session/session.js'
import type { RecordedServer } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { providerFailure } from './failure.js'
import type { AgentHost, CallOptions, KeptServer, LaunchCommand, LaunchedServer } from './host-contract.js'
import { isServerAlive, keptServerError, killKeptServer } from './kept-server.js'
import { type Leash, leash } from './leash.js'
import type { ProcessTag } from './process-group.js'
import { environmentWithout, NEVER_PASSED_ON } from './program.js'
import { startBehindBarrier } from './start-barrier.js'

export interface KeptServerContext {
  /** False if this turn must not keep a server. */
  isOn: boolean
  /** The environment of the run, as for any of its programs. */
  environment: Record<string, string>
  /** Makes the record durable before it returns. */
  persist(
    event:
      | { type: 'launched'; group: ProcessGroup }
      | { type: 'server_kept'; server_id: string; group: ProcessGroup }
      | { type: 'server_stopped'; server_id: string },
  ): void
}

export class KeptServerHost {
  /** Whether a server of an earlier turn has died during this one. It is not our child, so its exit status is unknown. */
  hasDied = false
  private hasKilled = false
  private isKept = false
  private isClosed = false
  private leash: Leash | undefined
  private isReopened = false

  constructor(
    private readonly session: Session,
    private readonly context: KeptServerContext,
  ) {}

  /** Returns the parts of AgentHost for servers. A living kept server is in use from now on. */
  async open(): Promise<Pick<AgentHost, 'launchServer' | 'server'>> {
    // Without /proc, a later command cannot tell whether a server is alive, or which processes belong to it.
    const isOn = this.context.isOn && ownIdentity().start_time > 0
    const server = isOn ? this.keptServer() : undefined
    if (server === undefined) await this.mustStop()
    const launchServer = isOn ? this.launch.bind(this) : null
    return { launchServer, server: server ?? null }
  }

  /** `stays`: the turn completed. */
  async close(stays: boolean): Promise<void> {
    const { warm } = this.session.state
    const { store, id } = this.session
    try {
      if (warm === undefined) return
      // The turn already has its reply. If `servers/` cannot be written, the server is stopped, and the turn still succeeds.
      const touch = (): void => store.local.keptServers.touch(id)
      if (stays && this.isKept && isServerAlive(store.address, warm) && isDone(touch)) {
        this.leash?.release()
        return
      }
      await this.stop(warm, 0)
    } finally {
      this.isClosed = true
    }
  }

  private keptServer(): KeptServer | undefined {
    const { store, id, state } = this.session
    const { warm } = state
    if (warm === undefined || !isServerAlive(store.address, warm)) return undefined
    const handle = store.local.keptServers.readHandle(id, warm.server_id)
    // The substrat process that launched it died before it stored the handle.
    if (handle === undefined) return undefined
    // First the record: if this process dies in between, recovery ends the server. A watcher that started first could be slow
    // and kill the server in the turn of another command, which had found it unused.
    this.context.persist({ type: 'launched', group: warm.group })
    this.leash = leash(warm.group, tagOf(warm.server_id), this.session.leaseDeadline())
    store.local.keptServers.touch(id)
    store.local.keptServers.boundOutput(id)
    this.isKept = true
    this.isReopened = true
    return { handle, ...this.serverParts(warm) }
  }

  private async launch(command: LaunchCommand, options: CallOptions): Promise<LaunchedServer> {
    if (this.isClosed)
      throw providerFailure('crashed', 'the provider launched a server after the end of its turn')
    const { session, context } = this
    const { keptServers: servers } = session.store.local
    await this.mustStop()
    this.isKept = false
    this.isReopened = false
    this.hasDied = this.hasKilled = false
    const server_id = randomUuid()
    // Without the variables of this run: the server also serves later runs.
    const {
      SUBSTRAT_RUN: _,
      SUBSTRAT_SOCKET: __,
      SUBSTRAT_MESSAGE_KEY: ___,
      ...lasting
    } = context.environment
    const environment = {
      ...environmentWithout([...NEVER_PASSED_ON, 'SUBSTRAT_RUN', 'SUBSTRAT_SOCKET']),
      ...lasting,
    }
    servers.touch(session.id)
    // First: in a home of another machine it makes the agent's directory on this host.
    const deadline = session.leaseDeadline()
    const output = servers.openOutput(session.id)
    try {
      const start = {
        environment,
        tag: tagOf(server_id),
        output: output.fd,
        deadline,
      }
      // The record has no lease, because the server is off the leash between turns.
      const started = await startBehindBarrier(command, start, options, ({ lease: _, ...group }) =>
        context.persist({ type: 'server_kept', server_id, group }),
      )
      const { child, group, exited } = started
      this.leash = started.leash
      // The server does not keep this process alive.
      child.unref()
      const keep = async (handle: Uint8Array): Promise<void> => this.keep(server_id, handle)
      return { exited, keep, ...this.serverParts({ server_id, group }) }
    } finally {
      servers.closeOutput(output)
    }
  }

  private keep(serverId: string, handle: Uint8Array): void {
    const { store, id, state } = this.session
    if (this.isClosed || state.warm?.server_id !== serverId) return
    if (!(handle instanceof Uint8Array) || handle.length > limits.serverHandleBytesMax)
      throw providerFailure(
        'crashed',
        'the provider broke its contract: a server handle is not bytes, or is too large',
      )
    store.local.keptServers.writeHandle(id, serverId, handle)
    this.isKept = true
  }

  private serverParts(server: RecordedServer): Pick<KeptServer, 'output' | 'kill'> {
    const { store, id } = this.session
    return {
      output: () => store.local.keptServers.readOutput(id),
      kill: (graceMs) => this.stop(server, graceMs),
    }
  }

  /** Call it before another program uses the server's session. */
  private async mustStop(): Promise<void> {
    await this.stop(this.session.state.warm, 0)
    const { state } = this.session
    if (state.warm !== undefined) throw providerFailure('busy', keptServerError(state).message)
  }

  /**
   * Kills the server, then records its end. After a crash in between, the next holder of the agent's lock does so. A server that
   * does not die stays recorded.
   */
  private async stop(server: RecordedServer | undefined, graceMs: number): Promise<void> {
    if (server === undefined) return
    // The provider may already have killed the server in this turn.
    this.hasDied ||= this.isReopened && !this.hasKilled && hasEnded(this.session, server)
    const outcome = await killKeptServer(this.session, server, graceMs)
    this.hasKilled ||= outcome === 'killed'
    if (this.isClosed || this.session.state.warm?.server_id !== server.server_id) return
    this.isKept = false
    if (outcome === 'foreign' || outcome === 'alive') return
    this.leash?.release()
    this.context.persist({ type: 'server_stopped', server_id: server.server_id })
    // The next server replaces a file that cannot be removed now.
    isDone(() => this.session.store.local.keptServers.forget(this.session.id))
  }
}

/** Its children may live on, and a process that exits closes its connections before it is gone. */
function hasEnded({ store }: Session, server: RecordedServer): boolean {
  return !isServerAlive(store.address, server) || isExiting(server.group.process_group)
}

function tagOf(value: string): ProcessTag {
  return { variable: 'SUBSTRAT_SERVER', value }
}

function isDone(act: () => void): boolean {
  try {
    act()
    return true
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return false
  }
}
