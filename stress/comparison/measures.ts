/** The questions of the comparison. Each answer comes from a run of the CLI in an empty home. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Cli } from './cli.js'
import { type Finished, type Outcome, Setup } from './setup.js'
import { type Phase, Work } from './work.js'

/** A turn that was killed, with everything that it had started, and the command that followed. */
export interface Killed extends Outcome {
  phase: Phase
  /** The command printed the reply of the killed turn. */
  replied: boolean
  /** How often the work of the turn was done. */
  timesDone: number
  /** How often the prompt stands in the conversation that the model was shown last. */
  prompts: number
  /** Whether that conversation mentions an interruption. */
  warned: boolean
}

export interface Permission extends Outcome {
  /** The fate of the tool call. `refused`: the model got a refusal. `dropped`: the model got nothing. */
  tool: 'ran' | 'refused' | 'dropped'
  /** The command that approves the call afterwards, and whether the tool ran then. */
  approved: (Outcome & { ran: boolean }) | null
}

export interface Syncs {
  /** The files that hold the conversation, relative to the home. */
  files: string[]
  /** How often each of them was synced. For a database this includes its log. */
  session: Record<string, number>
  /** How often any other file or directory in the home was synced. */
  other: number
}

interface Keyed {
  command: string
  /** How the second run of the same command ended. */
  second: Outcome
  /** How often the model got the prompt. */
  asked: number
}

export interface Key {
  /** The lines of the help that name one. */
  help: string[]
  keyed: Keyed | null
}

export async function versionOf(cli: Cli): Promise<string> {
  return inSetup(cli, async (setup) => {
    const { stdout } = await setup.run(cli.version)
    return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? stdout.trim()
  })
}

/** Kills a turn in this phase, and runs `next` or `again`. */
export function kill(cli: Cli, phase: Phase, then: 'next' | 'again'): Promise<Killed> {
  return inSetup(cli, async (setup) => {
    const work = new Work(cli, phase, join(setup.place.workspace, 'work.txt'))
    setup.model.answer = (asked) => work.answer(asked)
    const turn = setup.start(cli.ask(work.prompt))
    await Promise.race([work.waitForPhase(), turn.finished.then(throwTooEarly)])
    if (work.isWarned) throw new Error('its own prompt mentions an interruption')
    await setup.killAll()
    await turn.finished
    work.release()
    const finished = await setup.run(then === 'next' ? cli.next : cli.again(work.prompt))
    return {
      phase,
      ...outcomeOf(finished),
      replied: finished.stdout.includes(work.reply),
      timesDone: work.timesDone(),
      prompts: work.prompts,
      warned: work.isWarned,
    }
  })
}

export function syncs(cli: Cli): Promise<Syncs> {
  return inSetup(cli, async (setup) => {
    const { home, workspace } = setup.place
    const prompt = 'Say hello to job-8.'
    const trace = join(workspace, 'strace')
    const calls = 'fsync,fdatasync,sync_file_range,msync,rename,renameat,renameat2,open,openat'
    const { exit, says } = await setup.run(cli.ask(prompt), [
      'strace',
      '-f',
      '-qq',
      '-y',
      '-e',
      calls,
      '-o',
      trace,
    ])
    if (exit !== 0) throw new Error(`under strace it exited ${exit}: ${says}`)
    const store = cli.store(setup.place)
    const files = readdirSync(store, { recursive: true, encoding: 'utf8' })
      .map((name) => join(store, name))
      .filter((file) => statSync(file).isFile() && readFileSync(file).includes(prompt))
    const synced = syncedIn(readFileSync(trace, 'utf8')).filter((file) => file.startsWith(home))
    const ofSession = synced.filter((one) => files.some((file) => isOf(one, file)))
    const session: Record<string, number> = {}
    for (const file of ofSession) session[relative(home, file)] = (session[relative(home, file)] ?? 0) + 1
    const names = files.map((file) => relative(home, file)).sort()
    return { files: names, session, other: synced.length - ofSession.length }
  })
}

