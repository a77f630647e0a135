/** Conformance cases: providers that keep a server between turns. */
import { randomUUID } from 'node:crypto'
import { processGroup } from '../../host/identity.js'
import type { ProcessGroup } from '../../schema/types.js'
import type { AgentProvider, AgentSession } from '../contract.js'
import type { AgentHost, CallOptions, KeptServer, LaunchCommand, LaunchedServer } from '../host-contract.js'
import { killGroup } from '../process-group.js'
import { createHost } from '../program.js'
import { startBehindBarrier } from '../start-barrier.js'
import { type ConformanceCase, type ConformanceFixture, caseOf, demand, neverSignal } from './case.js'
import { checkedTurn } from './events.js'

export function keptServerCases(provider: AgentProvider, fixture: ConformanceFixture): ConformanceCase[] {
  return [
    caseOf('a kept server serves the next turn, which launches no other', () =>
      withServers(async (servers) => {
        const state = await turn(provider, null, fixture, servers.host())
        demand(servers.kept !== null, 'a done turn must keep its server')
        await turn(provider, state, fixture, servers.host())
        demand(servers.launches === 1, `the next turn must use the kept server: ${servers.launches} launches`)
        demand(servers.isLiving, 'suspend must leave the kept server running')
      }),
    ),
    caseOf('a kept server that has died is replaced', () =>
      withServers(async (servers) => {
        const state = await turn(provider, null, fixture, servers.host())
        await servers.killAll()
        await turn(provider, state, fixture, servers.host())
        demand(servers.isLiving, 'the turn must keep another server')
      }),
    ),
    caseOf('stop kills the server', () =>
      withServers(async (servers) => {
        const session = await provider.create(fixture.settings, servers.host())
        await reply(session, fixture)
        await session.stop()
        demand(!servers.isLiving, 'stop must kill the kept server')
      }),
    ),
  ]
}

/** Runs one turn to `done`, and returns the state of its session. */
async function turn(
  provider: AgentProvider,
  state: Uint8Array | null,
  fixture: ConformanceFixture,
  host: AgentHost,
): Promise<Uint8Array | null> {
  const { settings } = fixture
  const session = await (state === null
    ? provider.create(settings, host)
    : provider.restore(state, settings, host))
  await reply(session, fixture)
  return session.suspend()
}

async function reply(session: AgentSession, { prompt, expected }: ConformanceFixture): Promise<void> {
  const { end } = await checkedTurn(session, session.send(prompt, { signal: neverSignal(), allow: [] }))
  demand(
    end.type === 'done' && end.reply.includes(expected),
    `the reply must contain ${JSON.stringify(expected)}`,
  )
}

/** The host's part for servers, in memory: at most one server, which the next turn finds again. */
class Servers {
  kept: KeptServer | null = null
  launches = 0
  private current: ProcessGroup | undefined
  private readonly groups: ProcessGroup[] = []
  private readonly environment = { SUBSTRAT_SERVER: randomUUID(), SUBSTRAT_HOME: '/nonexistent' }

  /** The host of the next turn. */
  host(): AgentHost {
    const record = (group: ProcessGroup): void => void this.groups.push(group)
    return {
      ...createHost({ environment: this.environment, record }),
      launchServer: (command, options) => this.launch(command, options),
      server: this.kept,
    }
  }

  get isLiving(): boolean {
    const pid = this.current?.process_group
    return pid !== undefined && processGroup(pid) === pid
  }

  async killAll(): Promise<void> {
    for (const group of this.groups) await killGroup(group, undefined, 0)
  }

  private async launch(command: LaunchCommand, options: CallOptions): Promise<LaunchedServer> {
    const record = (group: ProcessGroup): void => {
      this.launches += 1
      this.current = group
      this.groups.push(group)
    }
    const tag = { variable: 'SUBSTRAT_SERVER' as const, value: this.environment.SUBSTRAT_SERVER }
    const start = { environment: this.environment, tag, output: 'pipe' as const, deadline: undefined }
    const { child, group, exited } = await startBehindBarrier(command, start, options, record)
    child.stdin?.end()
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (bytes: Buffer) => {
        printed += bytes.toString()
      })
    const server = {
      output: () => printed,
      kill: async (graceMs: number) => {
        this.kept = null
        await killGroup(group, undefined, graceMs)
      },
    }
    const keep = async (handle: Uint8Array): Promise<void> => {
      demand(handle instanceof Uint8Array, 'a handle must be a Uint8Array')
      this.kept = { ...server, handle }
    }
    return { ...server, exited, keep }
  }
}

async function withServers(act: (servers: Servers) => Promise<void>): Promise<void> {
  const servers = new Servers()
  try {
    await act(servers)
  } finally {
    await servers.killAll()
  }
}
