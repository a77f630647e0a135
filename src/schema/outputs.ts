/** The shape of each command's `--json`, by the command's name. */
import { z } from 'zod'
import * as agents from './output.js'
import * as homes from './output-home.js'
import * as overview from './output-overview.js'

export const OUTPUTS = {
  spawn: agents.turn,
  send: agents.turn,
  resume: agents.turn,
  approve: agents.turn,
  deny: agents.turn,
  answer: agents.turn,
  retry: agents.turn,
  fork: agents.turn,
  'token rotate': agents.turn,
  suspend: agents.changed,
  set: agents.changed,
  terminate: agents.changed,
  remove: agents.changed,
  cancel: agents.cancelled,
  tree: overview.tree,
  usage: overview.used,
  search: overview.searched,
  prune: overview.pruned,
  compact: agents.compacted,
  gate: agents.gated,
  ungate: agents.gated,
  inbox: overview.inbox,
  outbox: overview.outbox,
  'notify test': homes.notifyTested,
  'channel run': homes.channelRan,
  deliver: agents.delivered,
  wait: agents.waited,
  show: agents.shown,
  list: overview.listed,
  recover: agents.recovered,
  check: agents.checked,
  doctor: homes.examined,
  unlock: homes.unlocked,
  migrate: z.union([homes.migrated, homes.cancelledMigration]).describe('The homes, and the result.'),
  log: homes.record,
  export: z
    .union([homes.conversation, homes.written, homes.bundled])
    .describe('The conversation. With `-o` or `--bundle`, stdout names the file.'),
  import: homes.imported,
  'config list': homes.settings,
  'config get': homes.oneSetting,
  'config set': homes.changedSetting,
  'config unset': homes.unsetSetting,
  'config path': homes.configPath,
  'config edit': homes.editedConfig,
  providers: homes.providers,
  'providers add': homes.addedProviders,
  models: homes.models,
  schema: homes.schemaNames,
}

export const { failed, streamed } = homes
