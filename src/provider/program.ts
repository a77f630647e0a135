/**
 * Starts the programs of a turn.
 *
 * Invariant: a program execs only after the record that names its process group is durable (the start barrier). If substrat dies
 * before that, the shell reads end-of-file on the barrier and exits.
 */
import { ProgramFiles } from '../files/program-files.js'
import type { ProcessGroup } from '../schema/types.js'
import { randomUuid } from '../start/random.js'
import type { LeaseDeadline } from '../storage/store.js'
import type { AgentHost, CallOptions, LaunchCommand, LaunchedProgram, ToolServer } from './host-contract.js'
import { killGroup, membersOf, type ProcessTag } from './process-group.js'
import { startBehindBarrier } from './start-barrier.js'

export interface LaunchEnvironment {
  /** SUBSTRAT_HOME, SUBSTRAT_AGENT, SUBSTRAT_RUN, SUBSTRAT_LOG. */
  environment: Record<string, string>
  /** Variables of our environment that the program does not receive. */
  withheld?: string[]
  /** The tool server that the program may start, or null. */
  tools?: ToolServer | null
  files?: ProgramFiles
  /** The end of the lease under which the programs run, if it ends by itself. */
  deadline?: LeaseDeadline | undefined
  /** Makes the group durable. The program execs only after this returns. */
  record(group: ProcessGroup): void
}

/** The host without kept servers: `KeptServerHost` adds them. */
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
  const start = { environment, tag, output: 'pipe' as const, deadline: context.deadline }
  const { child, group, exited, leash } = await startBehindBarrier(command, start, options, context.record)
  // `kill` or the leash kills processes that the program leaves in its group.
  void exited.then(() => {
    if (membersOf(group, undefined).length === 0) leash.release()
  })
  return {
    stdin: child.stdin as unknown as NodeJS.WritableStream,
    stdout: child.stdout as NodeJS.ReadableStream,
    stderr: child.stderr as NodeJS.ReadableStream,
    exited,
    async kill(graceMs) {
      if (await killGroup(group, undefined, graceMs)) leash.release()
    },
  }
}

/**
 * Variables of our environment that no program receives. A program could print the user's resume token, and its output is in the
 * log. The tags may be there because substrat itself runs inside another agent's server or tool.
 */
export const NEVER_PASSED_ON = [
  'SUBSTRAT_TOKEN',
  'SUBSTRAT_SERVER',
  'SUBSTRAT_LAUNCH',
  // A tool that runs this command may have set these, for its own call.
  'SUBSTRAT_CALL',
  'SUBSTRAT_ATTEMPT',
  'SUBSTRAT_MESSAGE_KEY',
]

export function environmentWithout(names: string[]): Record<string, undefined> {
  return Object.fromEntries(names.map((name) => [name, undefined]))
}
