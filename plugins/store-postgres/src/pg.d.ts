/** A part of pg that its types lack. */
declare module 'pg/lib/utils' {
  /** The text or the bytes of a parameter. */
  export function prepareValue(value: unknown): string | Buffer | null
}
