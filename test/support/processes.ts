import { readdirSync, readFileSync } from 'node:fs'

/** Whether the process runs. A zombie does not. */
export function isAlive(pid: number): boolean {
  return stateOf(pid) !== undefined
}

/** Living processes whose environment has this entry, such as `SUBSTRAT_HOME=/tmp/…`. */
export function processesWith(entry: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && environment(pid).includes(entry) && isAlive(pid))
}

/** Does nothing if the process has ended meanwhile. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The watchers that hold the leash of a program, by its process group. */
export function watchersOf(group: number): number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return pids.filter((pid) => {
    const [, , , name, its] = commandLine(pid)
    return name === 'substrat-leash' && its === String(group) && isAlive(pid)
  })
}

export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
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
