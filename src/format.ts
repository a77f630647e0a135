/** The words of the format on disk (docs/format.md) that more than one layer needs. */

/** The version of the format: `home.json` and the first record of each log have it. */
export const FORMAT = 1

/** A key is known by so many bytes of the SHA-256 of its NFC form. */
export const KEY_HASH_BYTES = 16

/** The user as a party to mail: stands where the id of an agent would. */
export const OPERATOR = 'operator'

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue | undefined }
export type JsonObject = { [key: string]: JsonValue | undefined }

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** The id of an agent, a run or a message. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Names that differ only in case or in Unicode composition are one name. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC')
}
