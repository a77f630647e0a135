/** `openai`: OpenAI's models, and any server that supports one of its two APIs. */
import type { ModelEvent, ModelProvider, ModelRequest } from 'substrat/provider'
import { ask, guardedEvents } from '../../shared/src/model/ask.js'
import { listModels } from '../../shared/src/model/list-models.js'
import { continuePaused, type Paused } from '../../shared/src/model/paused.js'
import { askAgainWithoutReasoning } from '../../shared/src/model/reasoning.js'
import { scrubber } from '../../shared/src/model/secrets.js'
import { readChat } from './chat-answer.js'
import { chatBody } from './chat-body.js'
import { isLast, readResponses } from './responses-answer.js'
import { responsesBody } from './responses-body.js'
import { OPTIONS, readSettings } from './settings.js'

/** Inserted by the build: the package's name and version. */
declare const USER_AGENT: string

const APIS = {
  responses: { body: responsesBody, read: readResponses, isLast },
  // Its last event is `[DONE]`, which is not JSON.
  chat: { body: chatBody, read: readChat, isLast: () => false },
}

function headersOf(key: string | undefined): Record<string, string> {
  return { 'user-agent': USER_AGENT, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) }
}

const provider: ModelProvider = {
  kind: 'model',
  description: 'models of OpenAI, Ollama, vLLM, OpenRouter, llama.cpp and other compatible servers',
  options: OPTIONS,
  reports: { tokens: true },
  responseTokensMax: (settings) => readSettings(settings, process.env).maxTokens,
  secrets: ({ options }) => [options.key_env ?? 'OPENAI_API_KEY'],
  check(settings) {
    const { key, endpoint, model } = readSettings(settings, process.env)
    scrubber(key, { url: endpoint.url, model }, process.env)
  },
  async models(settings, { signal }) {
    // Only the requests of a turn need a model.
    const { key, endpoint } = readSettings({ ...settings, model: settings.model ?? 'any' }, process.env)
    return listModels({
      endpoint: {
        ...endpoint,
        url: new URL(endpoint.url.href.replace(/(responses|chat\/completions)$/, 'models')),
      },
      headers: headersOf(key),
      signal,
      environment: process.env,
      scrub: scrubber(key, { url: endpoint.url, model: '' }, process.env),
    })
  },
  async *complete(request, { signal }) {
    const environment = process.env
    const settings = readSettings(request, environment)
    const { key, endpoint, model } = settings
    const api = APIS[settings.api]
    const answerTo = (asked: ModelRequest): AsyncIterable<ModelEvent | Paused> => {
      const events = ask({
        endpoint,
        headers: headersOf(key),
        body: api.body(asked, settings),
        signal,
        environment,
        isLast: api.isLast,
      })
      return api.read(events, endpoint)
    }
    const scrub = scrubber(key, { url: endpoint.url, model }, environment)
    yield* guardedEvents(
      askAgainWithoutReasoning(request, (asked) => continuePaused(asked, answerTo)),
      signal,
      scrub,
    )
  },
}

export default provider
