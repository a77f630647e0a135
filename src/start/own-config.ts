/**
 * oclif's configuration for our own commands and a user whose plugins only provide. It has the results of `Config.load`, without
 * reading the manifest of commands or searching plugins.
 */
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Interfaces } from '@oclif/core'
import { Config } from '@oclif/core/config'

/** A user's plugin that only provides: `PluginFacts` of src/provider/registry.ts. */
export interface OwnPlugin {
  name: string
}

export class OwnConfig extends Config {
  constructor(root: string, pjson: Interfaces.PJSON) {
    super({ root, pjson })
    this.root = root
    this.pjson = pjson
    this.valid = true
    this.name = pjson.name
    this.version = pjson.version
    this.channel = 'stable'
    this.arch = process.arch as Interfaces.ArchTypes
    this.platform = process.platform as Interfaces.PlatformTypes
    this.windows = process.platform === 'win32'
    this.bin = pjson.oclif.bin ?? pjson.name
    this.dirname = pjson.oclif.dirname ?? pjson.name
    this.topicSeparator = ' '
    this.flexibleTaxonomy = false
    this.userAgent = `${this.name}/${this.version} ${this.platform}-${this.arch} node-${process.version}`
    this.shell = process.env.SHELL?.split('/').at(-1) ?? 'unknown'
    this.home = process.env.HOME || homedir()
    this.cacheDir = this.scopedEnvVar('CACHE_DIR') || this.macosCacheDir() || this.dir('cache')
    this.configDir = this.scopedEnvVar('CONFIG_DIR') || this.dir('config')
    this.dataDir = this.scopedEnvVar('DATA_DIR') || this.dir('data')
    const own = { name: this.name, version: this.version, root, pjson, hooks: {}, commands: [], topics: [] }
    this.plugins.set(this.name, own as unknown as Interfaces.Plugin)
  }

  addPlugins(plugins: OwnPlugin[]): void {
    for (const plugin of plugins) this.plugins.set(plugin.name, plugin as unknown as Interfaces.Plugin)
  }

  /** No hooks exist. */
  override async runHook(): Promise<{ successes: []; failures: [] }> {
    return { successes: [], failures: [] }
  }

  /** Path of oclif's list of plugins that the user has installed or linked. */
  get pluginList(): string {
    return join(this.dataDir, 'package.json')
  }
}
