/** How a value of a column becomes one of JavaScript. */
import types from 'pg-types'

const INT8 = 20

/** All values come as text. */
export function parserOf(oid: number): (text: string) => unknown {
  return oid === INT8 ? Number : types.getTypeParser(oid, 'text')
}
