/** Runs the commands of the CLI as classes within this process. */
import { Config, type Interfaces } from '@oclif/core'
import Answer from '../../commands/answer.js'
import Approve from '../../commands/approve.js'
import Cancel from '../../commands/cancel.js'
import ChannelRun from '../../commands/channel/run.js'
import Compact from '../../commands/compact.js'
import ConfigSet from '../../commands/config/set.js'
import Deliver from '../../commands/deliver.js'
import Deny from '../../commands/deny.js'
import Doctor from '../../commands/doctor.js'
import Export from '../../commands/export.js'
import Fork from '../../commands/fork.js'
import Gate from '../../commands/gate.js'
import Import from '../../commands/import.js'
import Inbox from '../../commands/inbox.js'
import List from '../../commands/list.js'
import Log from '../../commands/log.js'
import Prune from '../../commands/prune.js'
import Recover from '../../commands/recover.js'
import Remove from '../../commands/remove.js'
import Resume from '../../commands/resume.js'
import Retry from '../../commands/retry.js'
import ScheduleAdd from '../../commands/schedule/add.js'
import ScheduleRemove from '../../commands/schedule/remove.js'
import Send from '../../commands/send.js'
import SetAgent from '../../commands/set.js'
import Show from '../../commands/show.js'
import Spawn from '../../commands/spawn.js'
import Suspend from '../../commands/suspend.js'
import Terminate from '../../commands/terminate.js'
import TokenRotate from '../../commands/token/rotate.js'
import Tree from '../../commands/tree.js'
import Ungate from '../../commands/ungate.js'
import Wait from '../../commands/wait.js'
import type { BaseCommand } from '../../src/command/base.js'
import type { PluginFacts } from '../../src/provider/registry.js'
import { repository } from '../support/lab.js'

type CommandClass = (new (argv: string[], config: Config) => BaseCommand) & { id: string }

const CLASSES: Record<string, unknown> = {
  answer: Answer,
  approve: Approve,
  cancel: Cancel,
  'channel run': ChannelRun,
  compact: Compact,
  'config set': ConfigSet,
  deliver: Deliver,
  deny: Deny,
  doctor: Doctor,
  export: Export,
  fork: Fork,
  gate: Gate,
  import: Import,
  inbox: Inbox,
  list: List,
  log: Log,
  prune: Prune,
  recover: Recover,
  remove: Remove,
  resume: Resume,
  retry: Retry,
  send: Send,
  set: SetAgent,
  show: Show,
  spawn: Spawn,
  suspend: Suspend,
  terminate: Terminate,
  'schedule add': ScheduleAdd,
  'schedule remove': ScheduleRemove,
  'token rotate': TokenRotate,
  tree: Tree,
  ungate: Ungate,
  wait: Wait,
}

let config: Promise<Config> | undefined

function loadConfig(): Promise<Config> {
  config ??= Config.load({ root: repository, userPlugins: false, devPlugins: false }) as Promise<Config>
  return config
}

/** Registers a plugin as if installed, with the providers that its package.json names. */
export async function usePlugin(plugin: PluginFacts): Promise<void> {
  ;(await loadConfig()).plugins.set(plugin.name, plugin as Interfaces.Plugin)
}

/** Runs `substrat ARGV` like the entry point of the CLI, but does not end the process. */
export async function runCommand(argv: string[]): Promise<void> {
  const topic = argv.slice(0, 2).join(' ')
  const [id, rest] = topic in CLASSES ? [topic, argv.slice(2)] : [argv[0] as string, argv.slice(1)]
  const command = CLASSES[id] as CommandClass | undefined
  if (command === undefined) throw new Error(`the machine has no command ${id}`)
  command.id = id.replace(' ', ':')
  // oclif's own `run` would read every package.json again first.
  await (new command(rest, await loadConfig()) as unknown as { _run(): Promise<void> })._run()
}
