/**
 * The hosts whose processes a person has declared dead (`recover --host-gone`).
 *
 * Invariant: a declaration covers one kernel boot, so it says nothing about what that host runs after a restart. A host that is
 * declared gone but still runs withdraws the declaration before it starts another turn.
 *
 * After a crash between two files, the earlier ones count. Repeating the command writes the others.
 */
import { clock } from '../clock.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import { ownIdentity } from '../host/identity.js'
import { frame, unframeFile } from './log/frame.js'
import type { GoneHost, GoneHosts } from './parts.js'
import type { HomePaths } from './paths.js'

export class GoneHostFiles implements GoneHosts {
  constructor(private readonly paths: HomePaths) {}

  has(kernelBootId: string): boolean {
    return statIfThere('gone.stat', this.paths.goneBoot(kernelBootId)) !== undefined
  }

  /** A damaged file is left out here, but its boot still counts as gone. */
  all(): GoneHost[] {
    const names = io.listDirectory('gone.list', this.paths.gone).filter((name) => !isTemporaryName(name))
    return names.flatMap((name) => {
      const bytes = io.readIfThere('gone.read', this.paths.goneBoot(name))
      const line = bytes === undefined ? { damage: 'it is missing' } : unframeFile(bytes)
      return 'damage' in line ? [] : [line.object as unknown as GoneHost]
    })
  }

  /** On return the declaration is durable. */
  declare(host: GoneHost): void {
    io.mkdir('gone.mkdir', this.paths.gone)
    io.syncDirectory('gone.sync_home', this.paths.root)
    const line = frame({ ...host, declared_at: new Date(clock.now()).toISOString() })
    replace('gone.write', this.paths.goneBoot(host.kernel_boot_id), line, { durableName: true })
  }

  /** Call it before this process starts a program: this host is alive. On return the withdrawal is durable. */
  withdrawOwn(): void {
    const { kernel_boot_id } = ownIdentity()
    if (!this.has(kernel_boot_id)) return
    io.unlink('gone.unlink', this.paths.goneBoot(kernel_boot_id))
    io.syncDirectory('gone.sync_directory', this.paths.gone)
  }
}
