/**
 * The next command to run after a failure. Results, mail and hints take their words from here.
 */
import { shellWord } from '../errors.js'
import type { RunError } from '../schema/types.js'
import type { State } from './state.js'

/** Begins the message of an empty answer for which a retry alone does not help. */
export const TOKENS_USED_UP = 'the model used up its limit of tokens'

/** What to do after a failure. `first`: a clause that leads to `command`, the command to run next. */
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

/** The user's next step in a sentence. It ends with the command to run. `isProgram`: an agent program keeps the conversation itself. */
export function nextStep(error: RunError, agent: string, isProgram = false): string {
  const word = shellWord(agent)
  // Whether the service rejected the message or the whole conversation depends on the log, which `show` reads.
  if (error.type === 'invalid' && !isProgram)
    return `see what happened: substrat log ${word}; then what to run next: substrat show ${word}`
  const { first, command } = stepAfter(error, word, isProgram)
  return `${first}: ${command}`
}

/** The command that runs the turn again, or takes its place. `show` and the page have it without the sentence. */
export function nextCommandAfter(error: RunError, agent: string, isProgram: boolean): string {
  return stepAfter(error, shellWord(agent), isProgram).command
}

/** The same sentence after a turn that exceeded its time limit. */
export function afterTimeLimit(agent: string): string {
  return `to allow more time: substrat send ${shellWord(agent)} --turn-timeout 1d '…'; to run it again: ${retryCommand(agent)}`
}

export function retryCommand(agent: string): string {
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
