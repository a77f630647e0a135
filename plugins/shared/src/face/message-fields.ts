/** The options of a message (src/schema/message.ts of substrat), as a client writes them and as the command takes them. */
import { type MESSAGE_OPTIONS, rowsWithFlag, type SettableName } from 'substrat/message'
import { z } from 'zod'
import { allowList, flags } from './arguments.js'

const TYPES = { duration: z.string(), count: z.int().min(1), tools: z.array(z.string()), switch: z.boolean() }

type Rows = typeof MESSAGE_OPTIONS
type Underscored<T extends string> = T extends `${infer A}-${infer B}` ? `${A}_${Underscored<B>}` : T
type FieldName<N extends SettableName> = Underscored<Rows[N]['flag']>
type Fields = { [N in SettableName as FieldName<N>]: z.ZodOptional<(typeof TYPES)[Rows[N]['type']]> }
export type MessageFields = { [N in keyof Fields]?: z.output<Fields[N]> }

/** The fields of a body or of the arguments of a tool. Each is optional. */
export const messageFields = Object.fromEntries(
  rowsWithFlag().map(([, { type, flag, help }]) => [
    fieldName(flag),
    TYPES[type as keyof typeof TYPES].optional().describe(sentence(help)),
  ]),
) as unknown as Fields

/** The names of the fields that only a person may set. */
export const decidingFields = rowsWithFlag().flatMap(([, { isDecision, flag }]) =>
  isDecision === true ? [fieldName(flag)] : [],
)

/** The flags of the command. Throws USAGE for a list that the command would split elsewhere. */
export function messageFlags(given: MessageFields): string[] {
  return flags(
    Object.fromEntries(
      rowsWithFlag().map(([, { flag }]) => {
        const value = given[fieldName(flag) as keyof Fields]
        return [
          flag,
          Array.isArray(value) ? allowList(value) : typeof value === 'number' ? String(value) : value,
        ]
      }),
    ),
  )
}

function fieldName(flag: string): string {
  return flag.replaceAll('-', '_')
}

function sentence(help: string): string {
  return `${help.charAt(0).toUpperCase()}${help.slice(1)}.`
}
