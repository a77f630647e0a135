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

/** Both vendors answer with an object that has the list `data`. */
export function listModels(question: ModelsQuestion): Promise<ListedModel[]> {
  return guarded(
    async () => modelsIn(await textOf(question), question.endpoint),
    question.signal,
    question.scrub,
  )
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

function modelsIn(text: string, { url }: Endpoint): ListedModel[] {
  let data: unknown
  try {
    data = (JSON.parse(text) as { data?: unknown } | null)?.data
  } catch {
    // Rejected below, like any other answer without a list.
  }
  if (!Array.isArray(data)) throw failure('invalid_response', `${url.host} answered without a list of models`)
  return data.flatMap((model: { id?: unknown; display_name?: unknown } | null) => {
    if (typeof model?.id !== 'string') return []
    return [
      { id: model.id, ...(typeof model.display_name === 'string' && { description: model.display_name }) },
    ]
  })
}
