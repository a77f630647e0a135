/**
 * A type of an SDK as it may really come: any field may be missing. The compiler then checks that a reader names fields
 * which exist, and that it does not count on them.
 */
export type Wire<T> = T extends readonly (infer E)[]
  ? Wire<E>[]
  : T extends object
    ? { [K in keyof T]?: Wire<T[K]> | null }
    : T

/** A piece of text, or nothing where it is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function countOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.round(value) : 0
}
