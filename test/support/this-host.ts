/** Gives this process another machine-id for one test. */
import { onTestFinished } from 'vitest'
import { ownIdentity } from '../../src/host/identity.js'

export function setHostId(value: string | undefined): void {
  const own = ownIdentity()
  const { host_id } = own
  const define = (id: string | undefined): void =>
    void Object.defineProperty(own, 'host_id', { value: id, enumerable: true, configurable: true })
  define(value)
  onTestFinished(() => define(host_id))
}

/** The fields of a process group on another machine. */
export const ELSEWHERE = { kernel_boot_id: 'another-boot', host_id: 'b'.repeat(32) }
