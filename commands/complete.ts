import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { type Candidate, type CommandFacts, candidatesFor } from '../src/command/completion/candidates.js'
import { oneLine } from '../src/console/output.js'
import { readPluginList } from '../src/files/plugin-list.js'
import { readUserFile } from '../src/files/user-files.js'
import { agentWords, showAgent } from '../src/operations/list-and-show.js'
import { listServeTokens } from '../src/operations/serve-tokens.js'
import type { SchemaList } from '../src/schema/output-home.js'
import { SETTINGS } from '../src/schema/settings.js'
import { GRANTED_BY } from '../src/schema/words.js'
import type { SettingKey } from '../src/settings/config-text.js'
import { WORDS } from '../src/settings/setting-kinds.js'
import { allKeys } from '../src/settings/settings.js'

export default class Complete extends BaseCommand {
  static override enableJsonFlag = false
  static override hidden = true
  static override strict = false
  static override summary = 'Print the completion candidates for a partial command line.'
  static override examples = ['<%= config.bin %> complete -- send no']
  static override args = {
    words: Args.string({ description: 'command line after substrat, up to the cursor', ignoreStdin: true }),
  }

  async run(): Promise<void> {
    // Not parsed: oclif takes a last `--` for its own, and moves words that the line has twice.
    const found = await candidatesFor(this.argv.slice(this.argv.indexOf('--') + 1), {
      commands: commandsIn(this.config.root),
      agents: () => agentWords(this.openForRead()),
      providers: () => this.providers.list().map(({ name, plugin }) => ({ word: name, description: plugin })),
      plugins: () => this.installedWords(),
      schemas: () => schemasIn(this.config.root),
      serveTokens: () =>
        listServeTokens(this.homeRoot).map(({ name, may }) => ({ word: name, description: `may ${may}` })),
      settings: async () =>
        (await allKeys(this.providers)).map(({ key, help }) => ({ word: key, description: help })),
      valuesOf: (key) =>
        Object.hasOwn(SETTINGS, key) ? (WORDS[SETTINGS[key as SettingKey].kind] ?? []) : [],
      models: (provider) => this.models(provider),
      tools: async () => {
        const { toolWords } = await import('../src/command/completion/words.js')
        return toolWords()
      },
      grants: (agent) => this.grantsOf(agent),
    })
    if (found.length > 0)
      this.print(found.map(({ word, description }) => `${oneLine(word)}\t${oneLine(description)}`).join('\n'))
  }

  private grantsOf(word: string): Candidate[] {
    const { store, agentId } = this.resolveForRead(word)
    const { grants } = showAgent(store, agentId)
    return grants.map(({ entry, by }) => ({ word: entry, description: GRANTED_BY[by] }))
  }

  private installedWords(): Candidate[] {
    const listed = readPluginList(this.pluginList)
    return listed.map(({ name, type }) => ({ word: name, description: type }))
  }

  private async models(named: string | undefined): Promise<Candidate[]> {
    const provider = named ?? this.settings.get('provider').value
    if (provider === null) return []
    const { modelWords } = await import('../src/command/completion/words.js')
    return modelWords(this.openForRead(), this.providers, provider)
  }
}

function schemasIn(root: string): Candidate[] {
  const { schemas } = JSON.parse(readUserFile(join(root, 'dist', 'schemas', 'index.json'))) as SchemaList
  return schemas.map(({ name, description }) => ({ word: name, description }))
}

function commandsIn(root: string): Record<string, CommandFacts> {
  const { commands } = JSON.parse(readUserFile(join(root, 'oclif.manifest.json'))) as {
    commands: Record<string, CommandFacts>
  }
  return commands
}
