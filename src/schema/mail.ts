/** The message in an inbox (docs/format.md, Mail). */
import { z } from 'zod'
import { askedFields } from './message-fields.js'
import { actor, flag, integer, reading, text, time, uuid, watchedStatus } from './types.js'
import { OUTBOUND_DROPS } from './words.js'

/** The beginning or the result of an attempt to send an outbound message. See the records of the same names. */
const outboundResult = z.union([
  z.object({
    kind: z.literal('outbound.attempted'),
    outbound_id: uuid,
    attempt: integer,
  }),
  z.object({
    kind: z.literal('outbound.sent'),
    outbound_id: uuid,
    attempt: integer,
    remote_id: text.optional(),
  }),
  z.object({
    kind: z.literal('outbound.failed'),
    outbound_id: uuid,
    attempt: integer,
    why: text,
    not_before: time,
    clock: reading.optional(),
    not_shown: flag.optional(),
  }),
  z.object({
    kind: z.literal('outbound.dropped'),
    outbound_id: uuid,
    reason: z.enum(OUTBOUND_DROPS),
    why: text.optional(),
  }),
])

/**
 * A command from the parent or the operator that the agent carries out without a turn. `outbound` is from the agent's own
 * sender, to the process that holds the agent.
 */
export const control = z
  .union([
    z.object({ verb: z.enum(['gate', 'ungate', 'permit', 'poke', 'unwatch']) }),
    z.object({ verb: z.literal('watch'), on: z.array(watchedStatus), once: flag }),
    z.object({ verb: z.literal('outbound'), result: outboundResult }),
  ])
  .meta({
    id: 'control',
    description:
      '`{verb}`; for `watch` with `on` and `once`; for `outbound` with `result`, the `outbound` record to add.',
  })

const { key: _key, digest: _digest, ...turnFields } = askedFields

export const message = z
  .object({
    message_id: uuid,
    from: text.describe("An agent's id, or `operator`."),
    from_path: text.describe("The sender's path, for display."),
    to: text,
    kind: z
      .enum(['request', 'response', 'notification', 'error', 'control'])
      .describe('The [kinds](mail.md#kinds). No model sees a `control`.'),
    reply_to: uuid.nullable(),
    content: text.describe('Always inline.'),
    control: control.nullable(),
    key: text.nullable(),
    digest: text.describe('Its SHA-256.'),
    not_before: time.nullable().describe('The message is not delivered before this time.'),
    clock: reading.nullable().describe('When a delay began. Null if the sender gave `not_before` as a time.'),
    ...turnFields,
    turn_timeout_ms: integer.nullable(),
    actor: actor.optional().describe('The writer of a message of the operator or of a channel.'),
    created_at: time,
    sequence: integer.describe(
      "The sender's counter, which alone defines the first-in-first-out order per sender.",
    ),
  })
  .describe('A message in an inbox.')

export type OutboundResult = z.infer<typeof outboundResult>
export type Control = z.infer<typeof control>
export type Message = z.infer<typeof message>
