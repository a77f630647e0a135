/**
 * Reads lines that servers and gateways send although the standard of server-sent events has no such field. A parser of the standard
 * ignores them, and with them a part of the answer.
 */

/** Removes byte order marks at the beginning of lines: gateways join streams that each have one. */
export class LineMarks {
  private isAtStart = true

  without(chunk: string): string {
    const rest = this.isAtStart ? chunk.replace(/^\ufeff+/, '') : chunk
    if (rest !== '') this.isAtStart = /[\r\n]$/.test(rest)
    // A JSON text has no line breaks, so a mark after one is not part of an answer.
    return rest.includes('\ufeff') ? rest.replaceAll(/([\r\n])\ufeff+/g, '$1') : rest
  }
}

/** The data of a line without a known field: an indented or capitalised `data`, or a bare event. Undefined for any other line. */
export function dataOfOddLine(line: string): string | undefined {
  const text = line.trim()
  const [, data] = /^data\s*:\s*(.*)$/i.exec(text) ?? []
  if (data !== undefined) return data
  return text.startsWith('{') || text === '[DONE]' ? text : undefined
}
