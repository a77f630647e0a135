/**
 * `scripted`: a model for rehearsals, demos and tests, and the default provider. It uses no network.
 *
 * Without a scenario it answers `echo: <prompt>`. With one, entry i answers the i-th model request of the conversation. It derives
 * i from the history, so it continues correctly after a restart.
 */
import { resolve } from 'node:path'
import { isThere } from '../files/user-files.js'
import type { JsonObject, ModelEvent, ModelProvider, ModelRequest } from './contract.js'
import { providerFailure } from './failure.js'
import type { CallOptions } from './host-contract.js'
import { loadScenario, type ScriptedResponse } from './scenario.js'

/** How often to check whether the file of `after_file` exists. */
const LOOK_MS = 20

export const scripted: ModelProvider = {
  kind: 'model',
  summarises: false,
  reports: { tokens: true },
  description: 'for rehearsals and tests: answers `echo: <prompt>`, or from a scenario file',
  options: {
    scenario:
      'a JSON file: {"responses":[{"delay_ms":0,"after_file":"go","say":"…","tools":[{"name":"shell","input":{"command":"…"}}],"fail":{"type":"…","attempts":1}}]}',
  },
  async check(settings) {
    if (settings.options.scenario !== undefined)
      await loadScenario(settings.options.scenario, settings.workspace)
  },
  async *complete(request, options) {
    const scenario = request.options.scenario
    const entry = scenario === undefined ? undefined : await entryFor(request, scenario)
    if (entry !== undefined) await pause(entry.delay_ms ?? 0, options)
    await fileOf(request, entry?.after_file, options)
    yield* respond(request, entry, options)
  },
}

async function fileOf(request: ModelRequest, name: string | undefined, options: CallOptions): Promise<void> {
  if (name === undefined) return
  const file = resolve(request.workspace, name)
  while (!isThere(file)) await pause(LOOK_MS, options)
}

async function entryFor(request: ModelRequest, scenario: string): Promise<ScriptedResponse | undefined> {
  const { responses } = await loadScenario(scenario, request.workspace)
  const given = request.messages().filter((message) => message.role === 'assistant')
  for (const [index, { items }] of given.entries())
    demandItems(responses[request.responses_before + index]?.items, items)
  return responses[request.responses_before + given.length]
}

/** Like an API that signs its reasoning. */
function demandItems(sent: JsonObject[] | undefined, received: JsonObject[] | undefined): void {
  if (sent !== undefined && JSON.stringify(sent) !== JSON.stringify(received))
    throw providerFailure(
      'invalid',
      'the request lacks the items of an earlier response, or has changed them',
    )
}

async function* respond(
  request: ModelRequest,
  entry: ScriptedResponse | undefined,
  options: CallOptions,
): AsyncIterable<ModelEvent> {
  if (entry?.fail !== undefined && request.attempt <= (entry.fail.attempts ?? 1)) {
    const failure = providerFailure(
      entry.fail.type,
      `the scenario makes this request fail: ${entry.fail.type}`,
    )
    if (entry.fail.retry_after_ms !== undefined) failure.failure.retry_after_ms = entry.fail.retry_after_ms
    // A model may say something before it refuses.
    if (entry.fail.type === 'refused' || entry.fail.after_text === true)
      yield* textOf(request, entry, options)
    throw failure
  }
  for (const item of entry?.items ?? []) yield { type: 'item', item }
  const tools = entry?.tools ?? []
  const echo = tools.length > 0 ? {} : { say: `echo: ${request.prompt}` }
  const spoken = entry?.pieces === undefined && entry?.say === undefined ? echo : entry
  let text = ''
  for await (const event of textOf(request, spoken, options)) {
    text += event.text
    yield event
  }
  for (const [index, tool] of tools.entries()) {
    // Unique in the conversation, and the same in each attempt.
    const place =
      request.responses_before + request.messages().filter(({ role }) => role === 'assistant').length
    yield { type: 'tool_call', call: { call_id: `call_${place}_${index}`, ...tool } }
  }
  yield { type: 'usage', usage: { input_tokens: wordsOf(request.prompt), output_tokens: wordsOf(text) } }
  yield { type: 'stop', reason: tools.length > 0 ? 'tool_calls' : 'end' }
}

async function* textOf(
  request: ModelRequest,
  { say, pieces = say === undefined ? [] : [{ say }] }: Pick<ScriptedResponse, 'say' | 'pieces'>,
  options: CallOptions,
): AsyncIterable<Extract<ModelEvent, { type: 'text' }>> {
  for (const piece of pieces) {
    await fileOf(request, piece.after_file, options)
    if (piece.say !== '') yield { type: 'text', text: piece.say }
  }
}

function pause(ms: number, options: CallOptions): Promise<void> {
  const { signal } = options
  if (ms === 0) return Promise.resolve()
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length
}
