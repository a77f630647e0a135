/**
 * The programs that a turn starts.
 *
 * Invariant: a program execs only after the record that names its process group is durable (the start barrier). Before that, the
 * death of substrat is end-of-file on the barrier, and the shell exits.
 */
import { ProgramFiles } from '../files/program-files.js'
import type { ProcessGroup } from '../session/fields.js'
import { randomUuid } from '../start/random.js'
import type {
  AgentHost,
  CallOptions,
  LaunchCommand,
  LaunchedProgram,
  McpStdioServer,
} from './host-contract.js'
import { killGroup, membersOf, type ProcessTag } from './process-group.js'
import { startBehindBarrier } from './start-barrier.js'

export interface LaunchEnvironment {
  /** SUBSTRAT_HOME, SUBSTRAT_AGENT, SUBSTRAT_RUN, SUBSTRAT_LOG. */
  environment: Record<string, string>
  /** Variables of our own environment that the program is not given. */
  withheld?: string[]
  /** The tool server that the program may start; null where it is to have none. */
  tools?: McpStdioServer | null
  files?: ProgramFiles
  /** Makes the group durable; the program runs only once this has returned. */
  record(group: ProcessGroup): void
}

/** Nothing that outlives the turn: see `KeptServerHost`. */
export function createHost(context: LaunchEnvironment): AgentHost {
  const { files = new ProgramFiles() } = context
  return {
    launch: (command, options) => launch(context, command, options),
    privateFile: (name, text) => files.write(name, text),
    tools: context.tools ?? null,
    launchServer: null,
    server: null,
  }
}

async function launch(
  context: LaunchEnvironment,
  command: LaunchCommand,
  options: CallOptions,
): Promise<LaunchedProgram> {
  const environment = {
    ...environmentWithout([...(context.withheld ?? []), ...NEVER_PASSED_ON]),
    ...context.environment,
  }
  const tag: ProcessTag = { variable: 'SUBSTRAT_LAUNCH', value: randomUuid() }
  const start = { environment, tag, output: 'pipe' as const }
  const { child, group, exited, leash } = await startBehindBarrier(command, start, options, context.record)
  // What the program has left in its group is killed by `kill`, or with us.
  const releaseWhenGone = (): void => {
    if (membersOf(group, undefined).length === 0) leash.release()
  }
  void exited.then(releaseWhenGone)
  return {
    stdin: child.stdin as unknown as NodeJS.WritableStream,
    stdout: child.stdout as NodeJS.ReadableStream,
    stderr: child.stderr as NodeJS.ReadableStream,
    exited,
    async kill(graceMs) {
      await killGroup(group, undefined, graceMs)
      releaseWhenGone()
    },
  }
}

/**
 * What our own environment may have and no program is given. A person's token for `resume` is no program's: what it
 * prints is in the log. And we may run within the server, or the tool, of another agent.
 */
const NEVER_PASSED_ON = ['SUBSTRAT_TOKEN', 'SUBSTRAT_SERVER', 'SUBSTRAT_LAUNCH']

export function environmentWithout(names: string[]): Record<string, undefined> {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}
