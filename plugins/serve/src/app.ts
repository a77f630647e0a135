/** The HTTP application: the routes of /v1 behind the checks of every request. */
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import type { z } from 'zod'
import type { FaceActor } from '../../shared/src/face/core.js'
import { type Bearer, checkResumeToken, type Guard, resumeTokenOf } from './guard.js'
import { invalidText } from './invalid.js'
import { openApi } from './openapi.js'
import type { Page } from './page.js'
import { problemResponse, Refusal } from './problem.js'
import type { Answer, Call, Route } from './route.js'
import { checkScope } from './scope.js'
import type { Server } from './server.js'

/** A message may have 10 MiB, and JSON may escape each of its characters. */
const BODY_BYTES_MAX = 24 * 1024 * 1024

const OPENAPI_PATH = '/v1/openapi.json'

interface Bindings {
  Bindings: HttpBindings
}

/** `version`: of the package. The page needs no token: it has none of the home's data, and asks for them with the token. */
export function buildApp(
  server: Server,
  guard: Guard,
  { routes, page, version }: { routes: Route[]; page: Page; version: string },
): Hono<Bindings> {
  const app = new Hono<Bindings>()
  app.use('*', async (context, next) => {
    guard.checkAddress(context.req.raw)
    await next()
    // An answer is about one home at one moment, and only for the holder of the token.
    if (!context.res.headers.has('cache-control')) context.res.headers.set('cache-control', 'no-store')
    context.res.headers.set('x-content-type-options', 'nosniff')
  })
  for (const each of routes) {
    app.on(each.method.toUpperCase(), each.path.replaceAll(/\{(\w+)\}/g, ':$1'), async ({ req, env }) => {
      const resumeToken = each.takesResumeToken === true ? resumeTokenOf(req.raw) : undefined
      const agent = req.param('agent') ?? ''
      const bearer = resumeToken === undefined ? guard.checkToken(req.raw) : undefined
      if (resumeToken !== undefined) checkResumeToken(server, agent, resumeToken)
      if (bearer !== undefined) {
        // Also after an answer that is a stream. A request behind another in one connection may have no such event.
        env.outgoing.once('close', bearer.release)
        req.raw.signal.addEventListener('abort', bearer.release, { once: true })
      }
      if (each.needs !== 'read' && server.isReadOnly)
        throw new Refusal(
          'READ_ONLY',
          'this server only reads',
          'use a server without --read-only, or the command line',
        )
      if (bearer !== undefined) checkScope(server.core, bearer, each.needs)
      const call: Call = {
        server: each.needs === 'read' ? server : actingFor(server, actorOf(req.raw.headers, each, bearer)),
        agent,
        query: each.query === undefined ? {} : parsed(each.query.strict(), queryOf(req.url), 'query'),
        body: each.body === undefined ? {} : parsed(bodyOf(each.body, each), await jsonBody(req.raw), 'body'),
        headers: req.raw.headers,
        bearer,
        resumeToken,
        signal: req.raw.signal,
        cut: () => env.outgoing.destroy(),
      }
      // A client may take a minute for its body.
      bearer?.check()
      const answer = await whileValid(bearer, each.handle(call as never))
      if (!(answer instanceof Response)) return answerResponse(answer)
      // Hono answers HEAD with the headers alone, so no client would end the stream.
      if (req.raw.method === 'HEAD') await answer.body?.cancel()
      return answer
    })
  }
  let document: string | undefined
  app.get(OPENAPI_PATH, () => {
    document ??= JSON.stringify(openApi(routes, version), null, 2)
    return new Response(document, { headers: { 'content-type': 'application/json' } })
  })
  app.get('*', async ({ req }, next) => page.answer(req.raw) ?? next())
  const routeOf = (path: string): Route | undefined => routes.find((each) => isLike(each.path, path))
  const formOf = failureForms(routes)
  const failed = (path: string, error: unknown): Response => formOf(path)(error)
  app.notFound(({ req: { method, path } }) => {
    const next = `see ${OPENAPI_PATH}`
    const refusal =
      routeOf(path) === undefined
        ? new Refusal('NO_SUCH_PATH', `there is no ${path.slice(0, 200)}`, next)
        : new Refusal('METHOD_REFUSED', `${path} does not take ${method}`, next)
    return failed(path, refusal)
  })
  app.onError((error, { req }) => {
    const response = failed(req.path, error)
    if (response.status === 500 && !('code' in error)) console.error(`substrat: ${error.stack}`)
    return response
  })
  return app
}

