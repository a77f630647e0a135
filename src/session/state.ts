/** What the log says, folded (see `fold`): the types. */
import type { ClockReading } from '../host/identity.js'
import type { Decision, Interruption, ProcessGroup, RunError, Usage, WatchedStatus } from './fields.js'
import type { NewRecord } from './records.js'
import type { Content } from './shapes.js'

export type SessionState = 'created' | 'active' | 'suspended' | 'terminated'

/** Where a record's line stands: byte range and seq. */
export interface Location {
  seq: number
  offset: number
  end: number
}

export interface Call {
  call_id: string
  tool: string
  status: 'pending' | 'started' | 'finished'
  /** By a decision on this very call. */
  isApproved: boolean
  group: ProcessGroup | null
}

export interface Wait {
  kind: 'approval' | 'input' | 'not_before'
  since_seq: number
  /** Its record, which holds what is asked. */
  at: Location
  resume_token_id: string | null
  deadline_at: string | null
  not_before: string | null
  /** When its time began to run; null in older logs. */
  clock?: ClockReading | null
  /** The calls that a decision is about. */
  call_ids: string[]
}

export interface TokenEntry {
  token_id: string
  run_id: string
  /** Where that run is in the log. */
  run: { seq: number; offset: number; started_at: string; end: number }
  hash: string
  status: 'minted' | 'consumed' | 'revoked'
  expires_at: string
  clock?: ClockReading | null
  /** What it was consumed with: the same decision again is answered, another one refused. */
  decision: Decision | null
  digest: string | null
  reason: string | null
}

export type RunStatus = 'open' | 'completed' | 'failed' | 'cancelled' | 'interrupted'

export interface Run {
  run_id: string
  boot_id: string
  status: RunStatus
  origin: 'operator' | 'mail' | 'continuation'
  /** How far an open run has come: what recovery finds in the log. */
  phase: 'started' | 'asked' | 'calling' | 'launched' | 'answered'
  started_at: string
  ended_at: string | null
  continues: string | null
  key: string | null
  digest: string | null
  turn_timeout_ms: number | null
  /** The records that hold the prompt: a message, or several mails. */
  prompts: Location[]
  /** The requests in it that are not answered yet. */
  requests: OpenRequest[]
  reply: Location | null
  /** Where its end has what the model said before it refused. */
  said?: Location
  /** Whether that is the agent's last. */
  terminates?: boolean
  reason: Interruption | NewRecord<'run.cancelled'>['reason'] | null
  error: RunError | null
  usage: Usage | null
  process: ProcessGroup | null
  /** Tool servers that run beside it; they are stopped after its end, so a kill may leave them behind it. */
  servers: ProcessGroup[]
  allow: string[]
  steps_max: number | null
  /** Requests to the model that were answered, and failures since the last answer. */
  steps: number
  failures: number
  /** The calls of the latest response, in its order; their inputs are in the record at `calls_at`. */
  calls: Call[]
  calls_at: Location | null
  /** Calls of substrat's tools by an agent's program that have no result yet. */
  program_calls: { call_id: string; tool: string }[]
  isCompacted: boolean
  wait: Wait | null
  /** What a person decided about the program's question, until the program has begun to act, or a prompt has it in words. */
  answer: Location | null
  /**
   * Whether an agent's program was launched for what is asked, by this run or by one that it continues or repeats: it may
   * have been asked already, and may have done a part of it.
   */
  hasLaunched: boolean
  /** The earlier run that it repeats. */
  repeats?: string
  /** Where its `run.started` is. */
  start: { seq: number; offset: number }
}

interface OpenRequest {
  message_id: string
  /** An agent's id, or `operator`. */
  from: string
}

/** A message that the end, or the parking, of a run owes to somebody. */
export interface OutboxEntry {
  to: string
  kind: 'response' | 'error' | 'notification'
  reply_to: string | null
  /** Of whoever watches: what it went to. */
  status: WatchedStatus | null
  run_id: string
  /** Of the record that ended or parked it. */
  seq: number
  reply: Location | null
  /** What became of a run that did not complete. */
  trouble: { status: RunStatus; reason: Run['reason']; error: RunError | null } | null
}

export interface Reminder {
  reminder_id: string
  content: Content
  due_at: string
  every_ms: number | null
  /** Null where `due_at` was named as a time. */
  clock?: ClockReading | null
}

/** A server of the agent's program that was started to outlive its turn. It may be dead. */
export interface RecordedServer {
  server_id: string
  group: ProcessGroup
}

/** Who is told of this agent. */
interface Watcher {
  subscription_id: string
  from: string
  on: WatchedStatus[]
  once: boolean
}

/** Where the run of a key is in the log, so that its reply is found without reading all of it. */
export interface KeyEntry {
  key: string
  /** Of its `run.started`. */
  seq: number
  offset: number
  started_at: string
  /** Behind the record that ended it; 0 while it is open. */
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
  /** A gated agent takes a turn only for each permit. */
  gate: { isGated: boolean; permits: number }
  /** Its parent, or a person, wants the latest turn gone on with or tried again. */
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
  /** base64 of what the provider wants back at its next turn. */
  provider_state: string | null
  /** The conversation in words, where the provider's own store has none of it. */
  seed: Location | null
  /** Whether an agent's program is still to be told of it: nothing that it did shows that it was. */
  isSeedDue: boolean
  last_seq: number
  /** Offset of the last record, and the end of the log, behind it. */
  last_offset: number
  log_bytes: number
  /** Where the model's context begins: the first record, or the last compaction. */
  context_offset: number
  context_seq: number
  /** The summary of what is before that. */
  compaction: Location | null
  run: Run | null
  /** The latest reply, for `show --reply`. */
  reply: Location | null
  /** The latest ones, oldest first. */
  keys: KeyEntry[]
  /** The latest run of every key that is not among them began before that record: it is in the key index. 0: there is none. */
  keys_since: number
  /** Oldest first. */
  tokens: TokenEntry[]
  delivered: string[]
  /** How many older ones are forgotten. */
  delivered_forgotten: number
  /** What must be in others' inboxes before anything else is done. */
  owes: OutboxEntry[]
  /** Whether its latest run was its last. */
  isDone: boolean
  reminders: Reminder[]
  watchers: Watcher[]
  recovery: {
    interruption: { run_id: string; reason: Interruption; at: string } | null
    /** Attempts to go on by itself since a model, or one of its tools, last added something; or since an agent's reply. */
    barren_attempts: number
    /** How often the model was asked since it last responded. */
    unanswered_requests: number
  }
  /** Absent where there is none, as in snapshots from before there were any. */
  warm?: RecordedServer
  /** Of a part of the log that was damaged, and is lost: the names of the files that keep it. The keys in it are in the key index. */
  lost?: { kept: string[] }
}
