/** The types of the state, which `fold` computes from a log. */
import type { ClockReading } from '../host/identity.js'
import type { Content, ProcessGroup, RunError, Usage } from '../schema/types.js'
import type { Decision, Interruption, WaitKind, WatchedStatus } from '../schema/words.js'
import type { NewRecord } from './records.js'

export type SessionState = 'created' | 'active' | 'suspended' | 'terminated'

/** The place of a record's line in the log: its seq and byte range. */
export interface Location {
  seq: number
  offset: number
  end: number
}

export interface Call {
  call_id: string
  tool: string
  /** `deferred`: its result will come from elsewhere. */
  status: 'pending' | 'started' | 'deferred' | 'finished'
  /** By a decision on this call, not by `allow`. */
  isApproved: boolean
  group: ProcessGroup | null
}

export interface Wait {
  kind: WaitKind
  since_seq: number
  /** The record of the wait, which has the questions. */
  at: Location
  resume_token_id: string | null
  deadline_at: string | null
  not_before: string | null
  /** The clock when the wait began; null in older logs. */
  clock?: ClockReading | null
  /** The calls that a decision is about. */
  call_ids: string[]
}

export interface TokenEntry {
  token_id: string
  run_id: string
  /** The place of that run in the log. */
  run: { seq: number; offset: number; started_at: string; end: number }
  hash: string
  status: 'minted' | 'consumed' | 'revoked' | 'expired'
  /** The kind of wait that the token may end. Absent in logs of format 1. */
  wait?: WaitKind
  expires_at: string
  clock?: ClockReading | null
  /** The decision that consumed the token. Repeating it gets the same answer; another decision is refused. */
  decision: Decision | null
  digest: string | null
  reason: string | null
}

export type RunStatus = 'open' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

export interface Run {
  run_id: string
  boot_id: string
  /** The machine of that process. Absent if unknown, which counts as this machine. */
  host_id?: string
  status: RunStatus
  origin: 'operator' | 'mail' | 'continuation'
  /** The progress of an open run, as recovery finds it in the log. */
  phase: 'started' | 'asked' | 'calling' | 'launched' | 'answered'
  started_at: string
  ended_at: string | null
  continues: string | null
  key: string | null
  digest: string | null
  turn_timeout_ms: number | null
  /** The records that have the prompt: one message, or several mails. */
  prompts: Location[]
  /** The requests in the prompt that have no reply yet. */
  requests: OpenRequest[]
  reply: Location | null
  /** The record with the model's text before it refused. */
  said?: Location
  /** Whether that reply is the agent's last. */
  terminates?: boolean
  reason: Interruption | NewRecord<'run.cancelled'>['reason'] | null
  error: RunError | null
  usage: Usage | null
  process: ProcessGroup | null
  /** Tool servers of the run. They are stopped after the run ends, so a kill may leave them running. */
  servers: ProcessGroup[]
  allow: string[]
  steps_max: number | null
  /** Number of responses from the model, and of failed requests since the last response. */
  steps: number
  failures: number
  /** The calls of the latest response, in its order. The record at `calls_at` has their inputs. */
  calls: Call[]
  calls_at: Location | null
  /** Calls of substrat's tools by an agent program that have no result yet. */
  program_calls: { call_id: string; tool: string }[]
  isCompacted: boolean
  wait: Wait | null
  /** A person's decision on the program's question. Null once the program has acted or a prompt includes the decision. */
  answer: Location | null
  /**
   * Whether this run, or a run that it continues or repeats, has launched an agent program for the prompt. The program may
   * already have the prompt, and may have done part of the work.
   */
  hasLaunched: boolean
  /** The earlier run that this run repeats. */
  repeats?: string
  /** The place of its `run.started`. */
  start: { seq: number; offset: number }
}

interface OpenRequest {
  message_id: string
  /** An agent's id, or `operator`. */
  from: string
}

/** A message that the session must send because a run has ended or is waiting. */
export interface OutboxEntry {
  to: string
  kind: 'response' | 'error' | 'notification'
  reply_to: string | null
  /** For a watcher: the status that follows `running`. Otherwise null. */
  status: WatchedStatus | null
  run_id: string
  /** Seq of the record that ended or parked the run. */
  seq: number
  reply: Location | null
  /** Why the run did not complete. */
  trouble: { status: RunStatus; reason: Run['reason']; error: RunError | null } | null
}

export interface Reminder {
  reminder_id: string
  content: Content
  due_at: string
  every_ms: number | null
  /** Null if the agent named `due_at` as a time. */
  clock?: ClockReading | null
}

/** A kept server of the agent program. It may be dead. */
export interface RecordedServer {
  server_id: string
  group: ProcessGroup
}

/** A subscription to status changes of this agent. */
interface Watcher {
  subscription_id: string
  from: string
  on: WatchedStatus[]
  once: boolean
}

/** The place of a key's run in the log, so that its reply is found without reading the whole log. */
export interface KeyEntry {
  key: string
  /** Seq and offset of its `run.started`. */
  seq: number
  offset: number
  started_at: string
  /** End of the record that ended the run; 0 while it is open. */
  end: number
}

/** The fold of a log; also, framed, the snapshot `session.json`. */
export interface State {
  format: number
  id: string
  name: string | null
  title: string | null
  parent: string | null
  path: string
  state: SessionState
  hold: boolean
  /** A gated agent runs one turn per permit. */
  gate: { isGated: boolean; permits: number }
  /** The parent or a person has asked to continue or retry the latest turn. */
  isPoked: boolean
  metadata: Record<string, string>
  provider_name: string
  options: Record<string, string>
  model: string | null
  workspace: string
  instructions: Content | null
  allow: string[]
  created_at: string
  updated_at: string
  suspended_at: string | null
  /** The provider's own state for its next turn, in base64. */
  provider_state: string | null
  /** The conversation as text, if the provider's own store does not have it. */
  seed: Location | null
  /** Whether the agent program must still receive the seed. False once the program has acted. */
  isSeedDue: boolean
  last_seq: number
  /** Offset of the last record. `log_bytes` is its end, and so the end of the log. */
  last_offset: number
  log_bytes: number
  /** Start of the model's context: the first record, or the first that the last compaction keeps. */
  context_offset: number
  context_seq: number
  /** The summary of all earlier records. */
  compaction: Location | null
  run: Run | null
  /** The latest reply, for `show --reply`. */
  reply: Location | null
  /** The latest keys, oldest first. */
  keys: KeyEntry[]
  /** The latest run of every other key began before this record, and is in the key index. 0 if there are no other keys. */
  keys_since: number
  /** Oldest first. */
  tokens: TokenEntry[]
  delivered: string[]
  /** How many older delivered ids the state no longer has. */
  delivered_forgotten: number
  /** The outbox. These messages must be stored in their inboxes before any other work. */
  owes: OutboxEntry[]
  /** Whether the latest run was the agent's last. */
  isDone: boolean
  reminders: Reminder[]
  watchers: Watcher[]
  recovery: {
    /** The process that last did work in the session. Null before the first. */
    last_boot_seen: string | null
    interruption: { run_id: string; reason: Interruption; at: string } | null
    /** Automatic attempts to continue since the last progress: a model's response, a result of its tool, or a reply. */
    barren_attempts: number
    /** Requests to the model since its last response. */
    unanswered_requests: number
  }
  /** All tokens of the session. Null in a snapshot of an earlier version, which did not count them. */
  usage: Usage | null
  /** Absent without a kept server. */
  warm?: RecordedServer
  /** The names of the damaged logs that rebuilds have set aside. The key index has the keys of the lost parts. */
  lost?: { kept: string[] }
}
