/** Whether an untrusted JSON value has more levels than that. Not recursive: a deep value would overflow the stack. */
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
