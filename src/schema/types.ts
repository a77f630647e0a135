/**
 * The types of record fields (docs/format.md, Types), in zod. Programs do not load zod: the build turns the schemas into
 * validators (schema/generated), and other modules import only types from here.
 *
 * A schema with an `id` is named in docs/format.md, and has one definition in the JSON Schemas.
 */
import { z } from 'zod'
import { CONTEXT, DECISIONS, FAILURE_TYPES, STATUSES, WAITS, WATCHED_STATUSES } from './words.js'

export const text = z.string()
export const flag = z.boolean()
export const integer = z.int()
export const texts = z.record(z.string(), z.string())

export const json = z.record(z.string(), z.unknown()).meta({ id: 'object', description: 'Any JSON object.' })

export const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ id: 'uuid', description: 'In lower case.' })

export const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({
    id: 'time',
    description:
      'Such as `2026-11-20T10:00:00.000Z`, always UTC with milliseconds, so times compare as strings.',
  })

export const blob = z.object({ blob: z.string().regex(/^[0-9a-f]{64}$/), bytes: integer }).meta({
  id: 'blob',
  description: '`{"blob": <sha256>, "bytes": <length>}`: the file `blobs/<sha256>`.',
})

export const content = z.union([z.string(), blob]).meta({
  id: 'content',
  description: 'A string, or a blob if the text exceeds 64 KiB in UTF-8.',
})

export const context = z.string().regex(CONTEXT).meta({
  id: 'context',
  description:
    'How much of the earlier conversation a new turn begins with: `all`, nothing (`turn`), or the last N turns (`last:N`).',
})

export const decision = z.enum(DECISIONS)
export const watchedStatus = z.enum(WATCHED_STATUSES)
export const status = z.enum(STATUSES)
export const waitKind = z.enum(WAITS)

/** Null removes the key. */
export const metadata = z.record(z.string(), z.string().nullable())

const usageFields = {
  input_tokens: integer.describe('All input, cached or not.'),
  output_tokens: integer.describe('All output, with reasoning.'),
  cache_read_tokens: integer.optional().describe('Input read from a cache, part of `input_tokens`.'),
  cache_write_tokens: integer.optional().describe('Input written to a cache, part of `input_tokens`.'),
  reasoning_tokens: integer.optional().describe('Part of `output_tokens`.'),
  cost_usd: z.number().min(0).optional().describe('In US dollars, if the provider reports it.'),
}

export const usage = z.object(usageFields).meta({
  id: 'usage',
  description: 'Tokens, as the provider counts them. A field that it does not report is absent.',
})

/** The total of a session. A run whose usage is unknown counts only in `runs`. */
export const sessionUsage = z
  .object({
    ...usageFields,
    runs: integer.describe('All runs that started.'),
    runs_with_usage: integer.describe('The runs whose provider reported a usage.'),
    runs_with_cost: integer.describe('The runs whose provider reported a cost.'),
  })
  .meta({
    id: 'session_usage',
    description: 'The total of a session, and for how many of its runs it is known.',
  })

export const modelUsage = z
  .object({ model: text, ...usageFields })
  .meta({ id: 'model_usage', description: 'The part of a usage that one model has.' })

export const runError = z
  .object({
    type: z.enum(FAILURE_TYPES),
    message: text.describe('One sentence for a person.'),
  })
  .meta({ id: 'error', description: 'Why a run or a request failed ([types](errors.md#failed-turns)).' })

export const groupFields = {
  process_group: integer.describe('The pid of its leader.'),
  start_time: integer.describe("The leader's start, in clock ticks since boot. 0 without `/proc`."),
  kernel_boot_id: text,
  pid_namespace: text.describe('Inode number.'),
  host_id: text.optional().describe('The machine: a hash of its machine-id. Absent: this machine.'),
  launch_id: uuid.optional().describe("`SUBSTRAT_LAUNCH` in the program's environment."),
  lease: uuid
    .optional()
    .describe(
      'The lease at whose end its leash kills the program. The whole leash ran before the program did.',
    ),
}

export const group = z.object(groupFields).meta({
  id: 'group',
  description: 'The process group of a program. Pids are reused, so the other fields identify it.',
})

const argumentsError = z.object({ message: text, text }).meta({
  id: 'arguments_error',
  description:
    'Why the arguments of a call could not be read. The call does not run. `text`: the beginning of the arguments.',
})

