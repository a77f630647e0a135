import { readdirSync, readFileSync } from 'node:fs'

/** Whether the process runs. One that is dead and only not yet waited for does not. */
export function isAlive(pid: number): boolean {
  return stateOf(pid) !== undefined
}

/** Living processes whose environment has this entry: `SUBSTRAT_HOME=/tmp/…`. */
export function processesWith(entry: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isAlive(pid) && environment(pid).includes(entry))
}

function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [state] = stat.slice(stat.lastIndexOf(')') + 2)
    return state === 'Z' || state === 'X' ? undefined : state
  } catch {
    return undefined
  }
}

/** Empty once it has ended. */
export function environment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}
