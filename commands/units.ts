import { join, resolve } from 'node:path'
import * as Args from '@oclif/core/args'
import { BaseCommand } from '../src/command/base.js'
import { SubstratError } from '../src/errors.js'
import {
  cronLines,
  SYSTEMD_UNITS,
  type SystemdUnit,
  systemdUnit,
  type UnitFacts,
} from '../src/operations/units.js'

/** The variables that say where the home, the settings and the plugins are, and where programs are found. */
const PASSED_ON = [
  'HOME',
  'PATH',
  'SUBSTRAT_HOME',
  'SUBSTRAT_CONFIG_DIR',
  'SUBSTRAT_DATA_DIR',
  'SUBSTRAT_CACHE_DIR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_CACHE_HOME',
]

export default class Units extends BaseCommand {
  static override enableJsonFlag = false
  static override summary = 'Print user units of systemd, or crontab lines, that run substrat unattended.'
  static override description =
    'They run recover --all and check --all at boot, and deliver --all each minute. The unit substrat-channel@NAME runs a channel, and restarts it after a failure. They have the absolute paths of this Node and this program. HOME, PATH, SUBSTRAT_HOME and the XDG directories are as they are now. Print them again after any of these changes.'
  static override examples = [
    '<%= config.bin %> units systemd',
    '<%= config.bin %> units systemd substrat-deliver.timer',
    '<%= config.bin %> units cron',
  ]
  static override args = {
    kind: Args.string({
      options: ['systemd', 'cron'],
      required: true,
      ignoreStdin: true,
      description: 'systemd or cron',
    }),
    unit: Args.string({
      options: [...SYSTEMD_UNITS],
      ignoreStdin: true,
      description: 'one unit of systemd; default: all of them, each after a comment with its path',
    }),
  }

  async run(): Promise<void> {
    const { args } = await this.parse(Units)
    if (args.kind === 'cron' && args.unit !== undefined)
      throw new SubstratError('USAGE', 'only systemd has units to choose from', {
        hint: 'run substrat units cron',
      })
    const text = args.kind === 'cron' ? cronLines(this.facts) : this.systemd(args.unit)
    this.print(text.trimEnd())
  }

  private systemd(unit: string | undefined): string {
    if (unit !== undefined) return systemdUnit(unit as SystemdUnit, this.facts)
    const folder = join(process.env.XDG_CONFIG_HOME || join(this.config.home, '.config'), 'systemd', 'user')
    return SYSTEMD_UNITS.map((name) => `# ${join(folder, name)}\n${systemdUnit(name, this.facts)}`).join('')
  }

  private get facts(): UnitFacts {
    const given = PASSED_ON.flatMap((name) => {
      const value = process.env[name]
      return value === undefined || value === '' ? [] : [[name, name === 'PATH' ? value : resolve(value)]]
    })
    return {
      node: process.execPath,
      // The installed link rather than its target, which an upgrade may move.
      program: resolve(process.argv[1] ?? join(this.config.root, 'bin/run.js')),
      environment: Object.fromEntries(given) as Record<string, string>,
      environmentFile: join(this.config.configDir, 'environment'),
    }
  }
}
