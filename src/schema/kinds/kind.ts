/** The parts that the kinds of several sections share. */
import { z } from 'zod'
import { modelUsage, text, usage, uuid, actor as whoActed } from '../types.js'

export const run_id = uuid
export const message_id = uuid
export const token_id = uuid
export const host_id = text.optional().describe('The machine of the process: a hash of its machine-id.')
export const host_name = text.optional().describe('The name of that machine, for a person.')
/** Absent in logs of earlier versions, and where the agent itself decided. */
export const actor = whoActed.optional()
export const call_id = text
export const tool = text

/** The usage of an agent program in this run since the last record with a usage. */
export const programUsage = {
  usage: usage.optional().describe('The usage of an agent program since the last record with its usage.'),
  models: z.array(modelUsage).optional().describe('The same, per model.'),
}

/** The fields of a kind, without those of its place in the log. */
export function kind<S extends z.ZodRawShape>(description: string, fields: S): z.ZodObject<S> {
  return z.object(fields).describe(description)
}
