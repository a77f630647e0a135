/**
 * The message in a request to OpenAI's API. An agent has its own conversation, instructions, tools and limits, so only the last
 * message of the user counts. A request is refused if its answer would not be what its fields demand.
 */
import { z } from 'zod'
import { Refusal } from '../problem.js'

const model = z.string().describe('The path of the agent.')
const stream = z.boolean().nullish().describe('Answer with events as the reply is written.')
const unused = z.unknown().optional()

export const chatBody = z.object({
  model,
  messages: z
    .array(z.looseObject({ role: z.string(), content: unused }))
    .min(1)
    .describe('Only the last message of the role `user` is sent.'),
  stream,
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: unused.describe('Only 1.'),
  tool_choice: unused.describe('Not `required`, and no named tool.'),
  function_call: unused,
  response_format: unused.describe('Only `text`.'),
  modalities: unused.describe('Only `text`.'),
  logprobs: unused.describe('Only false.'),
})

const item = z.looseObject({ type: z.string().optional(), role: z.string().optional(), content: unused })

export const responsesBody = z.object({
  model,
  input: z
    .union([z.string(), z.array(item).min(1)])
    .describe('Only the last message of the role `user` is sent.'),
  stream,
  previous_response_id: z.string().nullish().describe('Has no effect: an agent has one conversation.'),
  metadata: z.record(z.string(), z.string()).nullish(),
  tool_choice: unused.describe('Not `required`, and no named tool.'),
  text: unused.describe('Only the format `text`.'),
  background: unused.describe('Only false.'),
  prompt: unused.describe('Must be absent.'),
})

export type ChatBody = z.output<typeof chatBody>
export type ResponsesBody = z.output<typeof responsesBody>

export function chatPrompt(body: ChatBody): string {
  if (body.n != null && body.n !== 1) throw refused('n', 'an agent gives one reply', 'leave out n')
  refuseCalls('tool_choice', body.tool_choice)
  refuseCalls('function_call', body.function_call)
  refuseFormat('response_format', body.response_format)
  if (Array.isArray(body.modalities) && body.modalities.some((each) => each !== 'text'))
    throw refused('modalities', 'a reply is text', 'leave out modalities')
  if (body.logprobs === true) throw refused('logprobs', 'a reply has no logprobs', 'leave out logprobs')
  return lastOfUser('messages', body.messages)
}

export function responsesPrompt(body: ResponsesBody): string {
  refuseCalls('tool_choice', body.tool_choice)
  refuseFormat('text.format', Object(body.text).format)
  if (body.background === true)
    throw refused('background', 'the answer comes when the turn has ended', 'leave out background')
  if (body.prompt != null) throw refused('prompt', 'this server has no stored prompts', 'send input')
  return typeof body.input === 'string' ? body.input : lastOfUser('input', body.input)
}

interface Item {
  type?: string | undefined
  role?: string | undefined
  content?: unknown
}

/** An earlier message was sent by an earlier request. It is not sent again because another item follows it. */
function lastOfUser(param: string, items: Item[]): string {
  const at = items.findLastIndex(({ role }) => role !== 'system' && role !== 'developer')
  const last = items[at]
  if (last?.role === 'user') return textOf(`${param}[${at}].content`, last.content)
  const what = last === undefined ? 'system' : (last.role ?? last.type ?? 'item')
  throw refused(
    param,
    `the last message is of ${JSON.stringify(what.slice(0, 80))}, not of the user`,
    'end with a message of the role user; results of tools go to the agent with substrat resume',
  )
}

const TEXT = new Set(['text', 'input_text'])

function textOf(param: string, content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw refused(param, 'the message has no text', 'send a string')
  return content
    .map((part: unknown, index) => {
      const { type, text } = Object(part) as { type?: unknown; text?: unknown }
      if (TEXT.has(String(type)) && typeof text === 'string') return text
      throw refused(
        `${param}[${index}]`,
        `an agent takes text, not ${JSON.stringify(String(type).slice(0, 80))}`,
        'put the file into the workspace of the agent, and name it in the message',
      )
    })
    .join('\n')
}

/** The tools of the request may be offered, but no reply calls them. */
function refuseCalls(param: string, choice: unknown): void {
  const { mode } = Object(choice) as { mode?: unknown }
  if (choice == null || choice === 'auto' || choice === 'none' || mode === 'auto') return
  throw refused(
    param,
    'an agent calls its own tools, and none of the request',
    `leave out ${param}, or give the agent the tool (docs/tools.md)`,
  )
}

function refuseFormat(param: string, format: unknown): void {
  if (format == null || (format as { type?: unknown }).type === 'text') return
  throw refused(
    param,
    'a reply is text without a schema',
    `leave out ${param}, and ask for the form in the message`,
  )
}

function refused(param: string, message: string, hint: string): Refusal {
  return new Refusal('USAGE', message, hint, { param })
}