/** Rejects once the token is revoked: its holder gets no further answer. A command that has begun continues. */
async function whileValid<T>(bearer: Bearer | undefined, work: T | Promise<T>): Promise<T> {
  const revoked = bearer?.revoked
  if (revoked === undefined || !(work instanceof Promise)) return work
  let onAbort = (): void => undefined
  const end = new Promise<never>((_, reject) => {
    onAbort = () => reject(revoked.reason)
    revoked.addEventListener('abort', onAbort, { once: true })
    if (revoked.aborted) onAbort()
  })
  try {
    return await Promise.race([work, end])
  } finally {
    revoked.removeEventListener('abort', onAbort)
  }
}

/**
 * How an error at a path is written. Routes with the same first word share a form. A first word of no route is a request for
 * another API, such as /v1/embeddings, so it has the form of the routes that serve other programs' clients.
 */
function failureForms(routes: Route[]): (path: string) => (error: unknown) => Response {
  const firstOf = (path: string): string => path.split('/')[2] ?? ''
  const foreign = routes.find(({ failure }) => failure !== undefined)?.failure
  const forms = new Map(routes.map(({ path, failure }) => [firstOf(path), failure]))
  forms.set(firstOf(OPENAPI_PATH), undefined)
  return (path) => {
    const first = firstOf(path)
    const isKnown = !path.startsWith('/v1/') || forms.has(first)
    return (isKnown ? forms.get(first) : foreign)?.respond ?? problemResponse
  }
}

function actingFor(server: Server, actor: FaceActor): Server {
  return { ...server, commands: server.commands.as(actor) }
}

/** The one who sent the request. The headers are words of the client about itself. */
function actorOf(headers: Headers, { failure }: Route, bearer: Bearer | undefined): FaceActor {
  const said = { ...claimIn(headers, 'client'), ...claimIn(headers, 'name') }
  return {
    face: failure === undefined ? 'http' : 'openai',
    ...(bearer === undefined ? { token: RESUME_TOKEN } : { token: bearer.name, token_id: bearer.id }),
    ...(Object.keys(said).length === 0 ? {} : { claims: said }),
  }
}

/** The bytes of a header, which are UTF-8 if the client has names of people in mind. */
function claimIn(headers: Headers, what: 'client' | 'name'): { client?: string; name?: string } {
  const value = headers.get(`x-substrat-${what}`)
  return value === null ? {} : { [what]: Buffer.from(value, 'latin1').toString('utf8') }
}

/** No token of the server has a name with a space. */
const RESUME_TOKEN = 'resume token'

function answerResponse({ status, body, headers = {} }: Answer): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

/** Unknown names are refused: a misspelt one would silently change what the request means. */
function bodyOf(shape: z.ZodObject, { isBodyOpen }: Route): z.ZodObject {
  return isBodyOpen === true ? shape : shape.strict()
}

function isLike(pattern: string, path: string): boolean {
  const [parts, words] = [pattern.split('/'), path.split('/')]
  return (
    parts.length === words.length &&
    parts.every((part, index) => part.startsWith('{') || part === words[index])
  )
}

function queryOf(url: string): Record<string, string> {
  return Object.fromEntries(new URL(url).searchParams)
}

function parsed(schema: z.ZodObject, value: unknown, place: string): Record<string, unknown> {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const [issue] = error.issues
  const name = issue?.path.join('.') ?? ''
  throw new Refusal(
    'USAGE',
    (issue === undefined ? `the ${place} is not valid` : invalidText(issue, place)).slice(0, 500),
    `see ${OPENAPI_PATH}`,
    { param: name === '' ? null : name.slice(0, 500) },
  )
}

async function jsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  // A form of another site cannot send this type without the browser asking first.
  if (!/^application\/json\b/.test(type))
    throw new Refusal('NOT_JSON', 'the body must be application/json', 'set Content-Type: application/json')
  const text = await boundedText(request)
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch (error) {
    throw new Refusal('USAGE', `the body is not JSON: ${(error as Error).message}`, `see ${OPENAPI_PATH}`)
  }
}

async function boundedText(request: Request): Promise<string> {
  const tooLarge = (): Refusal =>
    new Refusal(
      'BODY_TOO_LARGE',
      `a body has at most ${BODY_BYTES_MAX} bytes`,
      'put large content into a file of the workspace',
    )
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of request.body ?? []) {
    bytes += piece.length
    if (bytes > BODY_BYTES_MAX) throw tooLarge()
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
