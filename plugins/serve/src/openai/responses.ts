/** The answers of `/v1/responses`. */
import { z } from 'zod'
import type { Coded } from '../../../shared/src/face/face-error.js'
import type { Shape } from '../route.js'
import type { Head } from './chat.js'
import { failureOf } from './failure.js'
import type { Ended } from './message-turn.js'
import type { StreamForm } from './reply-source.js'

const text = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
})

export const responseShape: Shape = {
  name: 'response',
  schema: z
    .object({
      id: z.string().describe('`resp_` and the id of the run.'),
      object: z.literal('response'),
      created_at: z.int(),
      status: z.enum(['in_progress', 'completed', 'failed']),
      model: z.string(),
      output: z.array(
        z.object({
          id: z.string(),
          type: z.literal('message'),
          role: z.literal('assistant'),
          status: z.literal('completed'),
          content: z.array(text),
        }),
      ),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
      incomplete_details: z.null(),
      instructions: z.null(),
      metadata: z.record(z.string(), z.string()),
      parallel_tool_calls: z.literal(false),
      previous_response_id: z.string().nullable(),
      temperature: z.null(),
      tool_choice: z.literal('none'),
      tools: z.array(z.unknown()),
      top_p: z.null(),
      usage: z
        .object({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() })
        .loose()
        .nullable()
        .describe('Null if unknown.'),
    })
    .describe('The reply in the form of the OpenAI API.'),
}

export interface ResponseHead extends Head {
  metadata: Record<string, string>
  previousId: string | null
}

export function responseOf(head: ResponseHead, { reply, usage }: Ended, index = 0): object {
  const output = [itemOf(head, index, reply, 'final_answer')]
  return { ...fieldsOf(head, 'completed'), output, usage: usage === null ? null : usageOf(usage) }
}

/** The text before the reply is an item of its own. The complete response has only the reply, as without a stream. */
export class ResponseEvents implements StreamForm {
  private sequence = 0
  private index = 0
  /** The text of the current item. Undefined if none is open. */
  private open: string | undefined

  constructor(private readonly head: ResponseHead) {}

  begin(): string {
    const response = fieldsOf(this.head, 'in_progress')
    return this.event('response.created', { response }) + this.event('response.in_progress', { response })
  }

  text(delta: string): string {
    const start = this.open === undefined ? this.startItem() : ''
    this.open += delta
    return start + this.event('response.output_text.delta', { ...this.place(), delta, logprobs: [] })
  }

  paragraph(): string {
    return this.endItem('commentary')
  }

  end(ended: Ended): string {
    const { index } = this
    const start = this.open === undefined ? this.startItem() : ''
    const item = this.endItem('final_answer')
    const response = responseOf(this.head, ended, index)
    return start + item + this.event('response.completed', { response })
  }

  fail(error: Coded): string {
    const { code, message } = failureOf(error).error
    const response = { ...fieldsOf(this.head, 'failed'), error: { code, message } }
    return this.event('response.failed', { response })
  }

  private startItem(): string {
    this.open = ''
    const { index: output_index } = this
    const item = { ...itemOf(this.head, output_index, '', null), status: 'in_progress', content: [] }
    return (
      this.event('response.output_item.added', { output_index, item }) +
      this.event('response.content_part.added', { ...this.place(), part: partOf('') })
    )
  }

  private endItem(phase: 'commentary' | 'final_answer'): string {
    const text = this.open ?? ''
    const { index: output_index } = this
    const place = this.place()
    this.open = undefined
    this.index += 1
    return (
      this.event('response.output_text.done', { ...place, text, logprobs: [] }) +
      this.event('response.content_part.done', { ...place, part: partOf(text) }) +
      this.event('response.output_item.done', {
        output_index,
        item: itemOf(this.head, output_index, text, phase),
      })
    )
  }

  private place(): object {
    return { item_id: itemId(this.head, this.index), output_index: this.index, content_index: 0 }
  }

  private event(type: string, data: object): string {
    const sequence_number = this.sequence
    this.sequence += 1
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...data })}\n\n`
  }
}

function fieldsOf({ runId, created, model, metadata, previousId }: ResponseHead, status: string): object {
  return {
    id: `resp_${runId}`,
    object: 'response',
    created_at: created,
    status,
    model,
    output: [],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata,
    parallel_tool_calls: false,
    previous_response_id: previousId,
    temperature: null,
    tool_choice: 'none',
    tools: [],
    top_p: null,
    usage: null,
  }
}

function itemOf(head: Head, index: number, text: string, phase: string | null): object {
  return {
    id: itemId(head, index),
    type: 'message',
    role: 'assistant',
    status: 'completed',
    ...(phase === null ? {} : { phase }),
    content: [partOf(text)],
  }
}

function itemId({ runId }: Head, index: number): string {
  return index === 0 ? `msg_${runId}` : `msg_${runId}_${index}`
}

function partOf(text: string): object {
  return { type: 'output_text', text, annotations: [] }
}

function usageOf(usage: NonNullable<Ended['usage']>): object {
  const { input_tokens, output_tokens, cache_read_tokens = 0, reasoning_tokens = 0 } = usage
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: cache_read_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  }
}
