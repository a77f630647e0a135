/** A home with agents in many states, and commands that change them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Postgres, RUN } from '../../support/postgres.js'

/** Interrupts its first turn. The next one, in the same workspace, replies. */
const DIES_ONCE = '[ -e died ] || { touch died; kill -9 $PPID; }; echo back'
const CURIOUS = {
  responses: [{ tools: [{ name: 'ask_operator', input: { question: 'Which colour?' } }] }, { say: 'done' }],
}
const FAILS = { responses: [{ fail: { type: 'invalid' } }, { say: 'done' }] }
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
  config: ['config', 'set', 'slots_max', '7'],
  inbox: ['inbox', '--take'],
  import: ['import', 'notes.bundle', '--name', 'imported'],
  answer: ['answer', 'curious', 'blue', '--key', 'k5'],
  retry: ['retry', 'failed'],
  'token rotate': ['token', 'rotate', 'asks'],
  prune: ['prune', '--older-than', '1s'],
  'config unset': ['config', 'unset', 'slots_max'],
  compact: ['compact', 'notes', '--keep', '1'],
  'doctor --rebuild': ['doctor', '--rebuild'],
  wait: ['wait', '--all', 'queued'],
  'schedule add': ['schedule', 'add', 'notes', '0 7 * * *', 'report', '--name', 'daily'],
  check: ['check', '--all'],
  list: ['list', '--all'],
  show: ['show', 'notes'],
  log: ['log', 'notes', '--all'],
  tree: ['tree'],
  search: ['search', 'first'],
  usage: ['usage'],
  outbox: ['outbox', 'notes'],
  'config get': ['config', 'get', 'slots_max'],
  'config list': ['config', 'list'],
}

/** The commands whose calls are not lost, with the reason. */
export const NO_CALLS: Record<string, string> = {
  acp: 'gives turns as send does',
  autocomplete: 'reads no home',
  'channel:run': 'needs a service for conversations; its turns are those of send',
  complete: 'prints names for a shell, and prints nothing if the home cannot be read',
  'config:edit': 'writes as config set does, after an editor',
  'config:path': 'calls nothing',
  export: 'writes a file on the host; a move marks the agent as terminate does',
  migrate: 'migrate.test.ts kills it at calls, and repeats it',
  mcp: 'gives turns as send does',
  models: 'reads only settings',
  'notify:test': 'reads only settings',
  plugins: 'reads only files of the host',
  'plugins:add': 'writes files on the host',
  'plugins:inspect': 'reads only files of the host',
  'plugins:install': 'writes files on the host',
  'plugins:link': 'writes a file on the host',
  'plugins:reset': 'writes files on the host',
  'plugins:uninstall': 'writes files on the host',
  'plugins:update': 'writes files on the host',
  providers: 'reads only settings',
  schema: 'reads no home',
  serve: 'reads as other commands, and starts commands to write',
  'schedule:list': 'reads as list does',
  'schedule:pause': 'changes an agent as set does',
  'schedule:remove': 'changes an agent as set does',
  'schedule:resume': 'changes an agent as set does',
  'schedule:run-now': 'gives a turn as send does',
  'schedule:show': 'reads as show does',
  'serve:token:add': 'writes a file on the host',
  'serve:token:list': 'reads a file on the host',
  'serve:token:revoke': 'writes a file on the host',
  'store:init': 'makes the home; set-up.test.ts repeats it',
  selftest: 'tests this machine in a home of its own; of the database it only opens the home',
  units: 'reads only settings',
  unlock: 'removes the locks of files, which a database has not',
}

export interface Answer {
  exit: number | null
  stdout: string
  stderr: string
}

interface RunOptions {
  /** The database through a proxy. Without it, that of the server. */
  url?: string
  onStart?: (child: ChildProcess) => void
}

/**
 * They continue the turn of `dead`, and kill the programs of its run, which all copies of the home have. So one of them runs at a
 * time: two copies of one home must not run.
 */
const VISITS = ['deliver', 'recover', 'resume']

export class FaultyHome {
  private lastVisit: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly server: Postgres,
    readonly workspace: string,
    readonly template: string,
  ) {}

  static async make(server: Postgres, workspace: string): Promise<FaultyHome> {
    mkdirSync(workspace, { recursive: true })
    for (const [name, script] of Object.entries({ asks: ASKS, curious: CURIOUS, fails: FAILS }))
      writeFileSync(path.join(workspace, `${name}.json`), JSON.stringify(script))
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
      scripted('curious', '--option', 'scenario=curious.json', 'go'),
      scripted('failed', '--option', 'scenario=fails.json', 'go'),
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

  /** `onStart` gets the process. */
  async run(database: string, argv: string[], options: RunOptions = {}): Promise<Answer> {
    if (!VISITS.includes(argv[0] as string)) return this.start(database, argv, options)
    const turn = this.lastVisit.then(() => this.start(database, argv, options))
    this.lastVisit = turn
    return turn
  }

  private start(database: string, argv: string[], { url, onStart }: RunOptions): Promise<Answer> {
    const child = spawn(process.execPath, [RUN, ...argv], {
      cwd: this.workspace,
      env: {
        ...this.server.environment(database),
        SUBSTRAT_HOME: url ?? this.server.url(database),
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