export const call = z
  .object({
    call_id: text,
    name: text,
    input: json.optional(),
    input_blob: blob.optional(),
    arguments_error: argumentsError.optional(),
  })
  .meta({ id: 'call', description: 'A tool call of a model. `call_id` is unique in its response.' })

export const ask = z.object({ call_id: text, tool: text, input: json }).meta({
  id: 'ask',
  description: 'A call that a person decides about. Long values of `input` are shortened.',
})

export const source = z.object({ path: text, bytes: integer, cut: integer }).meta({
  id: 'source',
  description:
    'A file in the prompt. `path` is absolute. `bytes` is its size, and `cut` the number of bytes left out.',
})

export const lostRequest = z
  .object({ message_id: uuid, from: text })
  .meta({ id: 'request', description: 'A request in a lost part of the log.' })

export const reading = z
  .object({
    at: time.describe('The wall clock.'),
    kernel_boot_id: text.describe('`/proc/sys/kernel/random/boot_id`.'),
    uptime_ms: integer.describe('Since that boot, including suspend.'),
  })
  .meta({ id: 'clock', description: 'A reading of the clocks ([time](#time)).' })

export const outboundReply = z
  .object({ remote_id: text, sender: text, context: text.optional() })
  .meta({ id: 'outbound_reply', description: 'A message of a conversation outside the home.' })

export const button = z
  .object({ label: text, text: text.describe('The message that choosing it sends.') })
  .meta({ id: 'button', description: 'An answer that a person can choose.' })

const channelSender = z
  .object({
    channel: text.describe('The path of the channel.'),
    id: text.describe('The account, as the service has authenticated it.'),
  })
  .meta({ id: 'sender', description: 'A person in a channel.' })

const claims = z
  .object({
    client: text.optional().describe('The program that it says it is.'),
    name: text.optional().describe('The person or job that it says it acts for.'),
    agent: uuid.optional().describe('The agent in whose tool it says it runs.'),
  })
  .meta({ id: 'claims', description: 'Its words about itself, which nothing has verified.' })

export const actor = z
  .object({
    uid: integer.optional().describe('The user id of the process that acted, from the kernel.'),
    user: text.optional().describe('The name of that user on its machine at that time.'),
    host_id: text.optional().describe('That machine: a hash of its machine-id.'),
    face: text.describe('The way in: `cli`, `http`, `openai`, `acp`, `mcp` or `channel`.'),
    token: text.optional().describe('The name of the token of `substrat serve` that the request had.'),
    token_id: text
      .optional()
      .describe('The beginning of the hash of that token. A later token of the same name has another one.'),
    sender: channelSender.optional(),
    claims: claims.optional(),
  })
  .meta({
    id: 'actor',
    description:
      'The one who made a decision or wrote a message ([actors](actors.md)). All but `claims` is verified.',
  })

export const checksum = text.regex(/^[0-9a-f]{8}$/)

/** The object of a framed line. */
export function framed<S extends z.ZodRawShape>(
  schema: z.ZodObject<S>,
): z.ZodObject<S & { crc: z.ZodString }> {
  const line = z.object({ ...schema.shape, crc: checksum })
  return schema.description === undefined ? line : line.describe(schema.description)
}

/** Text of a message: in the line, or in a blob when it is over `limits.inlineBytesMax`. */
export type Content = z.infer<typeof content>
export type Usage = z.infer<typeof usage>
export type SessionUsage = z.infer<typeof sessionUsage>
export type ModelUsage = z.infer<typeof modelUsage>
/** The usage of a part of a turn, as fields of a record. */
export interface Used {
  usage?: Usage
  models?: ModelUsage[]
}
/** Why a run failed: a sentence for the user, and the type, which decides the exit status and whether a retry is allowed. */
export type RunError = z.infer<typeof runError>
export type ProcessGroup = z.infer<typeof group>
/** A tool call of a model. Its input is in the line, or in a blob (as JSON) when it is large. */
export type CallRecord = z.infer<typeof call>
/** The question that a wait asks about one parked call. */
export type Ask = z.infer<typeof ask>
/** A file that went into the prompt. */
export type PromptSource = z.infer<typeof source>
/** A request that was delivered in a lost part of the log. */
export type LostRequest = z.infer<typeof lostRequest>
/** A message of a conversation outside the home, which an outbound message answers. */
export type OutboundReply = z.infer<typeof outboundReply>
export type Button = z.infer<typeof button>
/** The one who made a decision or wrote a message. */
export type Actor = z.infer<typeof actor>
