/** `anthropic`: Anthropic's Messages API, and compatible servers. */
import type { ModelEvent, ModelProvider, ModelRequest } from 'substrat/provider'
import { ask, guardedEvents } from '../../shared/src/model/ask.js'
import { listModels } from '../../shared/src/model/list-models.js'
import { continuePaused, type Paused } from '../../shared/src/model/paused.js'
import { askAgainWithoutReasoning } from '../../shared/src/model/reasoning.js'
import { scrubber } from '../../shared/src/model/secrets.js'
import { isLast, readAnswer } from './answer.js'
import { messagesBody } from './body.js'
import { OPTIONS, readSettings, responseTokensMin } from './settings.js'

/** Inserted by the build: the package's name and version. */
declare const USER_AGENT: string

const API_VERSION = '2023-06-01'

function headersOf(key: string): Record<string, string> {
  return { 'x-api-key': key, 'anthropic-version': API_VERSION, 'user-agent': USER_AGENT }
}

const provider: ModelProvider = {
  kind: 'model',
  description: "Anthropic's models, through the Messages API",
  options: OPTIONS,
  reports: { tokens: true },
  responseTokensMax: (settings) => readSettings(settings, process.env).maxTokens,
  responseTokensMin: (settings) => responseTokensMin(readSettings(settings, process.env)),
  secrets: ({ options }) => [options.key_env ?? 'ANTHROPIC_API_KEY'],
  check(settings) {
    const { key, endpoint, model } = readSettings(settings, process.env)
    scrubber(key, { url: endpoint.url, model }, process.env)
  },
  async models(settings, { signal }) {
    // Only the requests of a turn need a model.
    const { key, endpoint } = readSettings({ ...settings, model: settings.model ?? 'any' }, process.env)
    const url = new URL(endpoint.url.href.replace(/messages$/, 'models?limit=1000'))
    return listModels({
      endpoint: { ...endpoint, url },
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
    const answerTo = (asked: ModelRequest): AsyncIterable<ModelEvent | Paused> => {
      const events = ask({
        endpoint,
        headers: headersOf(key),
        body: messagesBody(asked, settings),
        signal,
        environment,
        isLast,
      })
      return readAnswer(events, endpoint)
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
