import { inputText } from '../session/entries.js'

/** A call as the user reads it: `shell: npm test`, `write_file: path=notes.md content="…"`. */
export function callText({ tool, input }: { tool: string; input?: object | null | undefined }): string {
  return input != null && Object.keys(input).length === 0 ? `${tool}:` : `${tool}: ${inputText(input)}`
}
