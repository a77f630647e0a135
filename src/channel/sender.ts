/** The person who wrote a message of a channel. */
import type { Actor } from '../schema/types.js'
import type { SessionRecord } from '../session/records.js'
import type { State } from '../session/state.js'

/** The person, as the service has authenticated them. Their name is only what they say. */
export function senderActor(
  channel: Pick<State, 'path'>,
  { sender, sender_name: name }: Pick<SessionRecord<'channel.received'>, 'sender' | 'sender_name'>,
): Actor {
  const claims = name === undefined ? {} : { claims: { name } }
  return { face: 'channel', sender: { channel: channel.path, id: oneLine(sender) }, ...claims }
}

/** It becomes part of the line above the message that the agent reads. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\]]+/gu, ' ').trim()
}
