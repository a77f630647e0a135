// The model of the fuzzer: the message says what it does, regardless of earlier messages. The form is `#<id> <program
// as JSON>`; see `program.ts`. Any other message is answered by "ok". Real processes load this file as a plugin.
const PROGRAM = /^#([\w.]+) (\{.*\})$/gm

export default {
  kind: 'model',
  summarises: false,
  description: 'does what the message says',
  options: {},
  async *complete(request, { signal }) {
    const programs = [...request.prompt.matchAll(PROGRAM)].map(([, id, json]) => ({
      id,
      ...JSON.parse(json),
    }))
    await pause(Math.max(0, ...programs.map(({ delay = 0 }) => delay)), signal)
    for (const { fail, times = 1, retryAfterMs } of programs)
      if (fail !== undefined && request.attempt <= times) throw failure(fail, retryAfterMs)
    const messages = request.messages()
    const asked = messages.findLastIndex(({ role, content }) => role === 'user' && content === request.prompt)
    const done = messages
      .slice(asked + 1)
      .filter(({ role, tool_calls }) => role === 'assistant' && tool_calls.length > 0).length
    const calls = asked === -1 ? [] : programs.flatMap(({ rounds = [] }) => rounds[done] ?? [])
    const place = request.responses_before + messages.filter(({ role }) => role === 'assistant').length
    if (calls.length === 0) yield { type: 'text', text: replyTo(programs) }
    for (const [index, call] of calls.entries())
      yield { type: 'tool_call', call: { call_id: `call_${place}_${index}`, ...call } }
    yield { type: 'usage', usage: { input_tokens: 1, output_tokens: 1 } }
    yield { type: 'stop', reason: calls.length > 0 ? 'tool_calls' : 'end' }
  },
}

function replyTo(programs) {
  if (programs.length === 0) return 'ok'
  return programs.map(({ id, pad = 0 }) => `done ${id}${pad > 0 ? ` ${'y'.repeat(pad)}` : ''}`).join(', ')
}

function failure(type, retry_after_ms) {
  return Object.assign(new Error(`the message says so: ${type}`), {
    failure: { type, ...(retry_after_ms === undefined ? {} : { retry_after_ms }) },
  })
}

function pause(ms, signal) {
  if (ms === 0) return Promise.resolve()
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        reject(signal.reason)
      },
      { once: true },
    )
  })
}
