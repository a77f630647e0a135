/** A server of a house, and a client generated from its OpenAPI document that checks every answer against that document. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'vitest'
import type { House, Running } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import type { operations } from './generated/api.js'

export const PLUGIN = path.join(import.meta.dirname, '..', '..', 'plugins', 'serve')

export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

interface Operation {
  operationId: string
  parameters?: { name: string; in: string }[]
  security?: { token?: string[] }[]
  requestBody?: { content: Record<string, { schema: object }> }
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}

/** The environment of a user who has linked the plugin. */
export function linked(house: House): Record<string, string> {
  const data = path.join(house.root, 'serving')
  mkdirSync(path.join(data, 'substrat'), { recursive: true })
  const plugins = [{ name: 'substrat-serve', type: 'link', root: PLUGIN }]
  writeFileSync(
    path.join(data, 'substrat', 'package.json'),
    JSON.stringify({ oclif: { schema: 1, plugins } }),
  )
  return { XDG_DATA_HOME: data }
}

export function tokenOf(house: House): string {
  const folder = path.join(house.env.XDG_STATE_HOME as string, 'substrat')
  const [name] = readdirSync(folder).filter((file) => /^serve-.*\.token$/.test(file))
  return readFileSync(path.join(folder, name as string), 'utf8').trim()
}

/** The arguments of an operation, and the JSON of its answers, by the generated types. */
export interface Arguments<Id extends keyof operations> {
  path?: operations[Id]['parameters']['path']
  query?: operations[Id]['parameters']['query']
  headers?: Record<string, string>
  body?: operations[Id] extends { requestBody: { content: { 'application/json': infer Body } } }
    ? Body
    : never
}

type JsonOf<Responses, Status> = Status extends keyof Responses
  ? Responses[Status] extends { content: { 'application/json': infer Json } }
    ? Json
    : never
  : never

export interface Answer<Id extends keyof operations> {
  status: number
  /** The JSON of a success. */
  data: JsonOf<operations[Id]['responses'], 200 | 201 | 202>
  /** The JSON of an error. */
  problem: operations['listAgents']['responses']['default']['content']['application/problem+json']
}

export class Served {
  readonly url: string
  readonly token: string

  private constructor(
    readonly house: House,
    readonly running: Running,
    readonly document: Document,
    url: string,
  ) {
    this.url = url
    this.token = tokenOf(house)
  }

  /** Starts a server on a free port, or with `--listen` in the arguments on that one. */
  static async start(house: House, ...args: string[]): Promise<Served> {
    const listen = args.includes('--listen') ? [] : ['--listen', '127.0.0.1:0']
    return Served.of(house, house.start(['serve', ...listen, ...args], { env: linked(house) }))
  }

  /** Waits until the process listens. */
  static async of(house: House, running: Running): Promise<Served> {
    await waitFor(
      () => running.stderr.includes('the token is in') || running.child.exitCode !== null,
      'the server',
    )
    const [, url] = /listening on (https?:\S+)/.exec(running.stderr) ?? []
    if (url === undefined) throw new Error(`the server has not started: ${running.stderr}`)
    const document = (await (await fetch(`${url}/v1/openapi.json`)).json()) as Document
    return new Served(house, running, document, url)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** A request as it is, with the operator's token unless the headers have another. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, ...(init.headers as Record<string, string>) }
    return fetch(`${this.url}${path}`, { ...init, headers })
  }

  post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.fetch(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })
  }

  async stop(): Promise<void> {
    expect((await this.running.kill('SIGTERM')).exit).toBe(0)
  }

  /** Calls an operation by its id, and checks the answer against the document. */
  async call<Id extends keyof operations>(id: Id, given: Arguments<Id> = {}): Promise<Answer<Id>> {
    const { method, path, operation } = operationOf(this.document, id)
    const { query = {}, body, headers = {} } = given
    const names = (given.path ?? {}) as Record<string, string>
    const at = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ''))
    const words = Object.entries(query as object).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const search = words.length === 0 ? '' : `?${new URLSearchParams(words)}`
    const response = await this.fetch(`${at}${search}`, {
      method: method.toUpperCase(),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    })
    const type = response.headers.get('content-type') ?? ''
    const value = (await response.json()) as never
    checkAnswer(this.document, operation, `${id} ${response.status} ${type}`, response.status, type, value)
    return { status: response.status, data: value, problem: value }
  }
}

function operationOf(
  { paths }: Document,
  id: string,
): { method: string; path: string; operation: Operation } {
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { method, path, operation }
  throw new Error(`the document has no operation ${id}`)
}

/** Throws if the document does not have the answer, or the answer has not its shape. */
function checkAnswer(
  document: Document,
  operation: Operation,
  what: string,
  status: number,
  type: string,
  value: unknown,
): void {
  const { responses } = operation
  const schema = (responses[status] ?? responses.default)?.content?.[type]?.schema
  if (schema === undefined) throw new Error(`${what} is not documented`)
  const validate = validatorOf(document, schema)
  if (!validate(value))
    throw new Error(`${what} has not its shape: ${JSON.stringify(validate.errors?.slice(0, 3))}`)
}

const ajv = new Ajv2020({ strict: false })
const compiled = new Map<string, ValidateFunction>()

function validatorOf({ components }: Document, schema: object): ValidateFunction {
  const key = JSON.stringify(schema)
  const known = compiled.get(key) ?? ajv.compile({ ...schema, components })
  compiled.set(key, known)
  return known
}
