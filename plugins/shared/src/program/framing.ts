/**
 * Splits a byte stream into lines. Only the byte LF ends a line. U+2028, a lone CR, and half a character at the end
 * of a piece are text.
 */

/** Yields each line without its LF, or `undefined` for a line longer than `bytesMax`, which is read but not kept. */
export async function* readLines(
  pieces: AsyncIterable<Buffer>,
  bytesMax: number,
): AsyncIterable<string | undefined> {
  let held: Buffer[] = []
  let bytes = 0
  const take = (): string | undefined => {
    const line = bytes > bytesMax ? undefined : Buffer.concat(held).toString('utf8')
    held = []
    bytes = 0
    return line
  }
  const hold = (part: Buffer): void => {
    bytes += part.length
    if (bytes > bytesMax) held = []
    else held.push(part)
  }
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf(0x0a); end !== -1; end = piece.indexOf(0x0a, from)) {
      hold(piece.subarray(from, end))
      yield take()
      from = end + 1
    }
    hold(piece.subarray(from))
  }
  // The rest can be half a line of a killed program, or a whole one without its LF.
  if (bytes > 0) yield take()
}
