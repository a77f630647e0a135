/** The loopback model of the tests beside a lab: what a turn through a real model provider costs when the model does not. */
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Lab } from '../support/lab.js'

const require = createRequire(import.meta.url)
const repository = dirname(require.resolve('substrat/package.json'))

/** More than a bench asks for: each request is answered at once. */
const ANSWERS = 1000

export async function startModel(lab: Lab): Promise<{ url: string; child: ChildProcess }> {
  const [server, scenario] = [join(lab.root, 'model-server.mjs'), join(lab.root, 'scenario.json')]
  const entryPoints = [join(repository, 'test/support/model-server/main.ts')]
  // Asked for where this source is: it cannot be bundled itself.
  const { build } = require('esbuild') as typeof import('esbuild')
  await build({
    entryPoints,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    outfile: server,
  })
  writeFileSync(scenario, JSON.stringify({ responses: new Array(ANSWERS).fill({ text: 'hello' }) }))
  const child = spawn(process.execPath, [server, scenario, '--end-with-stdin'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve))
  return { url: (JSON.parse(line) as { url: string }).url, child }
}

/** A home with an agent `a` of provider-openai, which has had its first turn. */
export async function homeOfModel(lab: Lab, url: string): Promise<string> {
  const home = lab.newHome()
  await lab.do(home, 'plugins', 'link', join(repository, 'plugins/provider-openai'))
  const options = ['--option', `base_url=${url}/v1`, '--option', 'api=chat', '--model', 'loopback']
  await lab.do(home, 'spawn', '--name', 'a', '--provider', 'openai', ...options)
  await lab.do(home, 'send', 'a', 'hello')
  await lab.do(home, 'send', 'a', 'hello')
  return home
}
