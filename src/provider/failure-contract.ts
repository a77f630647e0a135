/** How a provider reports a failure. Part of the contract (`substrat/provider`); types only. */

/**
 * Throw this, or any error with these fields, to fail a turn. substrat treats any other error as `crashed`. The message is
 * one plain sentence for the user. The stack and the `cause` go into the log, so they must not contain secrets.
 *
 * Use `crashed` also for a program that exited without ending its turn, even if its stderr names another reason. If a signal
 * that substrat did not send killed the program, or `ended_early` is set, substrat interrupts and continues the turn instead of
 * failing it. With any other type the turn fails.
 */
export interface ProviderFailure extends Error {
  failure: {
    type:
      | 'overloaded'
      /** The service failed, but is not overloaded. substrat repeats the request. */
      | 'server_error'
      | 'rate_limit'
      | 'invalid'
      | 'overflow'
      /** The model or a content filter refuses to answer. Repeating the request gives the same result. */
      | 'refused'
      | 'invalid_response'
      | 'authentication'
      | 'misconfigured'
      /** The account cannot pay, or has spent its budget. */
      | 'billing'
      | 'unreachable'
      | 'timeout'
      | 'crashed'
      /** The program's store has lost the conversation. substrat offers to start a new session from its own log. */
      | 'session_lost'
      /** Another process is writing to the program's session. */
      | 'busy'
    /** When to retry, in milliseconds from now, if the service said so. */
    retry_after_ms?: number
    /** The service had begun to answer, so it may charge for the request. substrat knows it after the first event. */
    answer_began?: boolean
    /** The program ended its turn because it reached `budgetUsd` of its host. The turn waits if a cap is reached, and fails otherwise. */
    budget_reached?: boolean
    /** For `refused` from an agent provider: the model's text before the refusal. A model provider yields it as `text` instead. */
    said?: string
    /**
     * For `crashed` from an agent provider: the program had started the turn, then exited with status 0 before its end. A wrapper
     * that hides the signal which killed the real program does this. Also for a server that is gone, if its exit is unknown: a
     * wrapper of it may live on. The message says how the program ended.
     */
    ended_early?: boolean
  }
}
