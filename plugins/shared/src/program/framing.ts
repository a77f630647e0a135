/**
 * Lines of a byte stream. Only LF ends a line, and it is looked for in the bytes: U+2028, a lone CR and half of a
 * character at the end of a piece are text.
 */

/** A line without its LF; `undefined` for one that was longer than `bytesMax`, which is read to its end and not kept. */
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
  // A program that was killed leaves half a line; one that just forgot its last LF leaves a whole one.
  if (bytes > 0) yield take()
}
