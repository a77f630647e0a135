/** The answers of `/v1/chat/completions`. */
import { z } from 'zod'
import type { Coded } from '../../../shared/src/face/face-error.js'
import type { Shape } from '../route.js'
import { failureOf } from './failure.js'
import type { Ended } from './message-turn.js'
import type { StreamForm } from './reply-source.js'

/** The fields that all answers to one request have. */
export interface Head {
  runId: string
  /** In seconds. */
  created: number
  model: string
}

export const chatCompletion: Shape = {
  name: 'chat_completion',
  schema: z
    .object({
      id: z.string().describe('`chatcmpl-` and the id of the run.'),
      object: z.literal('chat.completion'),
      created: z.int(),
      model: z.string(),
      choices: z.array(
        z.object({
          index: z.literal(0),
          message: z.object({ role: z.literal('assistant'), content: z.string(), refusal: z.null() }),
          logprobs: z.null(),
          finish_reason: z.literal('stop'),
        }),
      ),
      usage: z
        .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
        .optional()
        .describe('Absent if unknown.'),
    })
    .describe('The reply in the form of the OpenAI API.'),
}

export function completionOf(head: Head, { reply, usage }: Ended): object {
  return {
    ...fieldsOf(head, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: reply, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    ...(usage === null ? {} : { usage: usageOf(usage) }),
  }
}

export class ChatEvents implements StreamForm {
  constructor(
    private readonly head: Head,
    private readonly hasUsage: boolean,
  ) {}

  begin(): string {
    return this.chunk({ role: 'assistant', content: '' })
  }

  text(content: string): string {
    return this.chunk({ content })
  }

  paragraph(): string {
    return this.chunk({ content: '\n\n' })
  }

  end({ usage }: Ended): string {
    const last =
      this.hasUsage && usage !== null ? event({ ...this.fields(), choices: [], usage: usageOf(usage) }) : ''
    return `${this.chunk({}, 'stop')}${last}data: [DONE]\n\n`
  }

  fail(error: Coded): string {
    return event({ error: failureOf(error).error })
  }

  private chunk(delta: object, finish_reason: 'stop' | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
    return event({ ...this.fields(), choices, ...(this.hasUsage ? { usage: null } : {}) })
  }

  private fields(): object {
    return fieldsOf(this.head, 'chat.completion.chunk')
  }
}

function fieldsOf({ runId, created, model }: Head, object: string): object {
  return { id: `chatcmpl-${runId}`, object, created, model }
}

function usageOf({ input_tokens, output_tokens }: NonNullable<Ended['usage']>): object {
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
  }
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
