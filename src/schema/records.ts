/**
 * The record kinds, each with its fields. Released kinds and fields are frozen. A new field is optional, and a retired kind
 * keeps its name here so that it is never reused.
 *
 * docs/format.md, the JSON Schemas and the validators are made from these definitions.
 */
import { z } from 'zod'
import { budget } from './kinds/budget.js'
import { channel } from './kinds/channel.js'
import { mail, reminders } from './kinds/mail.js'
import { outbound } from './kinds/outbound.js'
import { schedule } from './kinds/schedule.js'
import { clock, control, session } from './kinds/session.js'
import { tools, waits } from './kinds/tools.js'
import { messages, provider, run } from './kinds/turn.js'
import { integer, time } from './types.js'

/** Every record has these fields, `kind` after `ts`, and then the fields of its kind. */
export const place = {
  seq: integer,
  ts: time,
  batch: z.tuple([integer, integer]),
}

/** The sections of docs/format.md, Record kinds. */
export const RECORD_SECTIONS = {
  Session: session,
  Run: run,
  'Messages of a turn': messages,
  Provider: provider,
  Budgets: budget,
  Tools: tools,
  'Waits and tokens': waits,
  Mail: mail,
  Reminders: reminders,
  Schedules: schedule,
  'Outbound messages': outbound,
  Channels: channel,
  Control: control,
  'Clock and status': clock,
}

/** The kinds that commands write and read. */
export const RECORDS = {
  ...session,
  ...run,
  ...messages,
  ...provider,
  ...budget,
  ...tools,
  ...waits,
  ...mail,
  ...reminders,
  ...schedule,
  ...outbound,
  ...channel,
  ...control,
  ...clock,
}

export type RecordKind = keyof typeof RECORDS
