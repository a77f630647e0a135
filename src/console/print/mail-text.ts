/** The output of `inbox` without `--json`. */
import { readableTime } from '../../clock.js'
import { actorText, isReader } from '../../schema/actors.js'
import type { InboxView, MailView } from '../../schema/output-overview.js'
import type { Actor } from '../../schema/types.js'
import { userHere } from '../../session/actor.js'

/** The shortest beginning of an id to show. */
const ID_CHARACTERS_MIN = 8
const QUOTED_CHARACTERS_MAX = 200

/** `asked`: the requests that the messages answer, by id. */
export function inboxText({ messages, damaged, unknown }: InboxView, asked: Map<string, string>): string {
  const files = [
    ...damaged.map((path) => `damaged: ${path}`),
    ...unknown.map(({ path }) => `written by a newer version: ${path}`),
  ]
  const characters = shortLength(messages.map(({ message_id }) => message_id))
  const entries = [...messages.map((mail) => mailText(mail, characters, asked)), ...files]
  return entries.length === 0 ? 'no messages' : entries.join('\n\n')
}

function mailText(
  { message_id, kind, from_path, reply_to, content, control, not_before, created_at, actor }: MailView,
  characters: number,
  asked: Map<string, string>,
): string {
  const question = reply_to === null ? undefined : asked.get(reply_to)
  const facts = [
    `${kind} ${message_id.slice(0, characters)} from ${writerOf(from_path, actor)}, ${readableTime(created_at)}`,
    reply_to === null || question !== undefined ? '' : `in reply to ${reply_to.slice(0, characters)}`,
    not_before === null ? '' : `not before ${readableTime(not_before)}`,
  ]
  const text = control === null ? content : control.verb
  const quote = question === undefined ? '' : `\n    > ${quoted(question)}`
  return `${facts.filter(Boolean).join(', ')}${quote}\n    ${text.trimEnd().replaceAll('\n', '\n    ')}`
}

/** A message of the reader is from `operator`, as in its address. */
function writerOf(path: string, actor: Actor | undefined): string {
  return actor === undefined || isReader(actor, userHere()) ? path : actorText(actor)
}

/** How many characters of the ids differ, in whole groups of a UUID. */
function shortLength(ids: string[]): number {
  const isUnique = (length: number): boolean =>
    new Set(ids.map((id) => id.slice(0, length))).size === ids.length
  return [ID_CHARACTERS_MIN, 13, 18, 23].find(isUnique) ?? 36
}

/** The first line that has text. */
function quoted(question: string): string {
  const line = question.trim().split('\n', 1)[0] ?? ''
  const isWhole = line === question.trim() && line.length <= QUOTED_CHARACTERS_MAX
  return isWhole ? line : `${line.slice(0, QUOTED_CHARACTERS_MAX)} …`
}
