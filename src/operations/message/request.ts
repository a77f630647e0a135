import type { MessageOptions } from '../../schema/message.js'
import type { DueTime } from '../../session/durations.js'

/** A message of the operator to an agent, or of an agent that uses the CLI. */
export interface MessageRequest extends Omit<MessageOptions, 'digest'> {
  agentId: string
  /** The agent that sends it: the caller, or with `--from` any other. Null: the operator. */
  from: string | null
  content: string
  /** Run the message again if the run of its key did not complete. */
  retry: boolean
  ifBusy: 'wait' | 'queue' | 'fail'
  /** If a turn is parked: replace it, refuse the message, queue the message, or let the caller ask a person first. */
  ifWaiting: 'supersede' | 'fail' | 'queue' | 'ask'
  /** If the outcome of a tool call of the latest turn is unknown: refuse the message, or continue that turn first. */
  ifUnknown: 'stop' | 'continue'
  /** Overtake the messages that the operator queued before. */
  isFirst: boolean
  /** Always send through the inbox; see `queue`. */
  isQueued: boolean
  kind: 'request' | 'notification'
  /** Send through the inbox; do not deliver before this time. */
  notBefore: DueTime | null
}

/** The defaults of `send` in a script. */
export const PLAIN = {
  from: null,
  key: null,
  retry: false,
  ifBusy: 'wait',
  ifWaiting: 'supersede',
  ifUnknown: 'stop',
  isFirst: false,
  isQueued: false,
  kind: 'request',
  notBefore: null,
} as const satisfies Partial<MessageRequest>

/** Whether the message goes through the inbox also while the agent is idle. */
export function isForInbox({ isQueued, notBefore, kind }: MessageRequest): boolean {
  return isQueued || notBefore !== null || kind !== 'request'
}
