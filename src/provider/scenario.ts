/** The scenario file of the scripted provider. */
import { resolve } from 'node:path'
import * as z from 'zod/mini'
import { SubstratError } from '../errors.js'
import { readUserFile } from '../files/user-files.js'
import { PROVIDER_FAILURE_TYPES } from '../schema/words.js'
import { providerFailure } from './failure.js'

const milliseconds = z.int().check(z.nonnegative())

const response = z.strictObject({
  /** Delay before the response. */
  delay_ms: z.optional(milliseconds),
  /** Respond once this file exists; the path is relative to the workspace. */
  after_file: z.optional(z.string()),
  /** The reply. Default: echo the prompt. */
  say: z.optional(z.string()),
  /** The reply as a stream. Each piece comes once its file exists. */
  pieces: z.optional(z.array(z.strictObject({ say: z.string(), after_file: z.optional(z.string()) }))),
  /** Tool calls of the response. */
  tools: z.optional(z.array(z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()) }))),
  /** The items of the response. A later request without exactly these fails. */
  items: z.optional(z.array(z.record(z.string(), z.unknown()))),
  /** Fail the first `attempts` requests of this entry (default 1). */
  fail: z.optional(
    z.strictObject({
      type: z.enum(PROVIDER_FAILURE_TYPES),
      retry_after_ms: z.optional(milliseconds),
      attempts: z.optional(z.int().check(z.positive())),
      /** Fail only after the text. */
      after_text: z.optional(z.boolean()),
    }),
  ),
})

const scenario = z.strictObject({ responses: z.array(response) })

export type ScriptedResponse = z.infer<typeof response>
export type Scenario = z.infer<typeof scenario>

/** `path` is relative to the agent's workspace. Throws a `misconfigured` failure that names the wrong field. */
export async function loadScenario(path: string, workspace: string): Promise<Scenario> {
  const file = resolve(workspace, path)
  let value: unknown
  try {
    value = JSON.parse(readUserFile(file))
  } catch (error) {
    const why = error instanceof SubstratError ? String(error.facts.errno) : (error as Error).message
    throw providerFailure('misconfigured', `the scenario ${file} cannot be read: ${why}`)
  }
  const parsed = scenario.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  throw providerFailure(
    'misconfigured',
    `the scenario ${file} is invalid at ${where || 'its top level'}: ${wrongIn(issue)}`,
  )
}

/** zod/mini has no messages of its own. */
function wrongIn(issue: z.core.$ZodIssue | undefined): string {
  switch (issue?.code) {
    case 'invalid_type':
      return `it must be ${issue.expected}`
    case 'invalid_value':
      return `it must be one of ${issue.values.join(', ')}`
    case 'too_small':
      return `it must be at least ${issue.minimum}`
    case 'unrecognized_keys':
      return `there is no field ${issue.keys.join(', ')}`
    default:
      return issue?.message ?? 'the value is invalid'
  }
}
