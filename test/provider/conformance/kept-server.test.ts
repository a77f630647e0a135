/** The suite finds each mistake of a provider with its kept server. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { processGroup } from '../../../src/host/identity.js'
import { conformanceCases } from '../../../src/provider/conformance/conformance.js'
import type { AgentProvider, ProviderSettings } from '../../../src/provider/contract.js'
import type { AgentHost } from '../../../src/provider/host-contract.js'
import { agent } from '../../support/turns.js'

const [SERVES, REPLACES, STOPS] = [
  'a kept server serves the next turn, which launches no other',
  'a kept server that has died is replaced',
  'stop kills the server',
]

interface Habits {
  /** Whether it uses the kept server; `blindly`: even if it is dead. */
  takes?: 'where it lives' | 'blindly' | 'never'
  keeps?: boolean
  killsAtSuspend?: boolean
  killsAtStop?: boolean
}

/** An agent whose server is a sleeping program. Its handle is the pid. */
function keeping(habits: Habits): AgentProvider {
  const { takes = 'where it lives', keeps = true, killsAtSuspend = false, killsAtStop = true } = habits
  const create = async (settings: ProviderSettings, host: AgentHost): Promise<object> => {
    let server = takes === 'never' ? null : host.server
    const isDead = (): boolean => processGroup(Number(Buffer.from(server?.handle ?? []))) === undefined
    if (takes !== 'blindly' && isDead()) server = null
    let running: { kill(graceMs: number): Promise<void> } | null = server
    return {
      async *send(prompt: string, { signal }: { signal: AbortSignal }) {
        if (running === null) {
          const argv: [string, ...string[]] = ['/bin/sh', '-c', 'echo $$; exec sleep 3600']
          const launched = await host.launchServer?.({ argv, cwd: settings.workspace }, { signal })
          while (launched !== undefined && !launched.output().endsWith('\n'))
            await new Promise((resolve) => setTimeout(resolve, 2))
          if (keeps) await launched?.keep(Buffer.from(launched.output().trim()))
          running = launched ?? null
        }
        yield { type: 'state', state: Buffer.from('s') }
        yield { type: 'done', reply: prompt }
      },
      suspend: async () => {
        if (killsAtSuspend) await running?.kill(0)
        return Buffer.from('s')
      },
      stop: async () => {
        if (killsAtStop) await running?.kill(0)
      },
    }
  }
  const restore = (_: unknown, settings: ProviderSettings, host: AgentHost): Promise<object> =>
    create(settings, host)
  return agent({ create, restore })
}

test.each<[string, Habits, string[]]>([
  ['is right', {}, []],
  ['keeps none', { keeps: false }, [SERVES]],
  ['takes none that it kept', { takes: 'never' }, [SERVES]],
  ['takes one that is dead', { takes: 'blindly' }, [REPLACES]],
  ['kills it when it lets go', { killsAtSuspend: true }, [SERVES, REPLACES]],
  ['leaves it when it is stopped', { killsAtStop: false }, [STOPS]],
])('an agent that %s', async (_, habits, expected) => {
  const settings = { workspace: tmpdir(), model: null, instructions: null, options: {} }
  const cases = conformanceCases(keeping(habits), {
    settings,
    prompt: 'hi',
    expected: 'hi',
    keepsServer: true,
  })
  const found: string[] = []
  for (const { title, run } of cases.filter(({ title }) => [SERVES, REPLACES, STOPS].includes(title)))
    await run().catch(() => void found.push(title))
  expect(found).toEqual(expected)
})
