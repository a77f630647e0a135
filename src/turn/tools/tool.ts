/** What a tool is. */
import type { JsonObject, LaunchCommand, LaunchedProgram, ToolDefinition } from '../../provider/contract.js'

export interface Tool extends ToolDefinition {
  /**
   * `reads`: changes nothing, runs freely, and again after a crash. `changes`: asked about unless allowed. `program`: it
   * changes things and is a process. `ask`: answered by a person.
   */
  kind: 'reads' | 'changes' | 'program' | 'ask'
  /** Throws an Error whose message is told to the model as the result. */
  run(input: JsonObject, context: ToolContext): Promise<string | Buffer>
}

interface ToolContext {
  workspace: string
  /** Aborted when the turn is stopped or the tool's time is over. */
  signal: AbortSignal
  /** Starts the program of this call: it runs once its process group is on disk. */
  launch(command: LaunchCommand): Promise<LaunchedProgram>
  /** Where the agent's skills are; see `prompt`. */
  home: string
}

/** A field that must be text. */
export function textField(input: JsonObject, field: string): string {
  const value = input[field]
  if (typeof value !== 'string') throw new Error(`the input needs ${field}, as text`)
  return value
}
