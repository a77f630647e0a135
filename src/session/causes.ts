/**
 * The cause of a failure in one sentence, and the next command to run. Results, transcripts, mail and hints take their words
 * from here. The log has the full cause with its stack.
 */
import { shellWord } from '../errors.js'
import type { RunError } from '../schema/types.js'
import type { FailureType } from '../schema/words.js'

/** A clause that ends a sentence. The provider's own message comes last, for readers who know the provider. */
export function causeOf({ type, message }: RunError): string {
  const what = WHAT[type]
  return what === undefined ? message : `${what}: ${message}`
}

/** For other types the provider's message is enough. */
const WHAT: Partial<Record<FailureType, string>> = {
  unreachable: 'its AI provider cannot be reached',
  overloaded: 'its AI provider is too busy to answer',
  server_error: 'its AI provider failed',
  billing: 'its AI provider reports a billing problem',
  rate_limit: 'its AI provider limits the rate of requests',
  timeout: 'its AI provider did not answer in time',
  authentication: 'its AI provider rejected the credentials',
  misconfigured: 'its provider is misconfigured',
  overflow: 'the conversation is too long for its AI model',
  refused: 'its AI model refused to answer',
  invalid: 'its AI provider rejected the request',
  invalid_response: 'its AI provider sent an invalid answer',
}

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
