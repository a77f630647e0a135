/** The fields of MESSAGE_OPTIONS in zod, for records, mail and the snapshot. */
import { z } from 'zod'
import { MESSAGE_OPTIONS, type OptionName } from './message.js'
import { flag, integer, text } from './types.js'

const TYPES = { text, duration: integer, count: integer, tools: z.array(text), switch: flag }

type FieldOf<N extends OptionName> = (typeof TYPES)[(typeof MESSAGE_OPTIONS)[N]['type']]
type Stated<N extends OptionName> =
  FieldOf<N> extends typeof TYPES.tools
    ? FieldOf<N>
    : FieldOf<N> extends typeof TYPES.switch
      ? z.ZodOptional<FieldOf<N>>
      : z.ZodNullable<FieldOf<N>>

/** In a record or a stored message: only the options that ask for something. */
export const askedFields = fieldsOf((field) => field.optional()) as {
  [N in OptionName]: z.ZodOptional<FieldOf<N>>
}

/** In the state: every option, and a switch only if it is on. */
export const stateFields = fieldsOf((field, type) =>
  type === 'tools' ? field : type === 'switch' ? field.optional() : field.nullable(),
) as {
  [N in OptionName]: Stated<N>
}

function fieldsOf(
  form: (field: z.ZodType, type: keyof typeof TYPES) => z.ZodType,
): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(MESSAGE_OPTIONS).map(([name, { type, ...row }]) => {
      const field = form(TYPES[type], type)
      return [name, 'about' in row ? field.describe(row.about) : field]
    }),
  )
}
