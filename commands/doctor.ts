import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../src/command/base.js'
import { examinedText } from '../src/command/print/examined.js'
import { examine, failureOfHome, rebuild } from '../src/operations/doctor.js'

export default class Doctor extends BaseCommand {
  static override summary = 'Look for what is wrong in the home, and say what to do about it.'
  static override description =
    'Takes no lock and writes nothing, but with --rebuild. Reads every agent as commands do, by its snapshot and the end of its log, and to the last byte those that a process has left or is in; with --all every one. Exits 10 where stored data is damaged.'
  static override examples = [
    '<%= config.bin %> doctor',
    '<%= config.bin %> doctor --all --json',
    '<%= config.bin %> doctor --all --rebuild',
  ]
  static override flags = {
    all: Flags.boolean({ default: false, description: 'read every log and every blob to the last byte' }),
    rebuild: Flags.boolean({
      default: false,
      description:
        'make again what can be made again, and go on with what is whole of a damaged log, which is kept',
    }),
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Doctor)
    const options = { all: flags.all, plugins: this.pluginPlaces, settingsTrouble: this.settingsTrouble() }
    const { examined, failure: ofRepair } = flags.rebuild
      ? await rebuild(this.homeRoot, options, () => this.context({ isLenient: true, drains: false }))
      : { examined: await examine(this.homeRoot, options), failure: undefined }
    this.printObject(examined, examinedText(examined))
    const failure = ofRepair ?? failureOfHome(examined)
    if (failure !== undefined) this.fail(failure, false)
  }
}
