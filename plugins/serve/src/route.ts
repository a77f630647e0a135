/** The form of a route. The OpenAPI document and the server are made from the same list, so they cannot differ. */
import type { z } from 'zod'
import type { Scope } from './core.js'
import type { Bearer } from './guard.js'
import type { Server } from './server.js'

/** A shape of substrat's own JSON, by the name of the component. */
export interface Shape {
  name: string
  schema: z.ZodType
}

export interface Answer {
  status: number
  body: unknown
  headers?: Record<string, string>
}

export interface Call<Query = Record<string, unknown>, Body = Record<string, unknown>> {
  server: Server
  /** The agent in the path; empty where the path has none. */
  agent: string
  query: Query
  body: Body
  headers: Headers
  /** The token of the request. Undefined if a resume token came instead. */
  bearer: Bearer | undefined
  /** The resume token that came instead of a token of the server. */
  resumeToken: string | undefined
  /** Aborted when the client is gone. */
  signal: AbortSignal
  /** Ends the connection, also if the client does not read. */
  cut(): void
}

export interface Route {
  method: 'get' | 'post'
  /** As in OpenAPI: `{agent}` is a name, a path with `%2F`, or a UUID. */
  path: string
  id: string
  summary: string
  description?: string
  tag: string
  query?: z.ZodObject
  body?: z.ZodObject
  /** Whether the body may have names that are not in its shape. */
  isBodyOpen?: true
  /** Headers that the route reads. */
  headers?: Record<string, string>
  answers: Record<number, { description: string; shape?: Shape; events?: true; text?: string }>
  /** The form of its errors; default: problem+json. */
  failure?: { shape: Shape; respond(error: unknown): Response }
  /** The right that the token needs. More than `read` changes the home, which `--read-only` forbids. */
  needs: Scope
  /** Whether a resume token is enough. */
  takesResumeToken?: true
  handle(call: never): Answer | Response | Promise<Answer | Response>
}

/** Keeps the types of the query and the body for the handler. */
export function route<Query extends z.ZodObject = z.ZodObject, Body extends z.ZodObject = z.ZodObject>(
  route: Omit<Route, 'query' | 'body' | 'handle'> & {
    query?: Query
    body?: Body
    handle(call: Call<z.output<Query>, z.output<Body>>): Answer | Response | Promise<Answer | Response>
  },
): Route {
  return route as Route
}
