/**
 * The record kinds of format 1. Released kinds and fields are frozen. A new field is optional, and a retired kind keeps its
 * name here so that it is never reused.
 *
 * docs/format.md documents each kind and field, and test/docs/format-records.test.ts compares the page with the shapes below.
 */

import {
  ask,
  CANCELLATIONS,
  call,
  decision,
  group,
  INTERRUPTIONS,
  isReading,
  lostRequest,
  metadata,
  runError,
  source,
  status,
  usage,
  watched,
} from './fields.js'
import {
  blob,
  type Check,
  content,
  flag,
  integer,
  json,
  list,
  oneOf,
  optional,
  orNull,
  text,
  texts,
  time,
  uuid,
} from './shapes.js'

export const RECORD_SHAPES = {
  'session.created': {
    agent_id: uuid,
    format: integer,
    name: orNull(text),
    parent: orNull(uuid),
    /** The names from the root to this agent, joined by slashes. Absent for a root. */
    path: optional(text),
    instructions: orNull(content),
    provider: text,
    options: texts,
    model: orNull(text),
    workspace: text,
    allow: optional(list(text)),
  },
  'session.configured': {
    instructions: optional(orNull(content)),
    options: optional(texts),
    model: optional(orNull(text)),
    workspace: optional(text),
    title: optional(orNull(text)),
    hold: optional(flag),
    allow: optional(list(text)),
    /** Merged into the existing metadata; null removes a key. */
    metadata: optional(metadata),
  },
  'session.activated': { boot_id: text },
  'session.suspended': { reason: oneOf('idle', 'requested', 'recovery') },
  'session.terminated': {},
  /**
   * The log was damaged, and a person chose to continue from its undamaged part. The damaged log was set aside under the name
   * `kept`. The other fields describe the lost part: delivered mail, requests, keys of messages, its last record.
   */
  'session.rebuilt': {
    kept: text,
    last_seq: integer,
    delivered: list(uuid),
    requests: list(lostRequest),
    keys: list(text),
    /** Hashes of further keys, in hex, from the key index. */
    key_hashes: optional(list(text)),
    /** More hashes if they are too many for a line: 16 bytes each. */
    more_key_hashes: optional(blob),
  },
  'run.started': {
    run_id: uuid,
    boot_id: text,
    origin: oneOf('operator', 'mail', 'continuation'),
    provider: text,
    model: orNull(text),
    options: texts,
    key: optional(text),
    /** sha256 of the message's bytes. A repeated key with another body is refused. */
    digest: optional(text),
    continues: optional(uuid),
    auto: optional(flag),
    turn_timeout_ms: optional(integer),
    /** Tools that may change things without approval; `all` means every tool. */
    allow: optional(list(text)),
    steps_max: optional(integer),
    /** An earlier run with the same key that launched an agent program. The program may already have the message. */
    repeats: optional(uuid),
  },
  /** `token_id` is present if a decision continued the run. */
  'run.resumed': { run_id: uuid, boot_id: text, auto: flag, attempt: integer, token_id: optional(uuid) },
  /** The run is parked and its process exits. It waits until `not_before`, or for a decision with the token. */
  'run.waiting': {
    run_id: uuid,
    wait: oneOf('approval', 'input', 'not_before'),
    asks: optional(list(ask)),
    token_id: optional(uuid),
    deadline_at: optional(time),
    not_before: optional(time),
    clock: optional(isReading),
    why: optional(text),
  },
  /** `terminates`: the agent terminates once its replies are sent. */
  'run.completed': { run_id: uuid, usage: optional(usage), terminates: optional(flag) },
  /**
   * `said`: the model's text before it refused. `detail`: the stacks of the failure, without secrets. `usage`: the usage of an
   * agent program; for a model, `model.failed` has it.
   */
  'run.failed': {
    run_id: uuid,
    error: runError,
    said: optional(content),
    detail: optional(text),
    usage: optional(usage),
  },
  'run.cancelled': { run_id: uuid, reason: oneOf(...CANCELLATIONS) },
  /** `error`: how the agent program ended (`program_killed`). */
  'run.interrupted': {
    run_id: uuid,
    reason: oneOf(...INTERRUPTIONS),
    error: optional(runError),
  },
  'message.user': { message_id: uuid, run_id: uuid, content, origin: oneOf('operator', 'continuation') },
  /** A notice from substrat to the model that its turn was interrupted. */
  'message.notice': { run_id: uuid, content, attempt: integer },
  /** `terminates`: this reply is the agent's last, although its program still runs. */
  'message.agent': { message_id: uuid, run_id: uuid, content, terminates: optional(flag) },
  'model.requested': { run_id: uuid },
  'model.responded': {
    run_id: uuid,
    stop: oneOf('end', 'length', 'tool_calls'),
    usage: optional(usage),
    calls: optional(list(call)),
  },
  /** A failed attempt. `retry_in_ms` is null if no other follows. */
  'model.failed': {
    run_id: uuid,
    error: runError,
    retry_in_ms: orNull(integer),
    detail: optional(text),
    usage: optional(usage),
  },
  /**
   * `group`: the process group of a tool that is a program, recorded before it runs. `input` is present only if an agent program
   * called one of substrat's tools, because then no response of a model has it.
   */
  'tool.started': {
    run_id: uuid,
    call_id: text,
    tool: text,
    group: optional(group),
    input: optional(json),
    input_blob: optional(blob),
  },
  /** `content` is the model's part of the result. `output` is the complete result, if that is more. */
  'tool.finished': {
    run_id: uuid,
    call_id: text,
    tool: text,
    content,
    is_error: flag,
    output: optional(blob),
  },
  /** A tool server (MCP) that runs during a turn. */
  'server.started': { run_id: uuid, server: text, group },
  /** A server of an agent program that stays after the turn, recorded before it runs. `server_id` is in its environment. */
  'server.kept': { server_id: uuid, group },
  /** The kept server has ended. */
  'server.stopped': { server_id: uuid },
  /** The secret itself is never stored: `hash` is its sha256. */
  'token.minted': { run_id: uuid, token_id: uuid, hash: text, expires_at: time, clock: optional(isReading) },
  'token.consumed': { run_id: uuid, token_id: uuid, decision, digest: text, clock: optional(isReading) },
  'token.revoked': {
    run_id: uuid,
    token_id: uuid,
    reason: oneOf('rotated', 'superseded', 'ended', 'expired'),
  },
  /** From now on the model gets `content` instead of all records before `keeps_seq`. The log still has them. */
  'context.compacted': {
    run_id: uuid,
    content,
    how: oneOf('summary', 'dropped'),
    keeps_seq: integer,
    keeps_offset: integer,
    messages: integer,
    /** Number of the model's responses before `keeps_seq`, from the start of the log. */
    responses: integer,
  },
  'prompt.assembled': { run_id: uuid, sources: list(source) },
  'provider.started': {
    run_id: uuid,
    process_group: integer,
    start_time: integer,
    kernel_boot_id: text,
    pid_namespace: text,
    launch_id: optional(uuid),
  },
  /** A tool of the agent program itself. For readers of the log. */
  'program.tool_started': {
    run_id: uuid,
    call_id: text,
    tool: text,
    input: optional(json),
    input_blob: optional(blob),
  },
  'program.tool_finished': {
    run_id: uuid,
    call_id: text,
    tool: text,
    content,
    is_error: flag,
    output: optional(blob),
  },
  /** A person's decision on a question of an agent program. The program receives it when its turn continues. */
  'wait.answered': { run_id: uuid, decision, content, asks: list(ask) },
  /** The conversation so far as text, for a provider whose own store does not have it. `from` is the agent that had it. */
  'session.seeded': { from: uuid, content },
  'provider.state': { run_id: optional(uuid), state: text },
  /** With `call_id` the mail is the result of that call; otherwise it is a message to the model. */
  'mail.delivered': {
    run_id: uuid,
    message_id: uuid,
    from: text,
    /** The sender's path when it sent the message. */
    from_path: optional(text),
    mail_kind: oneOf('request', 'response', 'notification', 'error'),
    reply_to: optional(uuid),
    content,
    sent_at: time,
    call_id: optional(text),
    reminder_id: optional(uuid),
    /** For a reminder: the clock at delivery. Unlike `ts` it may be behind earlier records. */
    clock: optional(isReading),
  },
  /** An open request got its reply before the run ended. */
  'mail.replied': { run_id: uuid, message_id: uuid },
  /** All replies and notices of ended runs are stored in their inboxes. */
  'mail.answered': {},
  /** `clock` is present if the reminder is due after a duration, not at a named time. */
  'reminder.set': {
    reminder_id: uuid,
    content,
    due_at: time,
    every_ms: orNull(integer),
    clock: optional(isReading),
  },
  'reminder.cancelled': { reminder_id: uuid },
  /** Control messages from the parent or the operator. */
  'agent.gated': { message_id: uuid, from: text },
  'agent.ungated': { message_id: uuid, from: text },
  'agent.permitted': { message_id: uuid, from: text },
  'agent.poked': { message_id: uuid, from: text },
  'agent.watched': { message_id: uuid, from: uuid, on: list(watched), once: flag },
  'agent.unwatched': { message_id: uuid, from: uuid },
  /** The clock is behind the start of a running duration. The rest of each duration is counted from here. */
  'clock.set_back': { clock: isReading },
  /** Recovery appends it for readers that follow the log. substrat never reads it back. */
  'status.derived': { status },
} satisfies Record<string, Record<string, Check<never> | Check<unknown>>>
