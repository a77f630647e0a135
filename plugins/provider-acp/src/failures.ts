/** Turns an agent's errors into failures of the contract. */
import type { ProviderFailure } from 'substrat/provider'
import { endedEarly, type FailureType, failure, isFailure } from '../../shared/src/failure.js'
import {
  type Exit,
  killerOf,
  SURE_EXIT_MS_MAX,
  soonExited,
  wordsOfExit,
} from '../../shared/src/program/exit.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectsOf, textOf } from '../../shared/src/program/json.js'
import { AgentEnded, AgentError, TimedOut } from './connection.js'

// An error code of ACP.
const AUTH_REQUIRED = -32000

/** The facts about the agent that explain a failure. */
export interface Known {
  command: string
  /** From its answer to `initialize`. */
  authMethods: unknown
  /** While the agent starts, its stderr is the reason why it cannot work. */
  isStarting: boolean
  complaint(): Promise<string>
  exited: Promise<Exit>
}

export async function failureOf(thrown: unknown, known: Known): Promise<unknown> {
  if (isFailure(thrown)) return thrown
  if (thrown instanceof AgentError) return refusedFailure(thrown, known)
  if (thrown instanceof AgentEnded) return endedFailure(thrown, known)
  if (thrown instanceof TimedOut) {
    const complaint = await known.complaint()
    return failure(
      'timeout',
      `the agent (${known.command}) did not answer ${thrown.method} within ${thrown.ms} ms; ` +
        `raise the limit with --option start_timeout=5m${complaint === '' ? '' : `; its stderr: ${complaint}`}`,
    )
  }
  return thrown
}

function refusedFailure(
  { code, message, kind }: AgentError,
  { command, authMethods }: Known,
): ProviderFailure {
  const told = failureOfText(`the agent (${command}) says: ${message}`)
  const type = code === AUTH_REQUIRED ? 'authentication' : (TYPE_OF_KIND[kind] ?? told.failure.type)
  if (type === 'authentication') return loginFailure(message, command, authMethods)
  return type === told.failure.type ? told : failure(type, told.message)
}

/** OpenCode's error names. Its `APIError` comes without a status, so its type is derived from its message. */
const TYPE_OF_KIND: Record<string, FailureType> = {
  ProviderAuthError: 'authentication',
  ContextOverflowError: 'overflow',
  ContentFilterError: 'refused',
}

function loginFailure(message: string, command: string, authMethods: unknown): ProviderFailure {
  const ways = objectsOf(authMethods)
    .map(({ name, id, description }) => {
      const title = textOf(name) ?? textOf(id) ?? ''
      return textOf(description) ? `${title} (${description})` : title
    })
    .filter((way) => way !== '')
  const what = `the agent (${command}) is not logged in: ${message}`
  return failure(
    'authentication',
    ways.length === 0 ? what : `${what}; log in with the agent: ${ways.join('; or: ')}`,
  )
}

async function endedFailure({ method }: AgentEnded, known: Known): Promise<ProviderFailure> {
  const exit = await soonExited(known.exited, SURE_EXIT_MS_MAX)
  const how = exit === undefined ? 'closed its stdout' : wordsOfExit(exit)
  const complaint = await known.complaint()
  const what = `the agent (${known.command}) ${how} before it answered ${method}`
  const text = complaint === '' ? what : `${what}: ${complaint}`
  // The shell exits so if the program does not exist or is not executable.
  if (exit?.code === 127 || exit?.code === 126) return failure('misconfigured', text)
  // The stderr of a killed program does not explain its end.
  if (exit !== undefined && killerOf(exit) !== undefined) return failure('crashed', what)
  // After the start, stderr can be much older than the end.
  const { failure: facts } = known.isStarting ? failureOfText(complaint) : failure('crashed', text)
  // It has answered before, so it is an agent. npm's wrappers exit with 0 if their program was killed.
  if (facts.type === 'crashed' && exit?.code === 0 && method !== 'initialize') return endedEarly(text)
  return failure(facts.type, text, facts.retry_after_ms)
}
