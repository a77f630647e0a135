/** How deep a JSON value from outside goes. Without recursion: that is what a deep one would break. */
export function isDeeperThan(value: unknown, levelsMax: number): boolean {
  let level = [value]
  for (let levels = 0; level.length > 0; levels += 1) {
    if (levels > levelsMax) return true
    level = level.flatMap((each) =>
      typeof each === 'object' && each !== null ? (Object.values(each) as unknown[]) : [],
    )
  }
  return false
}
