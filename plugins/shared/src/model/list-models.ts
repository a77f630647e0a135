/** Asks an API for its models. */
import type { ListedModel } from 'substrat/provider'
import { failure } from '../failure.js'
import { apiFailure, readApiError } from './api-error.js'
import { guarded } from './ask.js'
import { request } from './post.js'
import type { Environment } from './proxy.js'
import type { Endpoint } from './settings.js'

export interface ModelsQuestion {
  endpoint: Endpoint
  headers: Record<string, string>
  signal: AbortSignal
  environment: Environment
  scrub(text: string): string
}

/** Limits: a server must not control this process's memory. */
const CHARACTERS_MAX = 4 * 1024 * 1024

/** No vendor has so many pages. A server that always has another must end somewhere. */
const PAGES_MAX = 50

/** Both vendors answer with an object that has the list `data`. Anthropic's may have further pages. */
export function listModels(question: ModelsQuestion): Promise<ListedModel[]> {
  return guarded(async () => await allPages(question), question.signal, question.scrub)
}

async function allPages(question: ModelsQuestion): Promise<ListedModel[]> {
  const models: ListedModel[] = []
  const url = new URL(question.endpoint.url)
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const endpoint = { ...question.endpoint, url }
    const page = pageIn(await textOf({ ...question, endpoint }), endpoint)
    models.push(...page.models)
    if (page.after === undefined) return models
    url.searchParams.set('after_id', page.after)
  }
  throw failure('invalid_response', `${url.host} sent a list of more than ${PAGES_MAX} pages`)
}

async function textOf({ endpoint, headers, signal, environment }: ModelsQuestion): Promise<string> {
  const answer = await request({
    method: 'GET',
    url: endpoint.url,
    headers: { ...headers, accept: 'application/json' },
    body: '',
    stallTimeoutMs: endpoint.stallTimeoutMs,
    signal,
    environment,
  })
  try {
    let text = ''
    for await (const chunk of answer.chunks()) {
      text += chunk
      if (text.length > CHARACTERS_MAX)
        throw failure(
          'invalid_response',
          `${answer.target} sent a list of more than ${CHARACTERS_MAX} characters`,
        )
    }
    const { status, target } = answer
    if (status >= 200 && status < 300) return text
    throw apiFailure({ target, status, headers: answer.headers, error: readApiError(text) })
  } finally {
    answer.destroy()
  }
}

/** `after`: the last model of a page that others follow. */
function pageIn(text: string, { url }: Endpoint): { models: ListedModel[]; after: string | undefined } {
  let page: { data?: unknown; has_more?: unknown; last_id?: unknown } | null = null
  try {
    page = JSON.parse(text)
  } catch {
    // Rejected below, like any other answer without a list.
  }
  const data = page?.data
  if (!Array.isArray(data)) throw failure('invalid_response', `${url.host} answered without a list of models`)
  const models = data.flatMap((model: { id?: unknown; display_name?: unknown } | null) => {
    if (typeof model?.id !== 'string') return []
    return [
      { id: model.id, ...(typeof model.display_name === 'string' && { description: model.display_name }) },
    ]
  })
  const { has_more, last_id } = page ?? {}
  return { models, after: has_more === true && typeof last_id === 'string' ? last_id : undefined }
}
