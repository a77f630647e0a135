/** The records of a channel, which is the session of a conversation service such as a chat platform. */
import { z } from 'zod'
import { content, integer, text, time, uuid } from '../types.js'
import { CHANNEL_OUTCOMES } from '../words.js'
import { kind, message_id } from './kind.js'

export const channel = {
  'channel.received': kind('A message came from the platform. In the batch of its cursor.', {
    message_id: uuid.describe("Derived from the channel's id and `remote_id`."),
    remote_id: text.describe("The platform's id of the message."),
    thread: text,
    sender: text.describe("The platform's id of the person, such as an address."),
    sender_name: text.optional().describe('For the agent to read. Not authenticated.'),
    agent_id: uuid.describe('The agent of the thread. It may not exist yet.'),
    content,
    context: text.optional().describe('Data of the channel plugin, for the answer.'),
    attachments: z.array(text).optional().describe('The names of attached files, which no agent gets.'),
    sent_at: time.optional().describe('By the clock of the platform.'),
  }),
  'channel.cursor': kind('All messages of the platform before this place are in the log.', { cursor: text }),
  'channel.handled': kind('A received message was passed on.', {
    message_id: uuid.describe('That of `channel.received`.'),
    outcome: z
      .enum(CHANNEL_OUTCOMES)
      .describe(
        "`delivered`: it is in the agent's inbox or log. `decided`: it answered a wait of the agent. `refused`: the sender gets the reason.",
      ),
  }),
  'channel.taken': kind(
    'A message of an agent was taken from the inbox. The batch has its `outbound.queued`, if the thread gets it.',
    { message_id },
  ),
  'channel.announced': kind(
    'The thread gets a message about a wait of its agent, or about a tool that exceeded its time limit, in the same batch.',
    {
      agent_id: uuid,
      since_seq: integer.describe("The `run.waiting` or `tool.finished` in the agent's log."),
    },
  ),
}
