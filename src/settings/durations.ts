/** Durations as people write them: `250ms`, `30s`, `10m`, `2h`, `1d`. */
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
// The longest delay of a Node timer; a longer one fires at once. An age needs no timer, so it may be longer.
const MAX_MS = 2 ** 31 - 1

/** Returns milliseconds. Undefined if the text is not a duration. */
export function parseDuration(text: string, maxMs = MAX_MS): number | undefined {
  const found = DURATION.exec(text.trim())
  if (found === null) return undefined
  const ms = Math.round(Number(found[1]) * (UNIT_MS[found[2] as string] as number))
  return ms <= maxMs ? ms : undefined
}
