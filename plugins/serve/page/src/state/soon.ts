/** A function that runs once after many calls within this time. */
export function soon(ms: number, run: () => void): () => void {
  let isPlanned = false
  return () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(() => {
      isPlanned = false
      run()
    }, ms)
  }
}
