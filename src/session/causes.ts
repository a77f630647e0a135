/**
 * The next command to run after a failure. Results, mail and hints take their words from here.
 */
import { shellWord } from '../errors.js'
import type { RunError } from '../schema/types.js'

/** Begins the message of an empty answer for which a retry alone does not help. */
export const TOKENS_USED_UP = 'the model used up its limit of tokens'

/** The user's next step. It ends with the command to run. `isProgram`: an agent program keeps the conversation itself. */
export function nextStep({ type, message }: RunError, agent: string, isProgram = false): string {
  const word = shellWord(agent)
  const again = `substrat retry ${word}`
  switch (type) {
    case 'unreachable':
      return `check the network connection, then: ${again}`
    case 'overloaded':
    case 'server_error':
    case 'rate_limit':
      return `wait a few minutes, then: ${again}`
    case 'timeout':
    case 'invalid_response':
      return `try again: ${again}`
    case 'empty':
      return message.startsWith(TOKENS_USED_UP)
        ? `raise the limit: substrat set ${word} --option max_tokens=NUMBER; then: ${again}`
        : `try again: ${again}`
    case 'authentication':
      return `log in, or set the API key, then: ${again}`
    case 'billing':
      return `pay, or raise the limit of the account, then: ${again}`
    case 'misconfigured':
      return `change the setting: substrat set ${word} --option NAME=VALUE; then: ${again}`
    case 'overflow':
      return isProgram
        ? `give it less to read, or start another agent: substrat spawn '…'`
        : `make its conversation shorter: substrat compact ${word}; then: ${again}`
    case 'invalid':
      return isProgram
        ? `see what happened: substrat log ${word}`
        : `see what happened: substrat log ${word}; then what to run next: substrat show ${word}`
    case 'refused':
      return `ask in other words: substrat send ${word} '…'`
    case 'busy':
      return `close the other program that uses the session, then: ${again}`
    case 'session_lost':
      return `start a new session from substrat's log: substrat resume ${word} --reseed`
    default:
      return `see what happened: substrat log ${word}`
  }
}

/** A note to the user. The turn continues: the model gets the timeout as the tool's result and decides. */
export function toolTimedOut(tool: string, timeoutMs: number): string {
  const seconds = Math.round(timeoutMs / 1000)
  return `the tool ${tool} timed out and was stopped after ${seconds} s; the agent continues with that result (to give tools more time: substrat config set tool_timeout 30m)`
}
