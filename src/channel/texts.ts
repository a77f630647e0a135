/** The sentences that people read in a thread, and the words with which they answer. */

import { readableTime } from '../clock.js'
import { callText } from '../dispatch/call-text.js'
import type { Ask, Button, RunError } from '../schema/types.js'
import { deriveId } from '../session/ids.js'
import type { Run, Wait } from '../session/state.js'
import { troubleOf } from '../session/trouble.js'

/** A decision in the words of a person: `approve 1a2b3c4d`. */
export interface WrittenDecision {
  decision: 'approve' | 'deny'
  code: string
  reason: string
}

/** The first line only: the lines after it may quote an earlier message. */
export function decisionIn(text: string): WrittenDecision | undefined {
  const [line = ''] = text.trim().split('\n')
  const found = /^["'“”*\s]*(approve|deny)\s+([0-9a-f]{8})\b["'“”*.]*\s*(.*)$/i.exec(line.trim())
  if (found === null) return undefined
  const [, word = '', code = '', reason = ''] = found
  const decision = word.toLowerCase() === 'approve' ? 'approve' : 'deny'
  return { decision, code: code.toLowerCase(), reason: reason.trim() }
}

/** It names one wait, so that an old message approves nothing newer. */
export function codeOf(agentId: string, { since_seq }: Pick<Wait, 'since_seq'>): string {
  return deriveId(agentId, 'wait', String(since_seq)).slice(0, 8)
}

/** Undefined for a wait that ends without a person in the thread. */
export function waitText(
  wait: Pick<Wait, 'kind' | 'not_before'>,
  asks: Ask[],
  code: string,
): { text: string; buttons?: Button[] } | undefined {
  switch (wait.kind) {
    case 'approval': {
      const calls = asks.map((ask) => callText(ask)).join('\n')
      const approve = { label: 'Approve', text: `approve ${code}` }
      const deny = { label: 'Deny', text: `deny ${code}` }
      const text = `I need approval to run this:\n\n${calls}\n\nReply “${approve.text}” or “${deny.text}”. A reason may follow.`
      return { text, buttons: [approve, deny] }
    }
    case 'input':
      return { text: asks.map(questionIn).join('\n') }
    case 'not_before':
      return wait.not_before === null
        ? undefined
        : {
            text: `My AI provider limits the rate of requests. I will go on at ${readableTime(wait.not_before)}.`,
          }
    case 'budget':
      return {
        text:
          wait.not_before === null
            ? 'My budget is used up. An operator has to raise it before I can go on.'
            : `My budget is used up. I will go on at ${readableTime(wait.not_before)}.`,
      }
    default:
      return undefined
  }
}

function questionIn(ask: Ask): string {
  const { question } = ask.input
  return typeof question === 'string' ? question : callText(ask)
}

/** The turn continues: the model has the time limit as the result of its tool. */
export const TIMED_OUT_TEXT = "A command I was running timed out. Let me know if you'd like me to try again."

/** The cause of a turn that did not complete, for the person who wrote the message. */
export function failureText(run: Pick<Run, 'error' | 'reason'>): string {
  if (run.error !== null) return errorText(run.error)
  switch (run.reason) {
    case 'turn_timeout':
      return "My work on this took too long and was stopped. Let me know if you'd like me to try again."
    case 'cancelled':
    case 'superseded':
    case 'suspended':
      return 'An operator stopped my work on this. Send your message again if you still need it.'
    case 'terminated':
    case 'moved':
      return ENDED_TEXT
    case 'log_damaged':
      return LOST_TEXT
    default: {
      const why = troubleOf(run) ?? 'the cause is unknown'
      return `My work on this was interrupted: ${why}. An operator has to decide how it goes on.`
    }
  }
}

function errorText({ type, message }: RunError): string {
  switch (type) {
    case 'overloaded':
    case 'server_error':
    case 'rate_limit':
    case 'unreachable':
    case 'timeout':
    case 'invalid_response':
    case 'empty':
      return "I'm having trouble reaching my AI provider. Try again in a moment."
    case 'overflow':
      return 'This conversation has become too long for my AI model. Please begin a new one.'
    case 'session_lost':
      return LOST_TEXT
    case 'authentication':
    case 'misconfigured':
    case 'billing':
      return 'I am not set up correctly and cannot answer. The operator has to correct that.'
    case 'refused':
      return 'My AI model refused to answer this. Please ask in other words.'
    default:
      return unknownText(message)
  }
}

export function unknownText(message: string): string {
  return `Something went wrong: ${message.replace(/\.$/, '')}. Try sending your message again.`
}

export const LOST_TEXT =
  'I had trouble loading our conversation history. The operator has to repair it before I can answer.'

export const ENDED_TEXT =
  'This conversation was ended before I could answer. Send your message again to begin a new one.'

export const FULL_TEXT = 'Too many messages are pending here. Please send this one again later.'

export function attachmentsText(names: string[]): string {
  const files = names.length === 1 ? 'the attached file' : `the ${names.length} attached files`
  return `I cannot read ${files} (${names.join(', ')}). Please send the text itself.`
}

export const NOT_APPROVER_TEXT = 'You are not among the people who may approve this.'

export const NOT_ANSWERER_TEXT =
  'I am waiting for an answer from an authorised person. I will read your message after that.'

/** `made`: the maker and the time of the latest decision of the turn. */
export function staleCodeText(code: string, made = ''): string {
  const before = made === '' ? '' : ` The latest request ${made}.`
  return `Nothing with the code ${code} is waiting for approval now.${before}`
}
