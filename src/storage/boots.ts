/**
 * Records that recovery has visited every agent since this kernel boot, so that markers are complete. Not fsynced.
 *
 * Each host has a file of its own, and removes only those of its earlier boots.
 */

import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import { ownIdentity } from '../host/identity.js'
import { placeOf } from '../host/whereabouts.js'
import type { HomePaths } from './paths.js'

export class Boots {
  constructor(private readonly paths: HomePaths) {}

  isScanned(): boolean {
    return this.read(ownIdentity().kernel_boot_id)?.device === this.device()
  }

  markScanned(): void {
    const { kernel_boot_id, host_id } = ownIdentity()
    const text = [this.device(), ...(host_id === undefined ? [] : [host_id])].join(' ')
    replace('boot', this.paths.boot(kernel_boot_id), Buffer.from(text), { durableName: false })
    for (const name of io.listDirectory('boot.list', this.paths.boots)) {
      // A concurrent recovery may be about to rename its temporary file.
      if (isTemporaryName(name) || name === kernel_boot_id) continue
      const place = placeOf({ kernel_boot_id: name, host_id: this.read(name)?.host_id })
      if (place === 'past') io.unlink('boot.unlink', `${this.paths.boots}/${name}`)
    }
  }

  /** The file of an earlier version has no host. */
  private read(name: string): { device: string; host_id: string | undefined } | undefined {
    const text = io.readIfThere('boot.read', `${this.paths.boots}/${name}`)?.toString('utf8')
    const [device = '', host_id] = text?.split(' ') ?? []
    return text === undefined ? undefined : { device, host_id }
  }

  private device(): string {
    return String(statIfThere('home.stat', this.paths.root)?.device ?? 0)
  }
}
