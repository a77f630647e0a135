/** Records that recovery has visited every agent since this kernel boot, so that markers are complete. Not fsynced. */

import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { isTemporaryName } from '../host/disk/temporary.js'
import { ownIdentity } from '../host/identity.js'
import type { HomePaths } from './paths.js'

export class Boots {
  constructor(private readonly paths: HomePaths) {}

  isScanned(): boolean {
    const bytes = io.readIfThere('boot.read', this.paths.boot(ownIdentity().kernel_boot_id))
    return bytes?.toString('utf8') === this.device()
  }

  markScanned(): void {
    const path = this.paths.boot(ownIdentity().kernel_boot_id)
    replace('boot', path, Buffer.from(this.device()), { durableName: false })
    for (const name of io.listDirectory('boot.list', this.paths.boots)) {
      // A concurrent recovery may be about to rename its temporary file.
      if (isTemporaryName(name) || `${this.paths.boots}/${name}` === path) continue
      io.unlink('boot.unlink', `${this.paths.boots}/${name}`)
    }
  }

  private device(): string {
    return String(statIfThere('home.stat', this.paths.root)?.device ?? 0)
  }
}
