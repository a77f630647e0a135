/**
 * The record kinds of format 1. Kinds and their fields are frozen once released: a new field is optional, a retired
 * kind leaves its name here so that nothing else ever takes it.
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
    /** Names from the root down to this agent, a slash between them; without one it is a root's name or id. */
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
    /** Merged into what is there; null takes a key away. */
    metadata: optional(metadata),
  },
  'session.activated': { boot_id: text },
  'session.suspended': { reason: oneOf('idle', 'requested', 'recovery') },
  'session.terminated': {},
  /**
   * Its log was damaged, and a person chose to go on with the part of it that is whole. The damaged one is kept under the name
   * `kept`. What it says of the part that is lost: mail that was taken, requests in it, keys of messages, its last record.
   */
  'session.rebuilt': {
    kept: text,
    last_seq: integer,
    delivered: list(uuid),
    requests: list(lostRequest),
    keys: list(text),
    /** Of other keys: the hashes that the key index has, in hex. */
    key_hashes: optional(list(text)),
    /** More of them, where they are too many for a line: 16 bytes each. */
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
    /** sha256 of the message's bytes: the same key with another body is refused. */
    digest: optional(text),
    continues: optional(uuid),
    auto: optional(flag),
    turn_timeout_ms: optional(integer),
    /** Tools that may change things without being asked about; `all` is every tool. */
    allow: optional(list(text)),
    steps_max: optional(integer),
    /** An earlier run with the same key, for which an agent's program was launched: it may have the message already. */
    repeats: optional(uuid),
  },
  /** With `token_id` where a decision let it go on. */
  'run.resumed': { run_id: uuid, boot_id: text, auto: flag, attempt: integer, token_id: optional(uuid) },
  /** Parked: its process exits. `not_before` for a time, else a decision with the token is waited for. */
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
  /** `terminates`: the agent is done for good, once its answers are on their way. */
  'run.completed': { run_id: uuid, usage: optional(usage), terminates: optional(flag) },
  /** `said`: what a model had said before it refused. `detail`: the stacks behind the failure, without secrets. `usage`: of an agent's program; that of a model is with its attempt. */
  'run.failed': {
    run_id: uuid,
    error: runError,
    said: optional(content),
    detail: optional(text),
    usage: optional(usage),
  },
  'run.cancelled': { run_id: uuid, reason: oneOf(...CANCELLATIONS) },
  /** `error`: how its program ended (`program_killed`). */
  'run.interrupted': {
    run_id: uuid,
    reason: oneOf(...INTERRUPTIONS),
    error: optional(runError),
  },
  'message.user': { message_id: uuid, run_id: uuid, content, origin: oneOf('operator', 'continuation') },
  /** Told to the model, not by anybody: that its turn was interrupted. */
  'message.notice': { run_id: uuid, content, attempt: integer },
  /** `terminates`: the agent is done for good with this, though its program still runs. */
  'message.agent': { message_id: uuid, run_id: uuid, content, terminates: optional(flag) },
  'model.requested': { run_id: uuid },
  'model.responded': {
    run_id: uuid,
    stop: oneOf('end', 'length', 'tool_calls'),
    usage: optional(usage),
    calls: optional(list(call)),
  },
  /** An attempt that failed; `retry_in_ms` where another follows. */
  'model.failed': {
    run_id: uuid,
    error: runError,
    retry_in_ms: orNull(integer),
    detail: optional(text),
    usage: optional(usage),
  },
  /**
   * `group` where the tool is a program: recorded before it runs. The input is here only where no response of a model has
   * it: an agent's program called one of substrat's tools.
   */
  'tool.started': {
    run_id: uuid,
    call_id: text,
    tool: text,
    group: optional(group),
    input: optional(json),
    input_blob: optional(blob),
  },
  /** `content` is what the model is given; `output` the whole of it, where that is more. */
  'tool.finished': {
    run_id: uuid,
    call_id: text,
    tool: text,
    content,
    is_error: flag,
    output: optional(blob),
  },
  /** A tool server (MCP) that runs beside a turn. */
  'server.started': { run_id: uuid, server: text, group },
  /** A server of an agent's program that is to outlive the turn: recorded before it runs. `server_id` is in its environment. */
  'server.kept': { server_id: uuid, group },
  /** It is gone. */
  'server.stopped': { server_id: uuid },
  /** The secret itself is on no disk: `hash` is its sha256. */
  'token.minted': { run_id: uuid, token_id: uuid, hash: text, expires_at: time, clock: optional(isReading) },
  'token.consumed': { run_id: uuid, token_id: uuid, decision, digest: text, clock: optional(isReading) },
  'token.revoked': {
    run_id: uuid,
    token_id: uuid,
    reason: oneOf('rotated', 'superseded', 'ended', 'expired'),
  },
  /** Everything before `keeps_seq` is given to the model as `content` from now on; the log keeps it. */
  'context.compacted': {
    run_id: uuid,
    content,
    how: oneOf('summary', 'dropped'),
    keeps_seq: integer,
    keeps_offset: integer,
    messages: integer,
    /** How many responses of the model are before `keeps_seq`, since the beginning. */
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
  /** A tool of an agent's own program: for who reads the log. */
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
  /** What a person decided about what an agent's program asked: the program is told when it goes on. */
  'wait.answered': { run_id: uuid, decision, content, asks: list(ask) },
  /** The conversation so far, in words, for a provider whose own store has none of it: `from` is the agent that had it. */
  'session.seeded': { from: uuid, content },
  'provider.state': { run_id: optional(uuid), state: text },
  /** With `call_id` it is the result of that call, else a message to the model. */
  'mail.delivered': {
    run_id: uuid,
    message_id: uuid,
    from: text,
    /** What the sender was called when it sent it. */
    from_path: optional(text),
    mail_kind: oneOf('request', 'response', 'notification', 'error'),
    reply_to: optional(uuid),
    content,
    sent_at: time,
    call_id: optional(text),
    reminder_id: optional(uuid),
    /** Of a reminder: when it was told, by a clock that is not held back to the log's. */
    clock: optional(isReading),
  },
  /** An open request was answered before the end of its run. */
  'mail.replied': { run_id: uuid, message_id: uuid },
  /** All that ended runs owed to others is in their inboxes. */
  'mail.answered': {},
  /** `clock` where it is due after a duration, not at a time that was named. */
  'reminder.set': {
    reminder_id: uuid,
    content,
    due_at: time,
    every_ms: orNull(integer),
    clock: optional(isReading),
  },
  'reminder.cancelled': { reminder_id: uuid },
  /** What the parent, or the operator, asked of this agent by a message of control. */
  'agent.gated': { message_id: uuid, from: text },
  'agent.ungated': { message_id: uuid, from: text },
  'agent.permitted': { message_id: uuid, from: text },
  'agent.poked': { message_id: uuid, from: text },
  'agent.watched': { message_id: uuid, from: uuid, on: list(watched), once: flag },
  'agent.unwatched': { message_id: uuid, from: uuid },
  /** The clock is behind one by which a running duration began: what is left of each is counted from here. */
  'clock.set_back': { clock: isReading },
  /** Appended by recovery for those who follow the log; never read back. */
  'status.derived': { status },
} satisfies Record<string, Record<string, Check<never> | Check<unknown>>>
