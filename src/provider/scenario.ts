/** The scenario file of the scripted provider. */
import { resolve } from 'node:path'
import * as z from 'zod/mini'
import { SubstratError } from '../errors.js'
import { readUserFile } from '../files/user-files.js'
import { PROVIDER_FAILURE_TYPES } from '../session/fields.js'
import { providerFailure } from './failure.js'

const milliseconds = z.int().check(z.nonnegative())

const response = z.strictObject({
  /** Before it answers. */
  delay_ms: z.optional(milliseconds),
  /** A path, relative to the workspace: it answers once that file is there. */
  after_file: z.optional(z.string()),
  /** The reply; without it the prompt is echoed. */
  say: z.optional(z.string()),
  /** What it calls besides. */
  tools: z.optional(z.array(z.strictObject({ name: z.string(), input: z.record(z.string(), z.unknown()) }))),
  /** The first `attempts` (1) times that this entry is asked fail so. */
  fail: z.optional(
    z.strictObject({
      type: z.enum(PROVIDER_FAILURE_TYPES),
      retry_after_ms: z.optional(milliseconds),
      attempts: z.optional(z.int().check(z.positive())),
    }),
  ),
})

const scenario = z.strictObject({ responses: z.array(response) })

export type ScriptedResponse = z.infer<typeof response>
export type Scenario = z.infer<typeof scenario>

/** `path` is relative to the agent's workspace. Throws a `misconfigured` failure that says what is wrong where. */
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
    `the scenario ${file} is not of its form at ${where || 'its top'}: ${wrongIn(issue)}`,
  )
}

/** In words: zod/mini has none. */
function wrongIn(issue: z.core.$ZodIssue | undefined): string {
  switch (issue?.code) {
    case 'invalid_type':
      return `it must be ${issue.expected}`
    case 'invalid_value':
      return `it must be one of ${issue.values.join(', ')}`
    case 'too_small':
      return `it must be at least ${issue.minimum}`
    case 'unrecognized_keys':
      return `there is no ${issue.keys.join(', ')}`
    default:
      return issue?.message ?? 'it is wrong'
  }
}
