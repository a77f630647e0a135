/** The types of the state, which `fold` computes from a log. */
export type {
  Call,
  KeyEntry,
  Location,
  OutboxEntry,
  RecordedServer,
  Reminder,
  Run,
  RunStatus,
  SessionState,
  State,
  TokenEntry,
  Wait,
} from '../schema/snapshot.js'
