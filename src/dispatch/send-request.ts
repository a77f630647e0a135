import type { DueTime } from '../session/durations.js'

/** A person's message to an agent, or one that an agent sends by the CLI. */
export interface SendRequest {
  agentId: string
  content: string
  /** With the same key the same message is taken once, and told the same outcome. */
  key: string | null
  /** Take it anew where the run of that key did not complete. */
  retry: boolean
  ifBusy: 'wait' | 'queue' | 'fail'
  turnTimeoutMs: number | null
  /** When the agent waits for a decision or a time: take its place, refuse, or leave the message for later. */
  ifWaiting: 'supersede' | 'fail' | 'queue'
  /** Tools that may change things without being asked about. */
  allow: string[]
  stepsMax: number | null
  /** Through the inbox, whatever the agent does; see `queue`. */
  isQueued: boolean
  kind: 'request' | 'notification'
  /** Through the inbox, and not delivered before. */
  notBefore: DueTime | null
}
