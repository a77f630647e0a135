/**
 * A call that writes a file, as the change that it would make: a unified diff with the file as it is now. The file can change
 * before the call runs.
 *
 * Invariants: nothing is shown as the whole that is a part, and a line of the file cannot imitate another line of output.
 */
import { structuredPatch } from 'diff/lib/patch/create.js'
import { workspaceFileIfThere } from '../../files/workspace.js'
import type { JsonObject } from '../../provider/contract.js'
import { withoutGaps } from './gaps.js'

interface Call {
  tool: string
  input: JsonObject
}

export interface FileChange {
  /** The fields of the call that the lines stand for. */
  fields: string[]
  head: string
  /** The lines of the diff, each with its sign. */
  lines: string[]
}

/** The tools that write files, of substrat and of agent programs, with the names of their fields. */
const WRITES: Record<string, { path: string; content: string }> = {
  write_file: { path: 'path', content: 'content' },
  Write: { path: 'file_path', content: 'content' },
}
const EDITS: Record<string, { path: string; old: string; new: string }> = {
  edit_file: { path: 'path', old: 'old_text', new: 'new_text' },
  Edit: { path: 'file_path', old: 'old_string', new: 'new_string' },
}

const FILE_BYTES_MAX = 512 * 1024
const DIFF_MS_MAX = 500
const LINE_CHARACTERS_MAX = 300
const CONTEXT_LINES = 3

/** Undefined for a call that writes no file. A sentence if there is no diff. `workspace`: undefined if it is elsewhere. */
export function fileChange(
  workspace: string | undefined,
  call: Call,
  linesMax: number,
): FileChange | string | undefined {
  const names = WRITES[call.tool] ?? EDITS[call.tool]
  if (names === undefined || 'sha256' in call.input) return undefined
  const texts = Object.values(names).map((name) => call.input[name])
  if (!texts.every((text) => typeof text === 'string')) return undefined
  const [path] = texts as [string]
  if (workspace === undefined) return 'no diff: the workspace of the agent is on another host'
  try {
    const before = textOf(workspace, path)
    const after = textAfter(before, call)
    const [, ...fields] = Object.values(names)
    return { fields, ...diffOf(path, before, after, linesMax) }
  } catch (error) {
    return `no diff: ${(error as Error).message}`
  }
}

/** Undefined if there is no such file. Throws an Error with the reason. */
function textOf(workspace: string, path: string): string | undefined {
  const bytes = workspaceFileIfThere(workspace, path, FILE_BYTES_MAX)
  const text = bytes?.toString('utf8')
  if (bytes === undefined || text === undefined) return undefined
  if (bytes.includes(0) || !Buffer.from(text).equals(bytes))
    throw new Error(`${path} is not text, and has ${bytes.length} bytes`)
  return text
}

function textAfter(before: string | undefined, { tool, input }: Call): string {
  const write = WRITES[tool]
  if (write !== undefined) {
    const text = input[write.content] as string
    if (Buffer.byteLength(text) > FILE_BYTES_MAX)
      throw new Error(`the new text is larger than ${FILE_BYTES_MAX} bytes`)
    return text
  }
  const names = EDITS[tool] as (typeof EDITS)[string]
  const path = input[names.path]
  if (before === undefined) throw new Error(`${path} does not exist, so the call fails`)
  const [old, next] = [input[names.old] as string, input[names.new] as string]
  const parts = old === '' ? [] : before.split(old)
  if (parts.length < 2) throw new Error(`the old text is not in ${path}, so the call fails`)
  if (parts.length > 2 && input.replace_all !== true)
    throw new Error(`the old text is in ${path} more than once, so the call fails`)
  return parts.join(next)
}

function diffOf(
  path: string,
  before: string | undefined,
  after: string,
  linesMax: number,
): Pick<FileChange, 'head' | 'lines'> {
  if (before === after) return { head: 'changes nothing: the file has this text already', lines: [] }
  const options = { context: CONTEXT_LINES, timeout: DIFF_MS_MAX }
  const patch = structuredPatch(path, path, before ?? '', after, undefined, undefined, options)
  if (patch === undefined) throw new Error(`${path} differs too much from the new text`)
  const lines = patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${placeOf(oldStart, oldLines)} +${placeOf(newStart, newLines)} @@`,
    ...lines,
  ])
  const [added, removed] = ['+', '-'].map((sign) => lines.filter((line) => line.startsWith(sign)).length)
  const what = before === undefined ? 'new file' : 'change of the file'
  const counts = before === undefined ? `${added} ${added === 1 ? 'line' : 'lines'}` : `+${added} -${removed}`
  const shown = lines.slice(0, linesMax).map(boundedLine)
  const left = lines.length - shown.length
  const note = left === 0 ? [] : [`[${left} more ${left === 1 ? 'line' : 'lines'} of this diff]`]
  return { head: `${what}, ${counts}`, lines: [...shown, ...note] }
}

/** An empty part is after a line, so its first line is the number of that one. */
function placeOf(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`
}

/** Its other control characters are made visible where it is printed. */
function boundedLine(line: string): string {
  const plain = withoutGaps(line)
  const left = plain.length - LINE_CHARACTERS_MAX
  return left <= 0 ? plain : `${plain.slice(0, LINE_CHARACTERS_MAX)}… [${left} more characters]`
}
