/**
 * Gives a turn a server: the one that an earlier turn kept if it answers and is idle, or else a new one.
 *
 * Invariants:
 * - A server serves one agent.
 * - A server that does not answer at once, or that cannot be made idle, is not used: a turn that died can still run
 *   in it.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentHost, KeptServer, LaunchCommand, LaunchedProgram } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { wordsOfExit } from '../../shared/src/program/exit.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { keepTail, QUIET_MS } from '../../shared/src/program/tail.js'
import { complaintIn, HEALTH_MS_MAX, Server, USER } from './server.js'

const START_MS_MAX = 60_000
/** Time to become idle after an abort. */
const ABORT_MS_MAX = 3000
const POLL_MS = 15
const OUTPUT_BYTES_KEPT = 64 * 1024
const LISTENING = /\bhttp:\/\/\S+(?=\s)/

export interface Start {
  server: Server
  /** A note for the user. */
  note?: string
}

export async function startServer(
  host: AgentHost,
  command: string,
  directory: string,
  signal: AbortSignal,
): Promise<Start> {
  const { server: kept } = host
  if (!kept) return { server: await launchServer(host, command, directory, signal) }
  const warm = await reopenServer(kept, directory)
  if (warm !== undefined) return { server: warm }
  await kept.kill(0)
  const note = 'the kept opencode server does not answer; starting a new one'
  return { server: await launchServer(host, command, directory, signal), note }
}

/** Undefined if the server cannot be used. */
async function reopenServer(kept: KeptServer, directory: string): Promise<Server | undefined> {
  const handle = handleOf(kept.handle)
  if (handle === undefined) return undefined
  const server = new Server(kept, handle, directory, true)
  try {
    const health = objectOf((await server.ask('GET', '/global/health', undefined, HEALTH_MS_MAX)).body)
    if (health?.healthy === true && (await isIdle(server))) return server
  } catch {
    // The server is dead or hangs.
  }
  server.hangUp()
  return undefined
}

async function isIdle(server: Server): Promise<boolean> {
  const told = new Set<string>()
  for (const end = performance.now() + ABORT_MS_MAX; performance.now() < end; await sleep(2 * POLL_MS)) {
    const { status, body } = await server.ask('GET', '/session/status', undefined, HEALTH_MS_MAX)
    const statuses = objectOf(body)
    if (status >= 300 || statuses === undefined) return false
    const busy = Object.keys(statuses).filter((id) => objectOf(statuses[id])?.type !== 'idle')
    if (busy.length === 0) return true
    for (const id of busy.filter((id) => !told.has(id))) {
      told.add(id)
      await server.ask('POST', `/session/${encodeURIComponent(id)}/abort`, {}, HEALTH_MS_MAX)
    }
  }
  return false
}

interface Running {
  output(): string
  untilSettled?(): Promise<void>
  exited: LaunchedProgram['exited']
  kill(graceMs: number): Promise<void>
}

async function launchServer(
  host: AgentHost,
  command: string,
  directory: string,
  signal: AbortSignal,
): Promise<Server> {
  const password = randomBytes(24).toString('base64url')
  const argv: [string, ...string[]] = ['/bin/sh', '-c', `${command} serve --hostname 127.0.0.1 --port 0`]
  const env = { OPENCODE_SERVER_PASSWORD: password, OPENCODE_SERVER_USERNAME: USER }
  const launch = { argv, cwd: directory, env }
  const lasting = await host.launchServer?.(launch, { signal })
  const running = lasting ?? (await launchedForTurn(host, launch, signal))
  try {
    const url = await untilListening(running, command, signal)
    await lasting?.keep(Buffer.from(JSON.stringify({ url, password })))
    return new Server(running, { url, password }, directory, lasting !== undefined)
  } catch (error) {
    await running.kill(0)
    throw error
  }
}

/** Starts a server that ends with the turn, and keeps the end of its output. */
async function launchedForTurn(
  host: AgentHost,
  launch: LaunchCommand,
  signal: AbortSignal,
): Promise<Running> {
  const program = await host.launch(launch, { signal })
  program.stdin.end()
  const { text, untilSettled: settled } = keepTail([program.stdout, program.stderr], OUTPUT_BYTES_KEPT)
  const kill = async (graceMs: number): Promise<void> => {
    await program.kill(graceMs)
    for (const stream of [program.stdout, program.stderr])
      (stream as unknown as { destroy(): void }).destroy()
  }
  return { output: text, untilSettled: settled, exited: program.exited, kill }
}

/** The server's URL, once it has printed it. */
async function untilListening(running: Running, command: string, signal: AbortSignal): Promise<string> {
  let exit: Awaited<LaunchedProgram['exited']> | undefined
  running.exited.then((told) => {
    exit = told
  })
  for (const end = performance.now() + START_MS_MAX; performance.now() < end; await sleep(POLL_MS)) {
    signal.throwIfAborted()
    const hasEnded = exit
    const url = LISTENING.exec(running.output())?.[0]
    if (hasEnded === undefined && url !== undefined) return url
    if (hasEnded === undefined) continue
    // Its children can still be about to print the reason.
    await (running.untilSettled?.() ?? sleep(QUIET_MS))
    const { code } = hasEnded
    const how = wordsOfExit(hasEnded)
    const type = code === 127 || code === 126 ? 'misconfigured' : 'crashed'
    throw failure(type, `${command} serve ${how} before it was listening: ${complaintIn(running.output())}`)
  }
  const why = complaintIn(running.output())
  throw failure('timeout', `${command} serve was not listening after ${START_MS_MAX / 1000} s: ${why}`)
}

function handleOf(bytes: Uint8Array): { url: string; password: string } | undefined {
  try {
    const handle = objectOf(JSON.parse(Buffer.from(bytes).toString()))
    const [url, password] = [textOf(handle?.url), textOf(handle?.password)]
    return url === undefined || password === undefined ? undefined : { url, password }
  } catch {
    return undefined
  }
}
