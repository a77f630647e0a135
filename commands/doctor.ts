import * as Flags from '@oclif/core/flags'
import { WritingCommand } from '../src/command/writing.js'
import { doctorText } from '../src/console/print/doctor-text.js'
import { examine, failureOfHome, rebuild } from '../src/operations/doctor.js'

export default class Doctor extends WritingCommand {
  static override summary = "Check substrat's data directory for damage and print repair steps."
  static override description =
    "Reads each agent's snapshot and the end of its log. If an agent is in use or has an unfinished turn, reads its whole log. Without --rebuild it takes no lock and writes nothing. Exits 10 if stored data is damaged."
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --all --json',
    '<%= config.bin %> doctor --all --rebuild',
  ]
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'read all logs and stored files completely; default: only snapshots and the ends of logs',
    }),
    rebuild: Flags.boolean({
      default: false,
      description:
        'rebuild the files that are computed from logs, and replace each damaged log by its intact records after copying it; default: only check',
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const options = {
      all: flags.all,
      plugins: this.pluginPlaces,
      settingsTrouble: this.settingsTrouble(),
      onChecked: await this.openCount('agents checked'),
    }
    const { examined, failure: ofRepair } = flags.rebuild
      ? await rebuild(this.homeRoot, options, () => this.context({ isLenient: true, drains: false }))
      : { examined: await examine(this.homeRoot, options), failure: undefined }
    this.printObject(examined, doctorText(examined))
    const failure = ofRepair ?? failureOfHome(examined)
    if (failure !== undefined) this.fail(failure, false)
  }
}
