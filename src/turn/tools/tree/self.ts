/** Tools that change the agent's own state. The change and the call's result are one batch. */
import { limits } from '../../../limits.js'
import { dueAfter } from '../../../session/durations.js'
import { deriveId } from '../../../session/ids.js'
import { optionalSeconds, type Tool, textField } from '../tool.js'
import { timeOf } from './correspondence.js'

const EVERY_MS_MIN = 1000

export const remindMe: Tool = {
  name: 'remind_me',
  description: 'Sends you a message at a given time, once or repeatedly.',
  input_schema: {
    type: 'object',
    properties: {
      content: { type: 'string', description: 'The text of the reminder.' },
      not_before: { type: 'string', description: 'The time, in ISO 8601.' },
      delay_seconds: { type: 'number', description: 'Or after this many seconds.' },
      every_seconds: { type: 'number', description: 'Repeat at this interval, in seconds.' },
    },
    required: ['content'],
  },
  kind: 'own',
  async run(input, { tree, call }) {
    const { reminders } = tree.session.state
    if (reminders.length >= limits.remindersMax)
      throw new Error(`you have ${reminders.length} reminders already: cancel one first`)
    const every_ms = optionalSeconds(input, 'every_seconds')
    if (every_ms !== null && every_ms < EVERY_MS_MIN) throw new Error('every_seconds must be at least 1')
    const due = timeOf(input) ?? (every_ms === null ? null : dueAfter(every_ms))
    if (due === null) throw new Error('a reminder needs a time: not_before, delay_seconds or every_seconds')
    const reminder_id = deriveId(call.made_at, 'reminder')
    const content = textField(input, 'content')
    const began = due.clock === null ? {} : { clock: due.clock }
    return {
      content: `reminder ${reminder_id}, due ${due.at}`,
      records: [{ kind: 'reminder.set', reminder_id, content, due_at: due.at, every_ms, ...began }],
    }
  },
}

export const cancelReminder: Tool = {
  name: 'cancel_reminder',
  description: 'Cancels one of your reminders.',
  input_schema: {
    type: 'object',
    properties: { reminder_id: { type: 'string', description: 'The id that remind_me returned.' } },
    required: ['reminder_id'],
  },
  kind: 'own',
  async run(input, { tree }) {
    const reminder_id = textField(input, 'reminder_id')
    const isSet = tree.session.state.reminders.some((reminder) => reminder.reminder_id === reminder_id)
    if (!isSet) throw new Error(`you have no reminder ${reminder_id}`)
    return { content: 'cancelled', records: [{ kind: 'reminder.cancelled', reminder_id }] }
  },
}

export const setMetadata: Tool = {
  name: 'set_metadata',
  description: 'Records facts about you for your parent and the person: progress, a link, a verdict.',
  input_schema: {
    type: 'object',
    properties: {
      metadata: { type: 'object', description: 'Names and texts. null removes a name.' },
    },
    required: ['metadata'],
  },
  kind: 'own',
  async run(input, { tree }) {
    const metadata = checkMetadata(input.metadata)
    const merged = { ...tree.session.state.metadata, ...metadata }
    for (const [name, text] of Object.entries(metadata)) if (text === null) delete merged[name]
    if (Object.keys(merged).length > limits.metadataKeysMax || bytesOf(merged) > limits.metadataBytesMax)
      throw new Error(
        `metadata is at most ${limits.metadataKeysMax} names and ${limits.metadataBytesMax} bytes in all`,
      )
    return { content: 'noted', records: [{ kind: 'session.configured', metadata, actor: undefined }] }
  },
}

function checkMetadata(value: unknown): Record<string, string | null> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('metadata must be an object with text values')
  const entries = Object.entries(value).map(([name, text]): [string, string | null] => [
    name,
    text === null ? null : typeof text === 'string' ? text : JSON.stringify(text),
  ])
  return Object.fromEntries(entries)
}

function bytesOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value))
}
