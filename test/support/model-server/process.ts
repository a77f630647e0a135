/**
 * The model server as a separate process: for clients that are killed, or that must not share this process's event
 * loop.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import type { Scenario } from './scenario.js'

export interface ServerProcess {
  url: string
  port: number
  child: ChildProcess
  /** The result of `GET /__requests`. */
  requests(): Promise<RequestSummary[]>
  /** Resolves with its exit status. */
  stop(): Promise<number | null>
}

interface RequestSummary {
  api: string
  body: { [key: string]: unknown }
  attempt: number
  place: number
  status: number
  refusal?: string
  has_key: boolean
}

/** The server ends with this process, however this process ends. */
export async function startServerProcess(scenario: Scenario = { responses: [] }): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'substrat-model-server-'))
  const [bundle, file] = [join(folder, 'model-server.mjs'), join(folder, 'scenario.json')]
  await bundleServer(bundle)
  writeFileSync(file, JSON.stringify(scenario))
  const child = spawn(process.execPath, [bundle, file, '--end-with-stdin'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once('line', resolve))
  const { url, port } = JSON.parse(line) as { url: string; port: number }
  return {
    url,
    port,
    child,
    requests: async () => (await (await fetch(`${url}/__requests`)).json()) as RequestSummary[],
    async stop() {
      child.stdin.end()
      const status = await exited
      rmSync(folder, { recursive: true, force: true })
      return status
    },
  }
}

function bundleServer(outfile: string): Promise<unknown> {
  const entry = join(import.meta.dirname, 'main.ts')
  return build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    outfile,
  })
}