export function permission(cli: Cli): Promise<Permission> {
  return inSetup(cli, async (setup) => {
    const file = join(setup.place.workspace, 'made.txt')
    const call = cli.runCall(`echo made > '${file}'`)
    let results = 0
    setup.model.answer = ({ isAfterTool, tools, texts }) => {
      if (!tools.includes(call.name) || !texts.some((text) => text.includes('job-9'))) return { text: 'ok' }
      if (!isAfterTool) return { tool_calls: [call] }
      results += 1
      return { text: 'The tool has answered.' }
    }
    const finished = await setup.run(cli.askGuarded('Do job-9 with the tool.'))
    const tool = existsSync(file) ? 'ran' : results > 0 ? 'refused' : 'dropped'
    if (tool === 'ran' || cli.approve === undefined) return { ...outcomeOf(finished), tool, approved: null }
    const approved = outcomeOf(await setup.run(cli.approve))
    return { ...outcomeOf(finished), tool, approved: { ...approved, ran: existsSync(file) } }
  })
}

/** The model answers every request with this error. */
export function failingModel(cli: Cli, error: 'rate_limit' | 'authentication'): Promise<Outcome> {
  return inSetup(cli, async (setup) => {
    const headers: Record<string, string> = error === 'rate_limit' ? { 'retry-after': '3600' } : {}
    setup.model.answer = () => ({ fault: { error, headers } })
    return outcomeOf(await setup.run(cli.ask('Say hello.')))
  })
}

export async function key(cli: Cli): Promise<Key> {
  const help = await inSetup(cli, async (setup) => {
    const texts: string[] = []
    for (const argv of cli.help) {
      const { stdout, stderr } = await setup.run(argv)
      texts.push(stdout + stderr)
    }
    return texts.join('\n')
  })
  const lines = help
    .split('\n')
    .filter((line) => /idempot|dedup|at most once|--key\b|--request-id/i.test(line))
  return { help: lines.map((line) => line.trim()), keyed: await measureKey(cli) }
}

function measureKey(cli: Cli): Promise<Keyed> | null {
  const { keyed: argvOf } = cli
  if (argvOf === undefined) return null
  return inSetup(cli, async (setup) => {
    const prompt = 'Say hello to job-10.'
    const argv = argvOf(prompt)
    const { command } = await setup.run(argv)
    const second = outcomeOf(await setup.run(argv))
    const asked = setup.model.asked.filter(
      ({ latest, tools }) => tools.length > 0 && latest.includes(prompt),
    ).length
    return { command, second, asked }
  })
}

async function inSetup<Value>(cli: Cli, act: (setup: Setup) => Promise<Value>): Promise<Value> {
  const setup = await Setup.open(cli)
  try {
    return await act(setup)
  } finally {
    await setup.close()
  }
}

function outcomeOf({ command, exit, seconds, says }: Finished): Outcome {
  return { command, exit, seconds, says }
}

function throwTooEarly({ exit, says }: Finished): never {
  throw new Error(`the turn ended before its phase: ${exit} ${says}`)
}

/** The files that were synced, by the names that they have in the end. */
function syncedIn(trace: string): string[] {
  const synced: string[] = []
  for (const line of trace.split('\n')) {
    const sync = /\b(?:fsync|fdatasync|sync_file_range)\(\d+<([^>]*)>/.exec(line)?.[1]
    const open = /\bopen(?:at)?\(.*"([^"]*)", [A-Z_|]*O_D?SYNC/.exec(line)?.[1]
    const [, from, to] = /\brename\w*\(.*?"([^"]*)".*?"([^"]*)"/.exec(line) ?? []
    if (sync !== undefined) synced.push(sync)
    else if (open !== undefined) synced.push(open)
    else if (from !== undefined && to !== undefined) {
      for (const [i, file] of synced.entries()) if (file === from) synced[i] = to
    }
  }
  return synced
}

/** SQLite syncs the journal or the write-ahead log of a database in its place. */
function isOf(synced: string, file: string): boolean {
  const database = file.replace(/-(wal|journal|shm)$/, '')
  return [file, database, `${database}-wal`, `${database}-journal`].includes(synced)
}
