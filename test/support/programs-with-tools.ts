/** Agents whose own program speaks MCP through `substrat mcp`, and the same protocol by hand. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildSync } from 'esbuild'
import { afterAll, expect } from 'vitest'
import type { NewRecord } from '../../src/session/records.js'
import type { House, Result, RunOptions } from './cli.js'
import { waitFor } from './wait.js'

const RUN_JS = path.join(import.meta.dirname, '..', '..', 'bin', 'run.js')

const directory = mkdtempSync(path.join(tmpdir(), 'substrat-test-'))
const CLIENT = path.join(directory, 'mcp-client.mjs')
// Bundled, because the SDK's many files cost each program an eighth of a second of CPU.
buildSync({
  entryPoints: [path.join(import.meta.dirname, 'mcp-client.mjs')],
  outfile: CLIENT,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  banner: {
    js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)`,
  },
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

export type Call = [name: string, input?: object]

/** An agent whose program calls the tools that its prompt names; see mcp-client.mjs. */
export function program(house: House, name: string, ...flags: string[]): Promise<string> {
  const command = `RUN_JS=${RUN_JS} ${process.execPath} ${CLIENT}`
  return house.spawn(name, '--provider', 'exec', '--option', `command=${command}`, ...flags)
}

export function prompt(...calls: Call[]): string {
  return JSON.stringify(calls.map(([name, input = {}]) => [name, input]))
}

export interface Called {
  isError: boolean
  text: string
}

/** The results of the calls that have one. */
export async function callsOf(house: House, name: string, ...calls: Call[]): Promise<Called[]> {
  const { exit, stdout, stderr } = await house.run(['send', name, prompt(...calls)])
  expect(exit, stderr).toBe(0)
  return answersIn(stdout)
}

export function answersIn(stdout: string): Called[] {
  return JSON.parse(stdout).map(([isError, text]: [boolean, string]) => ({ isError, text }))
}

/** The programs' calls in the log, each with its result, in the order of their intents. */
export function recordedCalls(house: House, id: string): { tool: string; input: unknown; result: string }[] {
  const records = house.records(id) as unknown as NewRecord[]
  const results = new Map(
    records.flatMap((record) => (record.kind === 'tool.finished' ? [[record.call_id, record.content]] : [])),
  )
  return records.flatMap((record) =>
    record.kind === 'tool.started'
      ? [{ tool: record.tool, input: record.input, result: String(results.get(record.call_id)) }]
      : [],
  )
}

/** A paused turn, and the socket that its holder serves. */
export async function servedTurn(
  house: House,
  name: string,
  ...flags: string[]
): Promise<{ id: string; socket: string; end(): void; turn: ReturnType<House['start']> }> {
  // Also ends when its workspace is removed, so that a failed test leaves no process.
  const command = `printenv SUBSTRAT_SOCKET > ${name}.socket; while [ ! -e ${name}.end ] && [ -e ${name}.socket ]; do sleep 0.02; done; rm -f ${name}.end; echo done`
  const id = await house.spawn(name, '--provider', 'exec', '--option', `command=${command}`, ...flags)
  const turn = house.start(['send', name, 'go'])
  await waitFor(() => house.read(`${name}.socket`)?.endsWith('\n') === true, 'the socket of the turn')
  const socket = String(house.read(`${name}.socket`)).trim()
  return { id, socket, turn, end: () => void house.write(`${name}.end`, '') }
}

const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'by-hand', version: '1' } },
}

/** JSON-RPC lines: a handshake, then the calls with ids from 1. */
export function lines(...calls: Call[]): string {
  const requests = calls.map(([name, input = {}]) => ({
    method: 'tools/call',
    params: { name, arguments: input },
  }))
  return [INITIALIZE, ...requests].map((request, id) => line({ id, ...request })).join('')
}

export function line(message: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
}

export function bridged(house: House, socket: string, options: RunOptions): Promise<Result> {
  return house.run(['mcp'], { ...options, env: { ...options.env, SUBSTRAT_SOCKET: socket } })
}

// biome-ignore lint/suspicious/noExplicitAny: what is answered is compared with what is expected
export function answered(stdout: string): any[] {
  return stdout
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => JSON.parse(each))
}
