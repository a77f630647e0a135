/** What a parked call asks, as a person reads it: `shell: npm test`, `write_file: path=notes.md content="…"`. */
export function callText({ tool, input }: { tool: string; input: { [key: string]: unknown } }): string {
  const fields = Object.entries(input)
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return `${tool}: ${only[1]}`
  return `${tool}: ${fields.map(([field, value]) => `${field}=${quotedWord(value)}`).join(' ')}`.trimEnd()
}

/** A word as it is; what has spaces or lines in it is quoted, so that it is seen where it ends. */
function quotedWord(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)
}
