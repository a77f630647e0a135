import { join } from 'node:path'
import * as Flags from '@oclif/core/flags'
import { WritingCommand } from '../src/command/writing.js'
import { selftestText } from '../src/console/print/selftest-text.js'
import { listedFacts } from '../src/operations/list-plugins.js'
import { failureOfMachine, selftest } from '../src/operations/selftest/selftest.js'
import type { PluginFacts } from '../src/provider/registry.js'
import { givenAddress } from '../src/settings/home-address.js'

/** A typing error must not keep the machine busy for days. */
const KILLS_MAX = 10_000

export default class Selftest extends WritingCommand {
  static override summary = 'Test whether this machine and its file system keep what substrat promises.'
  static override description =
    'Runs real commands in a temporary home beside the real one, kills some of them with SIGKILL, and checks what is left. Tests the file system, locks, programs, recovery and clocks. It changes no agent of yours, asks no service, and takes less than a minute. It cannot tell whether a disk reports a sync before it is done. Exits 11 if a check does not hold.'
  static override examples = [
    '<%= config.bin %> selftest',
    '<%= config.bin %> selftest --home /mnt/volume',
    '<%= config.bin %> selftest --json',
  ]
  static override flags = {
    home: Flags.string({
      helpValue: 'DIR',
      description: 'test the file system of this directory, which need not exist; default: that of the home',
    }),
    kills: Flags.integer({
      helpValue: 'N',
      min: 1,
      max: KILLS_MAX,
      default: 30,
      description: 'kill this many sends',
    }),
  }

  /** Loads none: a hook of one could hang, or print beside the JSON. */
  protected override get installedPlugins(): PluginFacts[] {
    return listedFacts({ ...this.packagePlaces, listPath: this.pluginList })
  }

  async run(): Promise<void> {
    const { flags } = await this.parse(Selftest)
    const home = flags.home === undefined ? this.homeRoot : givenAddress(flags.home, () => this.pluginFacts)
    const tested = await selftest(home, {
      script: join(this.config.root, 'bin', 'run.js'),
      kills: flags.kills,
      onProgress: await this.openCount('steps done'),
    })
    this.printObject(tested, selftestText(tested))
    const failure = failureOfMachine(tested)
    if (failure !== undefined) this.fail(failure, false)
  }
}
