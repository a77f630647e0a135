/** A toolbox in its own workspace, without a session. */
import { join } from 'node:path'
import type { JsonObject } from '../../src/provider/contract.js'
import type { LaunchCommand, LaunchedProgram } from '../../src/provider/host-contract.js'
import { Toolbox, type ToolboxOptions, type ToolResult } from '../../src/turn/tools/toolbox.js'
import { recordedHost } from './programs.js'
import { tempDirectory } from './temp.js'
import { noTree } from './tree.js'

export interface Bench {
  workspace: string
  home: string
  toolbox: Toolbox
  /** The process groups of the programs that it started. */
  groups: { process_group: number }[]
  notes: string[]
  run(name: string, input: JsonObject, signal?: AbortSignal): Promise<ToolResult>
  startServers(signal?: AbortSignal): Promise<void>
}

export function bench(over: Partial<ToolboxOptions> = {}): Bench {
  const workspace = tempDirectory()
  const home = tempDirectory()
  const { host, groups } = recordedHost()
  const toolbox = new Toolbox({ workspace, home, timeoutMs: 3_600_000, servers: {}, tree: noTree, ...over })
  const notes: string[] = []
  const launchWith =
    (signal: AbortSignal) =>
    (command: LaunchCommand): Promise<LaunchedProgram> =>
      host.launch(command, { signal })
  return {
    workspace,
    home,
    toolbox,
    groups,
    notes,
    run: (name, input, signal = never()) =>
      toolbox.run({ call_id: 'c', name, input }, CALL, signal, launchWith(signal)),
    startServers: (signal = never()) =>
      toolbox.start(
        (_, command) => launchWith(signal)(command),
        signal,
        (text) => void notes.push(text),
      ),
  }
}

const CALL = { run_id: '0'.repeat(8), call_id: 'c', made_at: 'c', allow: [], isRepeat: false }

/** The tool server of the tests; tool-server.mjs lists its ways to misbehave. */
export function serverThat(how: string, ready?: string): ToolboxOptions['servers'][string] {
  const script = join(import.meta.dirname, 'tool-server.mjs')
  return { command: process.execPath, args: [script, how, ...(ready === undefined ? [] : [ready])], env: {} }
}

function never(): AbortSignal {
  return new AbortController().signal
}
