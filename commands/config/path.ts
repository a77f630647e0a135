import { BaseCommand } from '../../src/command/base.js'
import { configFilePath } from '../../src/storage/open.js'

export default class ConfigPath extends BaseCommand {
  static override summary = "Print the path of the home's config.json, which may not exist yet."
  static override examples = ['<%= config.bin %> config path']

  async run(): Promise<void> {
    await this.parse(ConfigPath)
    const path = configFilePath(this.homeRoot)
    this.printObject({ path }, path)
  }
}
