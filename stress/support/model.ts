/** The strict loopback model of the tests, next to a lab. It checks every history that it receives. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Scenario } from '../../test/support/model-server/scenario.js'
import type { Lab } from './lab.js'

const require = createRequire(import.meta.url)
const repository = dirname(require.resolve('substrat/package.json'))

export type ModelProviderName = 'openai' | 'anthropic'

export class LoopbackModel {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(lab: Pick<Lab, 'root'>, scenario: Scenario): Promise<LoopbackModel> {
    const file = join(lab.root, 'model-scenario.json')
    writeFileSync(file, JSON.stringify(scenario))
    return LoopbackModel.serve(lab, 'test/support/model-server/main.ts', [file, '--end-with-stdin'])
  }

  /** A program of this repository that prints its address as its first line, and ends with its stdin. */
  static async serve(lab: Pick<Lab, 'root'>, source: string, argv: string[]): Promise<LoopbackModel> {
    const server = join(lab.root, 'model-server.mjs')
    // Resolved from this source file, because esbuild itself cannot be bundled.
    const { build } = require('esbuild') as typeof import('esbuild')
    await build({
      entryPoints: [join(repository, source)],
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20.19',
      outfile: server,
    })
    const child = spawn(process.execPath, [server, ...argv], { stdio: ['pipe', 'pipe', 'inherit'] })
    const line = await new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve))
    return new LoopbackModel((JSON.parse(line) as { url: string }).url, child)
  }

  /** The number of requests so far, and those that a real API would have refused. */
  async requests(): Promise<{ count: number; refused: string[] }> {
    const requests = (await (await fetch(`${this.url}/__requests`)).json()) as {
      status: number
      refusal?: string
    }[]
    const refused = requests.filter(({ status }) => status === 400).map(({ refusal }) => refusal ?? '400')
    return { count: requests.length, refused }
  }

  stop(): void {
    this.child.stdin?.end()
  }
}

/** A plugin belongs to a lab, not to a home. */
const linkedIn = new WeakMap<Lab, Set<string>>()

/** Links the plugin in the lab, and returns the flags of `spawn` that point it at the model. */
export async function providerFlags(
  lab: Lab,
  home: string,
  provider: ModelProviderName,
  url: string,
): Promise<string[]> {
  await linkPlugin(lab, home, provider)
  const base = provider === 'openai' ? `${url}/v1` : url
  const options = ['--option', `base_url=${base}`, ...(provider === 'openai' ? ['--option', 'api=chat'] : [])]
  return ['--provider', provider, '--model', 'loopback', ...options]
}

export async function linkPlugin(lab: Lab, home: string, provider: string): Promise<void> {
  const plugin = join(repository, `plugins/provider-${provider}`)
  const linked = linkedIn.get(lab) ?? new Set()
  if (!linked.has(plugin)) await lab.do(home, 'plugins', 'link', plugin)
  linkedIn.set(lab, linked.add(plugin))
}
