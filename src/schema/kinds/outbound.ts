/** The records of outbound messages, which must leave the machine. */
import { z } from 'zod'
import { button, content, flag, integer, outboundReply, reading, text, time, uuid } from '../types.js'
import { OUTBOUND_DROPS, OUTBOUND_EVENTS } from '../words.js'
import { kind, message_id, run_id } from './kind.js'

const outbound_id = uuid.describe(
  "Derived from the agent's id, the `seq` of the cause, and the target. The idempotency key at the target.",
)
const handed_over = message_id
  .optional()
  .describe(
    'The control message by which the sender handed over the result while another process held the agent.',
  )

export const outbound = {
  'outbound.queued': kind('A message must leave the machine. In the batch of its cause.', {
    outbound_id,
    target: text.describe('The configured target.'),
    event: z.enum(OUTBOUND_EVENTS),
    run_id: run_id.optional(),
    thread: text.optional().describe('The conversation at the target.'),
    content,
    replies_to: outboundReply.optional().describe('The message at the target that it answers.'),
    buttons: z.array(button).optional().describe('Answers that a person can choose.'),
    expires_at: time.optional().describe('It is dropped if it was not sent by then.'),
  }),
  'outbound.attempted': kind(
    'An attempt begins. Only for a target that may show a message twice. Until a result is recorded, its outcome is unknown.',
    {
      outbound_id,
      attempt: integer.describe('Counts every attempt that began. In results it counts those with a result.'),
      message_id: handed_over,
    },
  ),
  'outbound.sent': kind('The target accepted it.', {
    outbound_id,
    attempt: integer,
    remote_id: text.optional().describe('The id that the target gave.'),
    message_id: handed_over,
  }),
  'outbound.failed': kind('An attempt failed. The next one is not before `not_before`.', {
    outbound_id,
    attempt: integer,
    why: text,
    not_before: time,
    clock: reading.optional(),
    not_shown: flag
      .optional()
      .describe(
        'The attempt that began has certainly shown nothing: the target answered so, or was not reached.',
      ),
    message_id: handed_over,
  }),
  'outbound.dropped': kind('It will not be sent.', {
    outbound_id,
    reason: z
      .enum(OUTBOUND_DROPS)
      .describe(
        '`attempts`: the last allowed attempt failed, or too many have an unknown outcome. `refused`: the target refused it for good. `superseded`: the interrupted turn was continued first.',
      ),
    why: text.optional(),
    message_id: handed_over,
  }),
}
