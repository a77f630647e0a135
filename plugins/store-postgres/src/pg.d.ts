/** The types of pg lack this module. */
declare module 'pg/lib/utils' {
  /** The text or the bytes of a parameter. */
  export function prepareValue(value: unknown): string | Buffer | null
}
