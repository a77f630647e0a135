/**
 * The next command to run after a failure. Results, mail and hints take their words from here.
 */
import { readableTime } from '../clock.js'
import { shellWord } from '../errors.js'
import type { RunError } from '../schema/types.js'
import type { Run, State } from './state.js'

/** Begins the message of an empty answer for which a retry alone does not help. */
export const TOKENS_USED_UP = 'the model used up its limit of tokens'

/** What to do next. `sentence` ends with the command to run; `command` is that of `show` and the page, which print no sentence. */
export interface NextStep {
  sentence: string
  command: string
}

/** `first`: a clause that leads to `command`, the command to run next. */
interface Step {
  first: string
  command: string
}

/**
 * The agent as an argument of a command. The name of a child may also be that of another agent, so it is its path; of a terminated agent,
 * whose path may be reused, it is the id.
 */
export function addressOf({ state, id, path }: Pick<State, 'state' | 'id' | 'path'>): string {
  return state === 'terminated' ? id : path
}

/** How a turn ended, as far as the next step depends on it. */
export type EndedTurn = Pick<Run, 'status' | 'reason' | 'error' | 'hasLaunched'>

/**
 * The step after the latest turn, the same on stderr, in `show`, in notifications and on the page. Undefined unless it failed or
 * was cancelled. `hasReadLog`: `show` has read the log, and knows whether the service rejected the message or the conversation. `retry` keeps the key of the turn, so a keyed turn has the same step.
 */
export function stepAfterTurn(
  { status, reason, error, hasLaunched }: EndedTurn,
  agent: string,
  hasReadLog = false,
): NextStep | undefined {
  if (status === 'failed') {
    const known = error ?? UNKNOWN
    return {
      sentence: nextStep(known, agent, hasLaunched, hasReadLog),
      command: nextCommandAfter(known, agent, hasLaunched),
    }
  }
  if (status !== 'cancelled') return undefined
  if (reason === 'turn_timeout') return { sentence: afterTimeLimit(agent), command: retryCommand(agent) }
  const log = `substrat log ${shellWord(agent)}`
  // A terminated agent runs nothing again.
  if (reason === 'terminated') return { sentence: `see what it did: ${log}`, command: log }
  const command = retryCommand(agent)
  return { sentence: `see what it did: ${log}; to run it again: ${command}`, command }
}

/** The step while a turn waits until a rate limit ends. */
export function stepAtLimit(agent: string, until: string, isOver: boolean): NextStep {
  const command = `substrat resume ${shellWord(agent)}`
  const first = isOver ? 'continue it' : `wait until ${readableTime(until)}, then`
  return { sentence: `${first}: ${command}`, command }
}

/** The steps while the outcome of a tool call is unknown: a person looks, then continues the turn or gives it up. */
export function decideUnknown(agent: string): string {
  const word = shellWord(agent)
  return `see what it did: substrat log ${word}; then continue the turn: substrat resume ${word}; or give it up: substrat cancel ${word}`
}

/** The step of an agent whose only messages or reminders are for later. `at`: the first of them. */
export function stepWhenScheduled(agent: string, at: string): NextStep {
  const command = `substrat deliver ${shellWord(agent)}`
  return { sentence: `wait until ${readableTime(at)}, then: ${command}`, command }
}

/** The step after the service rejected a conversation that it accepted before. */
export function stepWhenTooLong(agent: string): NextStep {
  const command = `substrat compact ${shellWord(agent)}`
  return { sentence: `make its conversation shorter: ${command}; then: ${retryCommand(agent)}`, command }
}

export const UNKNOWN: RunError = { type: 'crashed', message: 'it failed without saying why' }

/** The user's next step in a sentence. It ends with the command to run. `isProgram`: an agent program keeps the conversation itself. */
export function nextStep(error: RunError, agent: string, isProgram = false, hasReadLog = false): string {
  const word = shellWord(agent)
  // Whether the service rejected the message or the whole conversation depends on the log, which `show` reads.
  if (error.type === 'invalid' && !isProgram && !hasReadLog)
    return `see what happened: substrat log ${word}; then what to run next: substrat show ${word}`
  const { first, command } = stepAfter(error, word, isProgram)
  return `${first}: ${command}`
}

/** The command that runs the turn again, or takes its place. `show` and the page have it without the sentence. */
export function nextCommandAfter(error: RunError, agent: string, isProgram: boolean): string {
  return stepAfter(error, shellWord(agent), isProgram).command
}

/** The same sentence after a turn that exceeded its time limit. */
function afterTimeLimit(agent: string): string {
  return `to allow more time: substrat send ${shellWord(agent)} --turn-timeout 1d '…'; to run it again: ${retryCommand(agent)}`
}

function retryCommand(agent: string): string {
  return `substrat retry ${shellWord(agent)}`
}

function stepAfter({ type, message }: RunError, word: string, isProgram: boolean): Step {
  const command = `substrat retry ${word}`
  switch (type) {
    case 'unreachable':
      return { first: 'check the network connection, then', command }
    case 'overloaded':
    case 'server_error':
    case 'rate_limit':
      return { first: 'wait a few minutes, then', command }
    case 'timeout':
    case 'invalid_response':
      return { first: 'try again', command }
    case 'empty':
      return message.startsWith(TOKENS_USED_UP)
        ? { first: `raise the limit: substrat set ${word} --option max_tokens=NUMBER; then`, command }
        : { first: 'try again', command }
    case 'authentication':
      return { first: 'log in, or set the API key, then', command }
    case 'billing':
      return { first: 'pay, or raise the limit of the account, then', command }
    case 'misconfigured':
      return { first: `change the setting: substrat set ${word} --option NAME=VALUE; then`, command }
    case 'overflow':
      return isProgram
        ? { first: 'give it less to read, or start another agent', command: `substrat spawn '…'` }
        : { first: `make its conversation shorter: substrat compact ${word}; then`, command }
    case 'refused':
      return { first: 'ask in other words', command: `substrat send ${word} '…'` }
    case 'busy':
      return { first: 'close the other program that uses the session, then', command }
    case 'session_lost':
      return {
        first: "start a new session from substrat's log",
        command: `substrat resume ${word} --reseed`,
      }
    default:
      return { first: `see what happened: substrat log ${word}; then`, command }
  }
}

/** A note to the user. The turn continues: the model gets the timeout as the tool's result and decides. */
export function toolTimedOut(tool: string, timeoutMs: number): string {
  const seconds = Math.round(timeoutMs / 1000)
  return `the tool ${tool} timed out and was stopped after ${seconds} s; the agent continues with that result (to give tools more time: substrat config set tool_timeout 30m)`
}
