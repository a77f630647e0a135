/** Checks the JSON that commands print against their schemas. A field that no schema names is an error, too. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { z } from 'zod'
import { failed, OUTPUTS, streamed } from '../../src/schema/outputs.js'

// The code of a check runs a few times only, so Ajv need not optimize it.
const ajv = new Ajv2020({ strict: false, code: { optimize: false } })

const COMPILED = Symbol.for('substrat.test.shapes')

/** By the text of the schema. The files of a worker process share them: compiling a large one takes most of a second. */
const shared = globalThis as { [COMPILED]?: Map<string, ValidateFunction> }
const compiled = shared[COMPILED] ?? new Map<string, ValidateFunction>()
shared[COMPILED] = compiled
const validators = new Map<z.ZodType, ValidateFunction>()

/** The commands whose output was checked in this process. */
export const checkedCommands = new Set<string>()

/** Throws if what the command printed does not have its documented shape. Other output than JSON is not looked at. */
export function checkPrinted(args: string[], stdout: string): void {
  const end = args.indexOf('--')
  const flags = end < 0 ? args : args.slice(0, end)
  const [isJson, isStream] = [flags.includes('--json'), flags.includes('--stream')]
  const result = schemaOf(args)
  const schema = isStream ? (isJson && result !== undefined ? z.union([streamed, result]) : streamed) : result
  if (!(isJson || isStream) || schema === undefined) return
  for (const value of valuesIn(stdout)) {
    if (!isError(value)) checkedCommands.add(commandOf(args))
    checkShape(isError(value) ? failed : schema, value, args.join(' '))
  }
}

function commandOf(args: string[]): string {
  const names = [3, 2].map((words) => args.slice(0, words).join(' '))
  return names.find((name) => name in OUTPUTS) ?? args[0] ?? ''
}

/** Undefined for a command that is not ours, and for a JSON Schema itself. */
function schemaOf(args: string[]): z.ZodType | undefined {
  const [first, second = ''] = args
  if (first === 'schema' && !second.startsWith('-') && second !== '') return undefined
  const outputs: Record<string, z.ZodType> = OUTPUTS
  return outputs[commandOf(args)]
}

export function checkShape(schema: z.ZodType, value: unknown, what: string): void {
  const validate = validators.get(schema) ?? compile(schema)
  validators.set(schema, validate)
  if (validate(value)) return
  const why = ajv.errorsText(validate.errors?.slice(0, 5))
  throw new Error(`the output of ${what} does not have its shape: ${why}\n${JSON.stringify(value)}`)
}

function compile(schema: z.ZodType): ValidateFunction {
  const json = z.toJSONSchema(schema, { io: 'output' })
  const text = JSON.stringify(json)
  const validate = compiled.get(text) ?? ajv.compile(json)
  compiled.set(text, validate)
  return validate
}

function isError(value: unknown): boolean {
  return JSON.stringify(Object.keys(Object(value))) === '["error"]'
}

/** One value, or one per line. An error after the lines has several lines; a killed command leaves half a line. */
function valuesIn(stdout: string): unknown[] {
  const whole = parsed(stdout)
  if (whole !== undefined) return [whole]
  const lines = stdout.split('\n')
  const values = lines.map(parsed)
  const at = values.indexOf(undefined)
  const rest = at < 0 ? undefined : parsed(lines.slice(at).join('\n'))
  return [...values.slice(0, at < 0 ? undefined : at), rest].filter((value) => value !== undefined)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
