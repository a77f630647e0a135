/** The base of the commands that change the list of plugins. */
import { refuseInTool } from '../dispatch/caller.js'
import type { AddedPlugin } from '../operations/add-plugin.js'
import { listedFacts } from '../operations/list-plugins.js'
import type { NpmPlace } from '../operations/npm-plugins.js'
import { officialPlugin } from '../provider/official.js'
import { broughtBy } from '../provider/plugin-package.js'
import type { PluginFacts } from '../provider/registry.js'
import { BaseCommand } from './base.js'
import { live } from './flags.js'

export abstract class PluginCommand extends BaseCommand {
  /** Repeated: oclif writes it into the manifest of a command only from a base that has static members of its own. */
  static override enableJsonFlag = true
  static override baseFlags = { live }

  protected get places() {
    return { ...this.packagePlaces, listPath: this.pluginList, substratVersion: this.config.version }
  }

  /** These commands load no plugin, so that one which hangs or throws can be uninstalled. */
  protected override get installedPlugins(): PluginFacts[] {
    return listedFacts(this.places)
  }

  protected npmPlace(isVerbose: boolean): NpmPlace {
    const onSlow = (): void =>
      this.note('waiting for npm and its registry; Ctrl-C stops it, and nothing is changed')
    return { ...this.places, registry: this.providers, isVerbose, onSlow }
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

  protected verbOf({ plugin, root, changed }: AddedPlugin): string {
    if (officialPlugin(this.config.root, plugin)?.root === root) return 'comes with substrat'
    return changed ? 'is installed' : 'was installed already'
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
