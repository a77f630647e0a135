import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { doctorText } from '../src/command/print/doctor-text.js'
import { examine, failureOfHome, rebuild } from '../src/operations/doctor.js'

export default class Doctor extends BaseCommand {
  static override summary = 'Check the home for damage and print how to repair it.'
  static override description =
    "Without --rebuild it takes no lock and writes nothing. It reads each agent's snapshot and the tail of its log. It reads the whole log of an agent that a process uses now or has left unfinished. With --all it reads every log completely. Exits 10 if stored data is damaged."
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --all --json',
    '<%= config.bin %> doctor --all --rebuild',
  ]
  static override flags = {
    all: Flags.boolean({
      default: false,
      description: 'read every log and every blob completely; default: snapshots and log tails',
    }),
    rebuild: Flags.boolean({
      default: false,
      description:
        'rebuild derived files; keep a copy of each damaged log, and continue from its intact records',
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const options = { all: flags.all, plugins: this.pluginPlaces, settingsTrouble: this.settingsTrouble() }
    const { examined, failure: ofRepair } = flags.rebuild
      ? await rebuild(this.homeRoot, options, () => this.context({ isLenient: true, drains: false }))
      : { examined: await examine(this.homeRoot, options), failure: undefined }
    this.printObject(examined, doctorText(examined))
    const failure = ofRepair ?? failureOfHome(examined)
    if (failure !== undefined) this.fail(failure, false)
  }
}
