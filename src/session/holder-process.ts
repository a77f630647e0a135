/** The process that holds an agent, as this machine sees it. */
import { ownIdentity, processStartTime } from '../host/identity.js'
import { isStopped } from '../host/stopped.js'
import type { Holder } from '../storage/store.js'

/** The pid of the holder. Undefined if it is gone, or runs in another container or on another machine, where no pid of ours means it. */
export function pidOfHolder({ boot_id }: Holder): number | undefined {
  const [boot, namespace, pid, start] = boot_id.split('/')
  const own = ownIdentity()
  const isHere = boot === own.kernel_boot_id && namespace === own.pid_namespace
  const isSame = isHere && Number(start) > 0 && processStartTime(Number(pid)) === Number(start)
  return isSame ? Number(pid) : undefined
}

/** Whether the holder runs under this kernel, perhaps in another container. */
export function isOfThisMachine({ boot_id }: Holder): boolean {
  return boot_id.split('/')[0] === ownIdentity().kernel_boot_id
}

/** Whether the holder runs no code until something continues it, such as after SIGSTOP. False also where /proc does not say it. */
export function isHolderStopped(holder: Holder): boolean {
  const pid = pidOfHolder(holder)
  return pid !== undefined && isStopped(pid)
}

/** The commands that end the stop. */
export function stoppedAdvice(agent: string, { pid }: Holder): string {
  return `continue it: kill -CONT ${pid}; or end it: substrat cancel ${agent} --force`
}
