/** Agents whose model follows a scenario that calls tools. */
import { expect } from 'vitest'
import type { Message } from '../../src/mail/message.js'
import { messagesIn } from '../../src/mail/stored-messages.js'
import type { NewRecord } from '../../src/session/records.js'
import type { House } from './cli.js'
import { storeAt } from './postgres-homes.js'

export interface ToolCall {
  name: string
  input: object
}

/** One answer of the model: a text, or calls. */
export type Response = string | ToolCall | ToolCall[] | object

export function call(name: string, input: object = {}): ToolCall {
  return { name, input }
}

/** An agent with that scenario. If its name is a path, it is created below the agent before the last slash. */
export async function agent(
  house: House,
  path: string,
  responses: Response[] = [],
  ...flags: string[]
): Promise<string> {
  const at = path.lastIndexOf('/')
  // Without a provider, a child would have the scenario of its parent.
  const own = flags.includes('--provider') ? [] : ['--provider', 'scripted']
  const below = at === -1 ? [] : ['--parent', path.slice(0, at), ...own]
  const scripted =
    responses.length === 0 ? [] : ['--option', house.scenario(scenarioFile(path), ...responses.map(response))]
  return house.spawn(path.slice(at + 1), ...below, ...scripted, ...flags)
}

function scenarioFile(path: string): string {
  return `${path.replaceAll('/', '-')}.json`
}

function response(given: Response): object {
  if (typeof given === 'string') return { say: given }
  if (Array.isArray(given)) return { tools: given }
  return 'name' in given ? { tools: [given] } : given
}

export interface ToolResult {
  tool: string
  text: string
  isError: boolean
}

/** The tool results in its log, in order. */
export function results(house: House, id: string): ToolResult[] {
  return of(house, id, 'tool.finished').map(({ tool, content, is_error }) => ({
    tool,
    text: String(content),
    isError: is_error,
  }))
}

/** One turn in which the agent calls a tool; returns the result. */
export async function calling(
  house: House,
  id: string,
  ...flags: string[]
): Promise<ToolResult & { stderr: string }> {
  const before = results(house, id).length
  const { exit, stderr } = await house.run(['send', id, 'go', ...flags])
  expect(exit, stderr).toBe(0)
  const [result] = results(house, id).slice(before)
  return { ...(result as ToolResult), stderr }
}

export function of<K extends NewRecord['kind']>(house: House, id: string, kind: K): NewRecord<K>[] {
  return house.records(id).filter((record) => record.kind === kind) as unknown as NewRecord<K>[]
}

/** The mail that it received, as `kind: content`. */
export function mails(house: House, id: string): string[] {
  return of(house, id, 'mail.delivered').map(({ mail_kind, content }) => `${mail_kind}: ${String(content)}`)
}

/** The pending messages in its inbox. */
export function waiting(house: House, id: string): Message[] {
  return [...messagesIn(storeAt(house.home), id)]
}
