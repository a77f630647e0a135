/** A parked call as the user reads it: `shell: npm test`, `write_file: path=notes.md content="…"`. */
export function callText({ tool, input }: { tool: string; input: { [key: string]: unknown } }): string {
  const fields = Object.entries(input)
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return `${tool}: ${only[1]}`
  return `${tool}: ${fields.map(([field, value]) => `${field}=${quotedWord(value)}`).join(' ')}`.trimEnd()
}

/** Quotes a value with spaces or line breaks, so that its end is visible. */
function quotedWord(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)
}
