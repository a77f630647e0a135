/** The small files of a home, and the lines of a log (docs/format.md). */
import { z } from 'zod'
import type { RemovedAgent } from '../format.js'
import { budgetState } from './budget.js'
import { place, RECORDS } from './records.js'
import { integer, sessionUsage, text, time, uuid } from './types.js'
import { SCOPES, TOKEN_NAME } from './words.js'

const migration = z
  .object({
    id: uuid,
    state: z
      .enum(['arriving', 'leaving', 'left'])
      .describe(
        '`arriving`: this home is not complete. `leaving`: it is being copied. `left`: it was copied.',
      ),
    other: text.describe('The other home, for a person.'),
  })
  .meta({ id: 'migration', description: 'The part of a home in a migration.' })

export const home = z
  .object({
    format: integer.describe('2. It is 1 in a home of an earlier version.'),
    home_id: uuid,
    lock: z.enum(['ofd', 'flock']).describe('The two kinds do not exclude each other.'),
    created_at: time,
    migration: migration
      .optional()
      .describe('Only while a migration has not ended, and after this home has left.'),
  })
  .describe('`home.json`.')

export const nameEntry = z
  .object({ name: text.describe('As given, or the id of an unnamed child.'), agent_id: uuid })
  .describe('`roots/<sha256>` and `children/<sha256>`.')

export const serverFile = z
  .object({ server_id: uuid, handle: text.describe('In base64.') })
  .describe('`server.json`. Valid only for the `server.kept` with this `server_id`.')

export const holder = z
  .object({
    pid: integer,
    host: text,
    command: text,
    since: time,
    boot_id: text,
    host_id: text.optional().describe('Absent without a machine-id.'),
    lease_ends_at: time
      .optional()
      .describe('When its lease ends, unless it is renewed. Only in a home that several hosts share.'),
  })
  .meta({
    id: 'holder',
    description:
      'The process that holds a lock. It is for people, and never decides whether the holder lives.',
  })

export const goneHost = z
  .object({ kernel_boot_id: text, host_id: text, host_name: text.nullable(), declared_at: time })
  .describe('A host whose processes a person has declared dead (`recover --host-gone`).')

const usedOfModel = z.object({ model: text.nullable().describe('Null if unknown.'), ...sessionUsage.shape })

export const removedAgent = z
  .object({
    agent_id: uuid,
    path: text,
    parent_id: uuid.nullable(),
    created_at: time,
    removed_at: time,
    budget: budgetState.optional().describe('Its use under the caps over it.'),
    usage: z.object({
      total: sessionUsage,
      models: z.array(usedOfModel),
      days: z.array(
        z.object({
          day: text.describe('In UTC.'),
          ...sessionUsage.shape,
          models: z.array(usedOfModel),
        }),
      ),
    }),
  })
  .describe(
    '`removed/<uuid>`. The usage of a removed agent. It counts while no agent has this id.',
  ) satisfies z.ZodType<RemovedAgent>

const { seq, ts, batch } = place

/** A named token of the server, in the file beside the operator's token. It is not part of the home. */
export const namedToken = z.object({
  name: z.string().regex(TOKEN_NAME),
  may: z.enum(SCOPES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  created_at: time,
})

/** A record of each kind, as `substrat log --json` prints it. */
export const records = Object.entries(RECORDS).map(([kind, { shape, description = '' }]) =>
  z.object({ seq, ts, kind: z.literal(kind), batch, ...shape }).describe(description),
)

export type NamedToken = z.infer<typeof namedToken>
export type HomeFacts = z.infer<typeof home>
export type LockKind = HomeFacts['lock']
/** The holder's own entry in the lock file, for people. It never decides whether the holder lives. */
export type Holder = z.infer<typeof holder>
