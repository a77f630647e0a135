/** Whether a process is stopped: by a signal or a debugger, or with its container or control group. */
import { readProc } from './disk/outside.js'
import { processState } from './identity.js'

export function isStopped(pid: number): boolean {
  const state = processState(pid)
  return state === 'T' || state === 't' || isFrozen(pid)
}

/** See cgroups(7) and the kernel's cgroup-v2 document: `cgroup.events` has the line `frozen 1`. */
function isFrozen(pid: number): boolean {
  const path = /^0::(\/.*)$/m.exec(readProc(`/proc/${pid}/cgroup`)?.toString() ?? '')?.[1]
  const events = path && readProc(`/sys/fs/cgroup${path}/cgroup.events`)?.toString()
  return /^frozen 1$/m.test(events || '')
}
