import * as Flags from '@oclif/core/flags'
import { duration } from '../src/command/flags.js'
import { WritingCommand } from '../src/command/writing.js'
import { refuseInTool } from '../src/dispatch/caller.js'
import { cancelMigration, migrate } from '../src/operations/transfer/migrate.js'
import { givenAddress } from '../src/settings/home-address.js'
import { transferOf } from '../src/storage/open.js'

const WAIT_MS = 60_000

export default class Migrate extends WritingCommand {
  static override summary =
    'Move the whole home to another store: between files and PostgreSQL, or to other files.'
  static override description =
    'Waits until no turn runs, closes the source, copies everything byte for byte, checks both, then opens the target. Killed at any moment, the same command continues. A directory is created; a database needs substrat store init before.'
  static override examples = [
    '<%= config.bin %> migrate --from ~/.substrat --to postgres://me@db/substrat?sslmode=verify-full',
    '<%= config.bin %> migrate --from postgres:///substrat --to ~/.substrat',
  ]
  static override flags = {
    from: Flags.string({
      required: true,
      helpValue: 'HOME',
      description: 'the home that moves: a directory or a URL',
    }),
    to: Flags.string({
      required: true,
      helpValue: 'HOME',
      description: 'its new place: a new directory or a URL',
    }),
    cancel: Flags.boolean({
      description: 'undo a migration that has not ended: reopen the source, empty the target',
    }),
    timeout: duration({ description: 'wait this long for turns that run; default: 1m' }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Migrate)
    refuseInTool(process.env.SUBSTRAT_AGENT ?? null, 'migrate a home')
    const homeAt = (word: string) => transferOf(givenAddress(word, () => this.pluginFacts))
    const [from, to] = [homeAt(flags.from), homeAt(flags.to)]
    if (flags.cancel) {
      cancelMigration(from, to)
      return this.printObject(
        { from: from.label, to: to.label, cancelled: true },
        `${from.label} is open again`,
      )
    }
    const onCopied = await this.openCount('agents copied')
    const options = { command: 'substrat migrate', waitMs: flags.timeout ?? WAIT_MS, onCopied }
    const migrated = await migrate(from, to, options)
    const count = `${migrated.agents} ${migrated.agents === 1 ? 'agent' : 'agents'}`
    const text = migrated.migrated
      ? `moved ${count} to ${migrated.to}; use it: export SUBSTRAT_HOME='${migrated.to}'`
      : `${migrated.to} already has the home, with ${count}`
    this.printObject({ ...migrated }, text)
  }
}
