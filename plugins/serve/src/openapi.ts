/**
 * The OpenAPI 3.1 document of the routes. Its schemas are JSON Schema 2020-12, which zod itself writes: the converters of
 * @hono/zod-openapi turn a nullable reference into one that null cannot match.
 */
import { z } from 'zod'
import { PROBLEM_STATUSES } from './problem.js'
import type { Route, Shape } from './route.js'
import { problem } from './shapes.js'

type Json = Record<string, unknown>

export function openApi(routes: Route[], version: string): Json {
  const components = new Components()
  const paths: Record<string, Json> = {}
  for (const each of routes) {
    const { path, method, id, summary, description, tag } = each
    paths[path] ??= {}
    ;(paths[path] as Json)[method] = {
      operationId: id,
      summary,
      ...(description === undefined ? {} : { description }),
      tags: [tag],
      security: [{ token: [each.needs] }, ...(each.takesResumeToken === true ? [{ resume_token: [] }] : [])],
      parameters: parametersOf(each),
      ...(each.body === undefined
        ? {}
        : { requestBody: { required: true, content: json(components.inline(each.body)) } }),
      responses: {
        ...Object.fromEntries(
          Object.entries(each.answers).map(([status, { description, shape, events, text }]) => [
            status,
            {
              description,
              content: {
                ...(shape === undefined ? {} : json(components.refer(shape))),
                ...(events === true ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
                ...(text === undefined ? {} : { [text]: { schema: { type: 'string' } } }),
              },
            },
          ]),
        ),
        default: {
          description: `An error: ${PROBLEM_STATUSES.join(', ')}.`,
          content:
            each.failure === undefined
              ? { 'application/problem+json': { schema: components.refer(problem) } }
              : json(components.refer(each.failure.shape)),
        },
      },
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'substrat', version, description: 'A home of crash-safe agents.' },
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            "The operator's token, or a named one. A request names the right that it needs: `read`, `answer` or `all`. Each right has those before it.",
        },
        resume_token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The resume token of one waiting turn.',
        },
      },
    },
  }
}

function parametersOf({ path, query, headers = {} }: Route): Json[] {
  const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'A name, a path (`lead%2Ftests`), a UUID or the beginning of one.',
    schema: { type: 'string' },
  }))
  const { properties = {} } = query === undefined ? {} : (jsonSchema(query) as { properties?: Json })
  const ofQuery = Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = schema as Json
    return {
      name,
      in: 'query',
      required: false,
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }
  })
  const ofHeader = Object.entries(headers).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))
  return [...ofPath, ...ofQuery, ...ofHeader]
}

class Components {
  readonly schemas: Record<string, unknown> = {}

  refer({ name, schema }: Shape): Json {
    this.schemas[name] ??= this.inline(schema)
    return { $ref: `#/components/schemas/${name}` }
  }

  /** The schema, whose named parts become components. */
  inline(schema: z.ZodType): Json {
    const { $defs = {}, ...rest } = jsonSchema(schema) as { $defs?: Json }
    for (const [name, part] of Object.entries($defs)) this.schemas[name] ??= part
    return rest
  }
}

/** The input form: clients must accept fields that a later version adds. */
function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return JSON.parse(
    JSON.stringify(rest).replaceAll('"#/$defs/', '"#/components/schemas/'),
    // The pages that these descriptions lead to are not in the document.
    (key, value) =>
      key === 'description' && typeof value === 'string'
        ? value.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
        : value,
  )
}

function json(schema: Json): Json {
  return { 'application/json': { schema } }
}
