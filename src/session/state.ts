/** The types of the state, which `fold` computes from a log. */
export type {
  ChannelState,
  KeyEntry,
  Moved,
  OutboundEntry,
  OutboxEntry,
  RecordedServer,
  Refusal,
  Reminder,
  Schedule,
  SessionState,
  SlotOutcome,
  State,
  WorkspaceHost,
} from '../schema/snapshot.js'
export type { Call, Location, Run, RunStatus, TokenEntry, Wait } from '../schema/snapshot-run.js'
