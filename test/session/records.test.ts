import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { RECORDS } from '../../src/schema/records.js'
import type { Actor } from '../../src/schema/types.js'
import { openForRead } from '../../src/session/load.js'
import { type NewRecord, type RecordKind, wrongShape } from '../../src/session/records.js'
import { frame } from '../../src/storage/log/frame.js'
import { newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const BLOB = { blob: 'a'.repeat(64), bytes: 70_000 }
const CLOCK = { at: '2026-11-20T10:00:00.000Z', kernel_boot_id: 'k', uptime_ms: 1000 }
const GROUP = { process_group: 4121, start_time: 99, kernel_boot_id: 'k', pid_namespace: '1' }
const USAGE = {
  input_tokens: 9,
  output_tokens: 2,
  cache_read_tokens: 5,
  cache_write_tokens: 3,
  reasoning_tokens: 1,
  cost_usd: 0.0125,
}
const SCHEDULE = { schedule_id: ID, name: 'daily' }
const SLOTS = {
  from: '2026-11-20T10:00:00.000Z',
  to: '2026-11-20T12:00:00.000Z',
  count: 3,
  next_at: '2026-11-20T13:00:00.000Z',
}
const MODELS = [{ model: 'm', ...USAGE }]
const ACTOR: Actor = {
  uid: 1000,
  user: 'ana',
  face: 'http',
  token: 'phone',
  sender: { channel: 'telegram', id: '4711' },
  claims: { client: 'app 1', name: 'Ana', agent: ID },
}

/** A record of every kind, with all its fields. */
const EXAMPLES: { [K in RecordKind]: Required<Omit<NewRecord<K>, 'kind'>> } = {
  'session.created': {
    agent_id: ID,
    format: 1,
    name: 'a',
    parent: ID,
    path: 'top/a',
    instructions: BLOB,
    provider: 'exec',
    options: { command: 'cat' },
    model: 'm',
    workspace: '/w',
    allow: ['shell'],
    host_id: 'h',
    host_name: 'web-2',
    on_unknown: ['shell=stop'],
    context: 'turn',
    workspace_scope: 'any',
    actor: ACTOR,
  },
  'session.configured': {
    instructions: 'be brief',
    options: { command: 'cat' },
    model: null,
    workspace: '/w',
    title: 't',
    hold: true,
    allow: ['all'],
    allowed_by: 'approve',
    metadata: { progress: 'half', link: null },
    host_id: 'h',
    host_name: 'web-2',
    on_unknown: [],
    context: 'last:3',
    forgets_refusals: true,
    workspace_scope: 'host',
    actor: ACTOR,
  },
  'session.upgraded': { from_format: 1, to_format: 2 },
  'session.activated': { boot_id: 'k/1/2/3', host_id: 'h' },
  'session.suspended': { reason: 'idle' },
  'session.terminated': { actor: ACTOR },
  'session.imported': { from: ID, home_id: ID, bundle_id: ID, host_id: 'h', host_name: 'web-2' },
  'session.moved': {
    move_id: ID,
    home_id: ID,
    to: '/home/me/a.bundle',
    top: ID,
    messages: [ID],
    content: '[]',
    answered: [{ message_id: ID, from: ID }],
  },
  'session.arrived': { move_id: ID, from_home: ID, host_id: 'h', host_name: 'web-2' },
  'session.rebuilt': {
    kept: 'events.jsonl.damaged-20261120T100000.000Z',
    last_seq: 17,
    delivered: [ID],
    requests: [{ message_id: ID, from: 'operator' }],
    keys: ['2026-11'],
    key_hashes: ['0123456789abcdef0123456789abcdef'],
    more_key_hashes: { blob: '0'.repeat(64), bytes: 16 },
  },
  'run.started': {
    run_id: ID,
    boot_id: 'k/1/2/3',
    host_id: 'h',
    host_name: 'web-2',
    origin: 'continuation',
    provider: 'exec',
    model: null,
    options: {},
    key: 'k',
    digest: 'd',
    continues: ID,
    auto: true,
    turn_timeout_ms: 1000,
    allow: ['shell', 'notes__add'],
    steps_max: 20,
    fresh: true,
    keeps_seq: 40,
    keeps_offset: 4000,
    repeats: ID,
    actor: ACTOR,
  },
  'run.resumed': {
    run_id: ID,
    boot_id: 'k/1/2/3',
    host_id: 'h',
    host_name: 'web-2',
    auto: false,
    attempt: 1,
    token_id: ID,
    actor: ACTOR,
  },
  'run.waiting': {
    run_id: ID,
    wait: 'approval',
    asks: [{ call_id: 'c', tool: 'shell', input: { command: 'make' } }],
    token_id: ID,
    deadline_at: '2026-11-27T10:00:00.000Z',
    not_before: '2026-11-20T11:00:00.000Z',
    clock: CLOCK,
    why: 'too many requests',
    usage: USAGE,
    models: MODELS,
  },
  'run.completed': { run_id: ID, usage: USAGE, models: MODELS, terminates: true },
  'run.failed': {
    run_id: ID,
    error: { type: 'refused', message: 'it will not' },
    said: BLOB,
    detail: 'Error: it will not',
    usage: USAGE,
    models: MODELS,
  },
  'run.cancelled': { run_id: ID, reason: 'turn_timeout', usage: USAGE, models: MODELS, actor: ACTOR },
  'run.interrupted': {
    run_id: ID,
    reason: 'program_killed',
    error: { type: 'crashed', message: 'it was killed by SIGKILL' },
    left: [GROUP],
    host_id: 'h',
    undecided: true,
    usage: USAGE,
    models: MODELS,
    actor: ACTOR,
  },
  'run.programs_gone': { run_id: ID, by: 'host', leash: true, actor: ACTOR },
  'turn.refused': {
    cause: 'authentication',
    code: 'PROVIDER_MISCONFIGURED',
    message: 'no API key: set ANTHROPIC_API_KEY',
    command: 'substrat send',
    key: 'k',
    digest: 'd',
  },
  'message.user': { message_id: ID, run_id: ID, content: 'hi', origin: 'operator', actor: ACTOR },
  'message.notice': { run_id: ID, content: 'it was interrupted', attempt: 1 },
  'message.agent': {
    message_id: ID,
    run_id: ID,
    content: BLOB,
    terminates: true,
    incomplete: 'length',
    usage: USAGE,
    models: MODELS,
  },
  'model.requested': { run_id: ID },
  'model.responded': {
    run_id: ID,
    stop: 'tool_calls',
    usage: USAGE,
    model: 'm',
    items: [{ type: 'thinking', signature: 's' }],
    items_blob: BLOB,
    items_refused: true,
    calls: [
      { call_id: 'c', name: 'shell', input: { command: 'make' } },
      { call_id: 'd', name: 'write_file', input_blob: BLOB },
    ],
  },
  'model.failed': {
    run_id: ID,
    error: { type: 'rate_limit', message: 'slow down' },
    retry_in_ms: 2000,
    detail: 'Error: slow down',
    usage: USAGE,
    model: 'm',
  },
  'tool.started': {
    run_id: ID,
    call_id: 'c',
    tool: 'shell',
    group: GROUP,
    input: { command: 'make' },
    input_blob: BLOB,
  },
  'tool.finished': {
    run_id: ID,
    call_id: 'c',
    tool: 'shell',
    content: 'ok',
    is_error: false,
    output: BLOB,
    timed_out: true,
  },
  'tool.repeated': { run_id: ID, call_id: 'c', tool: 'shell', attempt: 2, group: GROUP },
  'tool.check_started': { run_id: ID, call_id: 'c', tool: 'shell', command: './was-pushed', group: GROUP },
  'tool.checked': { run_id: ID, call_id: 'c', tool: 'shell', found: 'not_done', content: 'no' },
  'tool.edited': {
    run_id: ID,
    call_id: 'c',
    tool: 'shell',
    input: { command: 'make' },
    input_blob: BLOB,
    actor: ACTOR,
  },
  'tool.deferred': {
    run_id: ID,
    call_id: 'c',
    tool: 'await_external',
    content: 'the build',
    deadline_at: '2026-11-27T10:00:00.000Z',
  },
  'server.started': { run_id: ID, server: 'notes', group: GROUP },
  'server.failed': { run_id: ID, server: 'notes', why: 'exit status 3', stderr: 'no database' },
  'server.kept': { server_id: ID, group: GROUP },
  'server.stopped': { server_id: ID },
  'token.minted': {
    run_id: ID,
    token_id: ID,
    hash: 'a'.repeat(64),
    expires_at: '2026-11-27T10:00:00.000Z',
    clock: CLOCK,
    wait: 'tool_result',
  },
  'token.consumed': {
    run_id: ID,
    token_id: ID,
    decision: 'input',
    digest: 'd',
    key: 'k',
    clock: CLOCK,
    actor: ACTOR,
  },
  'token.revoked': { run_id: ID, token_id: ID, reason: 'rotated' },
  'token.expired': { run_id: ID, token_id: ID },
  'context.tried': { run_id: ID, how: 'summary', messages: 4, usage: USAGE, model: 'm' },
  'context.compacted': {
    run_id: ID,
    content: 'the summary',
    how: 'summary',
    keeps_seq: 7,
    keeps_offset: 900,
    messages: 12,
    responses: 5,
    usage: USAGE,
    model: 'm',
  },
  'prompt.assembled': { run_id: ID, sources: [{ path: '/w/AGENTS.md', bytes: 70_000, cut: 10 }] },
  'provider.started': {
    run_id: ID,
    process_group: 4121,
    start_time: 99,
    kernel_boot_id: 'k',
    pid_namespace: '1',
    host_id: 'h',
    launch_id: ID,
    lease: ID,
  },
  'program.tool_started': {
    run_id: ID,
    call_id: 'c',
    tool: 'bash',
    input: { command: 'make' },
    input_blob: BLOB,
  },
  'program.tool_finished': {
    run_id: ID,
    call_id: 'c',
    tool: 'bash',
    content: 'ok',
    is_error: false,
    output: BLOB,
  },
  'program.note': { run_id: ID, content: 'the request is retried' },
  'program.output': { run_id: ID, stream: 'stderr', content: BLOB, left_out: 12 },
  'wait.answered': {
    run_id: ID,
    decision: 'approve',
    content: 'go on',
    asks: [{ call_id: 'c', tool: 'bash', input: { command: 'make' } }],
    actor: ACTOR,
  },
  'session.seeded': { from: ID, content: BLOB, conversation: BLOB, responses: 2 },
  'provider.state': { run_id: ID, state: 'AAEC' },
  'mail.delivered': {
    run_id: ID,
    message_id: ID,
    from: ID,
    from_path: 'top/a',
    mail_kind: 'response',
    reply_to: ID,
    content: 'hi',
    sent_at: '2026-11-20T10:00:00.000Z',
    call_id: 'c',
    reminder_id: ID,
    schedule_id: ID,
    clock: CLOCK,
    actor: ACTOR,
  },
  'mail.replied': { run_id: ID, message_id: ID },
  'mail.answered': { deferred: true },
  'reminder.set': {
    reminder_id: ID,
    content: BLOB,
    due_at: '2026-11-20T10:00:00.000Z',
    every_ms: 1000,
    clock: CLOCK,
  },
  'clock.set_back': { clock: CLOCK },
  'reminder.cancelled': { reminder_id: ID },
  'schedule.set': {
    ...SCHEDULE,
    when: 'every 1h',
    calendar: '0 * * * *',
    time_zone: 'Europe/Berlin',
    content: BLOB,
    next_at: '2026-11-20T10:00:00.000Z',
    every_ms: 3_600_000,
    missed: 'once',
    overlap: 'skip',
    until: '2026-12-20T10:00:00.000Z',
    jitter_ms: 1000,
    replaces: ID,
  },
  'schedule.fired': {
    ...SCHEDULE,
    run_id: ID,
    message_id: ID,
    due_at: '2026-11-20T10:00:00.000Z',
    next_at: null,
  },
  'schedule.skipped': { ...SCHEDULE, why: 'gated', ...SLOTS },
  'schedule.missed': { ...SCHEDULE, why: 'late', ...SLOTS, message_id: ID },
  'schedule.ran_now': { ...SCHEDULE, run_id: ID, message_id: ID },
  'schedule.paused': SCHEDULE,
  'schedule.resumed': SCHEDULE,
  'schedule.removed': SCHEDULE,
  'outbound.queued': {
    outbound_id: ID,
    target: 'ops',
    event: 'waiting',
    run_id: ID,
    thread: 't',
    content: BLOB,
    replies_to: { remote_id: '16', sender: 'ann', context: '{}' },
    buttons: [{ label: 'Approve', text: 'approve 1a2b3c4d' }],
    expires_at: '2026-11-21T10:00:00.000Z',
  },
  'outbound.attempted': { outbound_id: ID, attempt: 1, message_id: ID },
  'outbound.sent': { outbound_id: ID, attempt: 1, remote_id: '17', message_id: ID },
  'outbound.failed': {
    outbound_id: ID,
    attempt: 1,
    why: 'it answered with status 500',
    not_before: '2026-11-20T10:00:01.000Z',
    clock: CLOCK,
    not_shown: true,
    message_id: ID,
  },
  'outbound.dropped': {
    outbound_id: ID,
    reason: 'attempts',
    why: 'it answered with status 500',
    message_id: ID,
  },
  'channel.received': {
    message_id: ID,
    remote_id: '16',
    thread: 't',
    sender: 'ann@example.org',
    sender_name: 'Ann',
    agent_id: ID,
    content: BLOB,
    context: '{}',
    attachments: ['report.pdf'],
    sent_at: '2026-11-20T10:00:00.000Z',
  },
  'channel.cursor': { cursor: '17' },
  'channel.handled': { message_id: ID, outcome: 'delivered' },
  'channel.taken': { message_id: ID },
  'channel.announced': { agent_id: ID, since_seq: 4 },
  'agent.gated': { message_id: ID, from: 'operator', actor: ACTOR },
  'agent.ungated': { message_id: ID, from: ID, actor: ACTOR },
  'agent.permitted': { message_id: ID, from: ID, actor: ACTOR },
  'agent.poked': { message_id: ID, from: ID, actor: ACTOR },
  'agent.watched': { message_id: ID, from: ID, on: ['idle', 'interrupted'], once: true },
  'agent.unwatched': { message_id: ID, from: ID },
  'status.derived': { status: 'interrupted_startup' },
}

const KINDS = Object.keys(RECORDS) as RecordKind[]

/** Invalid values of each field. */
const SPOILED: Record<string, unknown[]> = {
  actor: [null, 'ana', {}, { face: 'door' }, { ...ACTOR, uid: '0' }, { ...ACTOR, claims: { name: 7 } }],
  allowed_by: ['set', 5],
  workspace_scope: ['all', 7],
  forgets_refusals: ['yes', 0],
  deferred: ['yes', null, 1],
  outbound_id: [7, 'no uuid'],
  target: [7, null],
  event: ['over', null],
  thread: [7, null],
  remote_id: [7, null],
  replies_to: [7, { remote_id: '16' }, { remote_id: '16', sender: 'ann', context: 7 }],
  buttons: [7, [{ label: 'Approve' }], [null]],
  sender: [7, null],
  sender_name: [7, null],
  context: [7, null],
  attachments: [7, [7], null],
  cursor: [7, null],
  outcome: ['lost', null],
  since_seq: ['4', 0.5],
  home_id: [7, 'no uuid'],
  bundle_id: [7, 'no uuid'],
  move_id: [7, 'no uuid'],
  from_home: [7, 'no uuid'],
  to: [7, null],
  top: ['1', null],
  answered: [[{ message_id: '1', from: ID }], [ID], null],
  clock: [7, {}, { ...CLOCK, at: 'noon' }, { ...CLOCK, uptime_ms: 0.5 }, { ...CLOCK, kernel_boot_id: 1 }],
  path: [7, null],
  metadata: [null, ['half'], { progress: 7 }, { progress: undefined }],
  terminates: ['yes', null, 1],
  stderr: [7, null],
  stream: ['paper', null],
  left_out: ['12', 0.5],
  input: ['make', []],
  input_blob: ['text', { blob: 'b', bytes: 1 }],
  from_path: [7, null],
  reply_to: ['1', null],
  reminder_id: ['1', null],
  due_at: ['2026-11-20', 0, null],
  every_ms: ['1s', 0.5],
  schedule_id: ['1', null],
  when: [7, null],
  calendar: [7, null],
  time_zone: [7, null],
  next_at: ['2026-11-20', 7],
  missed: ['twice', null],
  overlap: ['run', null],
  until: ['2026-12-20', null],
  jitter_ms: ['1s', 0.5],
  replaces: ['1', null],
  count: ['3', 0.5],
  on: ['idle', ['asleep'], [null], null],
  once: ['yes', null, 1],
  launch_id: [ID.toUpperCase(), null],
  lease: [ID.toUpperCase(), null],
  leash: ['yes', null],
  agent_id: [ID.toUpperCase(), `${ID}0`, '../../etc', ''],
  run_id: [ID.toUpperCase(), null],
  message_id: ['1', null],
  parent: ['root', ''],
  continues: ['x', null],
  format: ['1', 1.5, Number.NaN],
  from_format: ['1', null],
  to_format: ['2', null],
  host_id: [null, 7],
  host_name: [null, 7],
  left: [null, [{ process_group: 1 }], 'none'],
  cause: ['weather', null],
  code: [7, null],
  message: [7, null],
  command: [7, null],
  by: ['nobody', null],
  models: [null, [{ model: 'm' }], [{ ...USAGE, model: 7 }]],
  items: [null, ['thinking'], {}],
  items_blob: ['text', { blob: 'b', bytes: 1 }],
  items_refused: ['yes', 1],
  attempt: [2 ** 53, '1'],
  not_shown: ['yes', null, 1],
  process_group: [1.5, null],
  start_time: [null],
  turn_timeout_ms: ['10m', Number.POSITIVE_INFINITY, null],
  name: [7],
  title: [7],
  model: [7],
  provider: [null],
  workspace: [null],
  boot_id: [null],
  kernel_boot_id: [7],
  pid_namespace: [4026531836],
  key: [null, 7],
  digest: [null],
  from: [null, 7],
  state: [null, new Uint8Array(1)],
  content: [null, { blob: 'a'.repeat(63), bytes: 1 }, { blob: 'a'.repeat(64), bytes: '1' }, { blob: 'a' }],
  conversation: [null, 7, { blob: 'a'.repeat(63), bytes: 1 }],
  instructions: [7, { bytes: 1 }],
  said: [7, { blob: 'a', bytes: 1 }],
  detail: [7, ['Error']],
  options: [null, { command: 7 }, 'command=cat'],
  hold: ['yes', null, 1],
  auto: ['yes', null, 0],
  origin: ['cron', null],
  stop: ['stop', null],
  reason: ['because', null],
  status: ['asleep', null],
  mail_kind: ['letter', null],
  error: [null, 'it failed', { type: 'new', message: '' }, { type: 'crashed' }],
  usage: [
    null,
    { input_tokens: 1 },
    { input_tokens: 1, output_tokens: 0.5 },
    { ...USAGE, cost_usd: -1 },
    { ...USAGE, reasoning_tokens: '1' },
  ],
  allow: ['all', [7]],
  on_unknown: ['shell=stop', [7]],
  undecided: ['yes', 1],
  found: ['perhaps', null],
  steps_max: ['20', 1.5],
  fresh: ['yes', 1, null],
  token_id: ['1', null],
  repeats: ['k', 7],
  wait: ['patience', null],
  asks: [{}, [{ call_id: 'c', tool: 'shell', input: 'make' }], [{ tool: 'shell', input: {} }]],
  deadline_at: ['2026-11-20', 0],
  not_before: ['later', 0],
  expires_at: ['2026-11-20T10:00:00Z', null],
  why: [7, null],
  calls: [{}, [{ call_id: 'c' }], [{ call_id: 1, name: 'shell' }], [{ call_id: 'c', name: 'x', input: [] }]],
  retry_in_ms: ['2s', 0.5],
  call_id: [7, null],
  tool: [7, null],
  group: [null, { process_group: 1 }, { ...GROUP, start_time: '99' }],
  incomplete: [7],
  is_error: ['no', null],
  timed_out: ['yes', 1],
  output: ['text', { blob: 'b', bytes: 1 }],
  server: [null, 7],
  server_id: [ID.toUpperCase(), null],
  hash: [null],
  decision: ['maybe', null],
  how: ['somehow', null],
  keeps_seq: ['1', null],
  keeps_offset: ['1', null],
  messages: ['1', null],
  responses: ['1', null],
  sources: [{}, [{ path: '/w/AGENTS.md', bytes: 1 }], null],
  kept: [null, 7],
  last_seq: ['17', null],
  delivered: [null, ['1']],
  requests: [null, [{ message_id: '1', from: 'operator' }], [{ message_id: ID }]],
  keys: [null, [7]],
  key_hashes: [null, [7]],
  more_key_hashes: [null, '0', { blob: '0', bytes: 16 }],
  sent_at: ['2026-11-20', '2026-11-20T10:00:00Z', 'yesterday, about ten ooZ', 0],
}

describe.each(KINDS)('a record of kind %s', (kind) => {
  const whole = { seq: 7, ts: '2026-11-20T10:00:00.000Z', kind, batch: [7, 7], ...EXAMPLES[kind] }
  const shape: Record<string, z.core.$ZodType> = RECORDS[kind].shape

  test('is accepted with all its fields, and with a field that a later version added', () => {
    expect(wrongShape(whole)).toBeUndefined()
    expect(wrongShape({ ...whole, later: [1] })).toBeUndefined()
  })

  test('is refused without a valid seq and ts', () => {
    expect(wrongShape({ ...whole, seq: '7' })).toBe('it has no seq or no ts')
    expect(wrongShape({ ...whole, ts: 1 })).toBe('it has no seq or no ts')
  })

  test.each(Object.keys(shape))(
    'is refused if its field %s is invalid, or is missing and not optional',
    (field) => {
      for (const spoiled of [[null], ...(SPOILED[field] as unknown[])])
        expect(wrongShape({ ...whole, [field]: spoiled }), JSON.stringify(spoiled)).toContain(field)
      const { [field]: _, ...without } = whole as Record<string, unknown>
      if (shape[field] instanceof z.ZodOptional) expect(wrongShape(without)).toBeUndefined()
      else expect(wrongShape(without)).toContain(field)
    },
  )
})

test('a value that is not a record of a known kind is refused', () => {
  for (const value of [null, [], 'text', 7, undefined]) expect(wrongShape(value)).toBe('it is not an object')
  const place = { seq: 1, ts: '2026-11-20T10:00:00.000Z' }
  for (const kind of ['run.paused', '', undefined, 'toString', '__proto__'])
    expect(wrongShape({ ...place, kind })).toContain('is unknown')
})

test('this format has exactly the kinds and fields of records.txt (FREEZE_RECORDS=1 updates it)', () => {
  const file = join(import.meta.dirname, '../formats/v2/records.txt')
  const before = existsSync(file) ? readFileSync(file, 'utf8').trimEnd() : ''
  // A kind that is defined elsewhere in the file is the same kind.
  const order = before.split('\n').filter((line) => !line.startsWith(' '))
  const sorted = KINDS.toSorted((a, b) => indexIn(order, a) - indexIn(order, b))
  const now = sorted.flatMap((kind) => [kind, ...fieldsOf(kind).map((field) => `  ${field}`)]).join('\n')
  if (process.env.FREEZE_RECORDS === '1') writeFileSync(file, `${now}\n`)
  else expect(now).toBe(before)
})

test('every kind and field of format 1 is still there', () => {
  const old = readFileSync(join(import.meta.dirname, '../formats/v1/records.txt'), 'utf8').trimEnd()
  let kind = ''
  const missing = old.split('\n').filter((line) => {
    if (!line.startsWith(' ')) kind = line
    const isThere = KINDS.includes(kind as RecordKind)
    return !isThere || (line !== kind && !fieldsOf(kind as RecordKind).includes(line.trim()))
  })
  expect(missing).toEqual([])
})

describe('the reserved wait for a budget', () => {
  const run_id = ID
  const start: NewRecord[] = [{ kind: 'session.activated', boot_id: 'b' }, startedRun(run_id)]
  const RECORDS_OF_IT: NewRecord[] = [
    { kind: 'run.waiting', run_id, wait: 'budget' },
    { kind: 'token.minted', run_id, token_id: ID, hash: 'h', expires_at: CLOCK.at, wait: 'budget' },
  ]

  test.each(RECORDS_OF_IT)('is not written in $kind', async (record) => {
    const session = await newSession(tempStore())
    session.append(start)
    const refused = expect.objectContaining({ message: expect.stringContaining('wait budget') })
    expect(() => session.append([record])).toThrow(refused)
    await session.abandon()
  })

  test.each(RECORDS_OF_IT)('is refused as newer in $kind', async (record) => {
    const store = tempStore()
    const session = await newSession(store)
    session.append(start)
    const seq = session.state.last_seq + 1
    await session.abandon()
    appendFileSync(
      store.local.logPath(session.id),
      frame({ seq, ts: CLOCK.at, batch: [seq, seq], ...record }),
    )
    expect(() => openForRead(store, session.id)).toThrow(
      expect.objectContaining({
        code: 'UNKNOWN_FORMAT',
        message: expect.stringContaining('does not know wait budget'),
      }),
    )
  })
})

function indexIn(order: string[], kind: string): number {
  const index = order.indexOf(kind)
  return index === -1 ? order.length : index
}

function fieldsOf(kind: RecordKind): string[] {
  const shape: Record<string, z.core.$ZodType> = RECORDS[kind].shape
  return Object.entries(shape).map(([field, type]) => (type instanceof z.ZodOptional ? `${field}?` : field))
}
