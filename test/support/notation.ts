/** The zod schemas in the notation of docs/format.md: `name?:type`. */
import { z } from 'zod'
import { group } from '../../src/schema/types.js'

type Schema = z.core.$ZodType
type Shape = Readonly<Record<string, Schema>>

/** `name:type`, or `name?:type` if the field is optional. */
export function fieldLines(shape: Shape): string[] {
  return Object.entries(shape).map(([name, schema]) => {
    const isOptional = schema instanceof z.ZodOptional
    return `${name}${isOptional ? '?' : ''}:${typeOf(isOptional ? schema.unwrap() : schema)}`
  })
}

function typeOf(schema: Schema): string {
  const name = nameOf(schema)
  if (name !== undefined) return name
  if (schema instanceof z.ZodNullable) return `${typeOf(schema.unwrap())}|null`
  if (schema instanceof z.ZodArray) return `[${typeOf(schema.unwrap())}]`
  if (schema instanceof z.ZodEnum) return schema.options.map((word) => `"${word}"`).join('|')
  if (schema instanceof z.ZodRecord) return `{${typeOf(schema.valueType)}}`
  if (schema instanceof z.ZodLiteral) return [...schema.values].map((word) => JSON.stringify(word)).join('|')
  if (schema instanceof z.ZodLazy) return typeOf(schema.unwrap())
  if (schema instanceof z.ZodObject) return `{${fieldLines(schema.shape).join(',')}}`
  if (schema instanceof z.ZodUnion) return schema.options.map(typeOf).join('|')
  if (schema instanceof z.ZodNumber) return schema.isInt ? 'integer' : 'number'
  if (schema instanceof z.ZodBoolean) return 'boolean'
  if (schema instanceof z.ZodString) return 'string'
  throw new Error(`no notation for ${schema._zod.def.type}`)
}

/** The named objects in the fields of these shapes, and the objects within those. */
export function objectsIn(shapes: Shape[]): Record<string, z.ZodObject> {
  const found: Record<string, z.ZodObject> = {}
  const visit = (schema: Schema): void => {
    if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodArray)
      visit(schema.unwrap() as Schema)
    if (schema instanceof z.ZodUnion) for (const option of schema.options) visit(option as Schema)
    if (schema instanceof z.ZodObject) {
      const name = nameOf(schema)
      if (name !== undefined && found[name] !== undefined) return
      if (name !== undefined && name !== 'blob') found[name] = schema
      for (const field of Object.values(schema.shape)) visit(field as Schema)
    }
  }
  for (const shape of shapes) for (const field of Object.values(shape)) visit(field)
  return found
}

/** `describe` copies a schema, and the copy loses the id, so the original is asked too. */
function nameOf(schema: Schema): string | undefined {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return id
  const { parent } = schema._zod
  return parent === undefined ? undefined : nameOf(parent)
}

function descriptionOf(schema: Schema): string | undefined {
  return z.globalRegistry.get(schema)?.description
}

/** A section of docs/format.md: each object with its description, its fields and the notes on fields. */
export function describedObjects(objects: Record<string, z.ZodObject>): string {
  return Object.entries(objects)
    .map(([name, schema]) => {
      const notes = Object.entries(schema.shape).flatMap(([field, type]) => {
        const note = schema !== group && isOfGroup(type) ? undefined : fieldNote(type as Schema)
        return note === undefined ? [] : [`\`${field}\`: ${note}`]
      })
      const lines = fieldLines(schema.shape).join(' ')
      const parts = [`**\`${name}\`**: ${descriptionOf(schema)}`, lines === '' ? '' : `\`${lines}\``]
      return [...parts, notes.join(' ')].filter((part) => part !== '').join('\n\n')
    })
    .join('\n\n')
}

/** `group` explains its fields. A record with the same fields refers to it. */
function isOfGroup(field: unknown): boolean {
  return Object.values<unknown>(group.shape).includes(field)
}

/** The description of the field itself, not that of its named type. */
function fieldNote(schema: Schema): string | undefined {
  return z.globalRegistry.get(schema)?.id === undefined && isOwn(schema) ? descriptionOf(schema) : undefined
}

/** Whether a copy has another description than the schema that it was copied from. */
function isOwn(schema: Schema): boolean {
  const { parent } = schema._zod
  return parent === undefined || descriptionOf(parent) !== descriptionOf(schema)
}
