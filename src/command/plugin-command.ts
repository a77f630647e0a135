/** The base of the commands that change the list of plugins. */
import { join } from 'node:path'
import { refuseInTool } from '../dispatch/caller.js'
import type { AddedPlugin } from '../operations/add-plugin.js'
import type { NpmPlace } from '../operations/npm-plugins.js'
import { broughtBy } from '../provider/plugin-package.js'
import { BaseCommand } from './base.js'
import { live } from './flags.js'

export abstract class PluginCommand extends BaseCommand {
  /** Repeated: oclif writes it into the manifest of a command only from a base that has static members of its own. */
  static override enableJsonFlag = true
  static override baseFlags = { live }

  protected get listPath(): string {
    return join(this.config.dataDir, 'package.json')
  }

  /** The directory of the plugins that `plugins add` copied. */
  protected get copies(): string {
    return join(this.config.dataDir, 'providers')
  }

  protected npmPlace(isVerbose: boolean): NpmPlace {
    const { listPath, providers: registry } = this
    return { registry, listPath, substratVersion: this.config.version, isVerbose }
  }

  /**
   * Runs the change under a umask that lets only the owner write the plugins, and lets the owner read them: later commands refuse
   * to load code that other users can write.
   */
  protected async changing<T>(what: string, change: () => Promise<T>): Promise<T> {
    refuseInTool(this.caller, what)
    const before = process.umask()
    process.umask((before | 0o022) & 0o077)
    try {
      return await change()
    } finally {
      process.umask(before)
    }
  }

  protected printAdded(added: AddedPlugin, verb: string, isOneOfSeveral = false): void {
    const { plugin, version, providers, root, changed } = added
    const { channels, stores, hasCommands } = added
    const [provider] = providers
    const next = provider === undefined ? 'substrat plugins' : `substrat providers ${provider}`
    this.printEach(
      { providers, plugin, version, root, changed, channels, stores, has_commands: hasCommands },
      `${plugin} ${version} ${verb}: ${broughtBy(added)}; next: ${next}`,
      isOneOfSeveral,
    )
  }
}
