/** Constants and types of the on-disk format (docs/format.md) that more than one layer needs. */

/** The format version, in `home.json` and in the first record of each log. */
export const FORMAT = 1

/** The key index stores this many bytes of the SHA-256 of a key in NFC. */
export const KEY_HASH_BYTES = 16

/** The user as a party to mail, in place of an agent's id. */
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

/** Whether the text has the form of an agent, run or message id. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** Two names that differ only in case or Unicode composition are the same name. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC')
}
