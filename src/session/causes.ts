/**
 * What went wrong, in one plain sentence for a person, and what to do next. The only place where a cause becomes words:
 * results, transcripts, mail and hints take them from here. The full cause, with its stack, is in the log.
 */
import { shellWord } from '../errors.js'
import type { FailureType, RunError } from './fields.js'

/** As the end of a sentence. What the provider itself said comes last: it is for who knows the provider. */
export function causeOf({ type, message }: RunError): string {
  const what = WHAT[type]
  return what === undefined ? message : `${what}: ${message}`
}

/** Where nothing is said here, the message alone says it. */
const WHAT: Partial<Record<FailureType, string>> = {
  unreachable: 'its AI provider cannot be reached',
  overloaded: 'its AI provider is too busy to answer',
  rate_limit: 'its AI provider takes no more requests for now',
  timeout: 'its AI provider did not answer in time',
  authentication: 'its AI provider does not accept the key or the login',
  misconfigured: 'it cannot work with its settings',
  overflow: 'the conversation is too long for its AI model',
  refused: 'its AI model refused to answer',
  invalid: 'its AI provider did not accept the request',
  invalid_response: 'its AI provider sent an answer that cannot be used',
}

/** What a person does about it: the command to run last. */
export function nextStep(type: FailureType, agent: string): string {
  const word = shellWord(agent)
  const again = `substrat retry ${word}`
  switch (type) {
    case 'unreachable':
      return `check the network connection, then: ${again}`
    case 'overloaded':
    case 'rate_limit':
      return `wait a few minutes, then: ${again}`
    case 'timeout':
    case 'invalid_response':
      return `try again: ${again}`
    case 'authentication':
      return `log in, or set the key, then: ${again}`
    case 'misconfigured':
      return `change the settings with substrat set ${word}, then: ${again}`
    case 'overflow':
      return `give it less to read, or begin another agent: substrat spawn '…'`
    case 'refused':
      return `ask in other words: substrat send ${word} '…'`
    case 'busy':
      return `close it there, then: ${again}`
    case 'session_lost':
      return `begin it anew with what the log has of it: substrat resume ${word} --reseed`
    default:
      return `see what happened: substrat log ${word}`
  }
}

/** What a person is told while the turn goes on: the model is told too, and decides. */
export function toolTimedOut(tool: string, timeoutMs: number): string {
  const seconds = Math.round(timeoutMs / 1000)
  return `the tool ${tool} timed out: it was stopped after ${seconds} s, and the agent was told (to give tools more time: substrat config set tool_timeout 30m)`
}
