/** A home with agents in many states, and commands that change them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Postgres, RUN } from '../../support/postgres.js'

/** Interrupts its first turn. The next one, in the same workspace, replies. */
const DIES_ONCE = '[ -e died ] || { touch died; kill -9 $PPID; }; echo back'
const ASKS = { responses: [{ tools: [{ name: 'shell', input: { command: 'echo hi' } }] }, { say: 'done' }] }

/** The commands whose calls are lost, by name. Each can be repeated: then it changes nothing, or fails. */
export const COMMANDS: Record<string, string[]> = {
  spawn: ['spawn', '--name', 'new', '--provider', 'scripted', '--if-exists', 'use'],
  'spawn with a prompt': ['spawn', '--name', 'new', '--provider', 'scripted', '--if-exists', 'use', 'hello'],
  send: ['send', 'notes', 'hello', '--key', 'k1'],
  'send --queue': ['send', 'notes', 'later', '--queue', '--key', 'k2'],
  'send --from': ['send', 'kid', 'hello', '--from', 'lead', '--key', 'k3'],
  'send to a queue': ['send', 'queued', 'now', '--key', 'k4'],
  deliver: ['deliver', '--all'],
  resume: ['resume', 'dead'],
  recover: ['recover', '--all'],
  approve: ['approve', 'asks'],
  deny: ['deny', 'asks'],
  cancel: ['cancel', 'asks'],
  suspend: ['suspend', 'notes'],
  gate: ['gate', 'notes'],
  ungate: ['ungate', 'gated'],
  terminate: ['terminate', 'lead', '--recursive'],
  remove: ['remove', 'gone'],
  fork: ['fork', 'notes', '--name', 'copy'],
  set: ['set', 'notes', '--model', 'other'],
  config: ['config', 'set', 'max_steps', '7'],
  inbox: ['inbox', '--take'],
  import: ['import', 'notes.bundle', '--name', 'imported'],
}

export interface Answer {
  exit: number | null
  stdout: string
  stderr: string
}

export class FaultyHome {
  private constructor(
    private readonly server: Postgres,
    readonly workspace: string,
    readonly template: string,
  ) {}

  static async make(server: Postgres, workspace: string): Promise<FaultyHome> {
    mkdirSync(workspace, { recursive: true })
    writeFileSync(path.join(workspace, 'asks.json'), JSON.stringify(ASKS))
    const home = new FaultyHome(server, workspace, await server.newHome())
    const scripted = (name: string, ...more: string[]) => [
      'spawn',
      '--name',
      name,
      '--provider',
      'scripted',
      ...more,
    ]
    for (const argv of [
      scripted('notes', 'first'),
      scripted('queued'),
      ['send', 'queued', 'before', '--queue'],
      scripted('gated'),
      ['gate', 'gated'],
      ['send', 'gated', 'behind the gate', '--queue'],
      scripted('lead', 'first'),
      scripted('kid', '--parent', 'lead'),
      scripted('gone', 'first'),
      ['terminate', 'gone'],
      scripted('asks', '--option', 'scenario=asks.json', 'go'),
      ['spawn', '--name', 'dead', '--provider', 'exec', '--option', `command=${DIES_ONCE}`, 'go'],
      ['send', 'notes', 'answer me', '--queue'],
      ['deliver', 'notes'],
      ['export', 'notes', '--bundle', 'notes.bundle'],
    ])
      await home.run(home.template, argv)
    // The killed holder's.
    await server.query(home.template, 'update substrat.hold set lease = null, expires_at = null')
    return home
  }

  /** `onStart` gets the process. `host`: the directory of the socket. */
  run(
    database: string,
    argv: string[],
    { host, onStart }: { host?: string; onStart?: (child: ChildProcess) => void } = {},
  ): Promise<Answer> {
    const child = spawn(process.execPath, [RUN, ...argv], {
      cwd: this.workspace,
      env: {
        ...this.server.environment(database),
        SUBSTRAT_HOME: this.server.url(database, 'postgres', host),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onStart?.(child)
    const answer = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (bytes) => {
        answer[stream] += bytes
      })
    return new Promise((resolve) => child.once('close', (exit) => resolve({ exit, ...answer })))
  }
}
