/** Prepares the parts of a response for its record. A part that is too large for the line becomes a blob, on disk before the record. */
import { limits } from '../../limits.js'
import type { JsonObject, ToolCall } from '../../provider/contract.js'
import type { CallRecord } from '../../schema/types.js'
import type { Session } from '../../session/session.js'
import type { StoredItems } from '../step/turn-event.js'
import { offContract } from './events.js'

/** The records of all calls share one line of the log: an input that does not fit becomes a blob. */
export function callRecords(session: Session, calls: ToolCall[]): CallRecord[] {
  let room: number = limits.callInputsBytesMax
  return calls.map(({ input, ...call }) => {
    const bytes = Buffer.from(JSON.stringify(input))
    if (bytes.length > Math.min(limits.inlineBytesMax, room))
      return { ...call, input_blob: session.writeBlob(bytes) }
    room -= bytes.length
    return { ...call, input }
  })
}

/** As a field of an event; nothing if there are no items. */
export function storedItems(session: Session, items: JsonObject[]): { items?: StoredItems } {
  if (items.length === 0) return {}
  const bytes = Buffer.from(JSON.stringify(items))
  return {
    items: bytes.length <= limits.inlineBytesMax ? { items } : { items_blob: session.writeBlob(bytes) },
  }
}

/** The provider's own data about one response. */
export class Items {
  readonly all: JsonObject[] = []
  private bytes = 0

  add(item: JsonObject | undefined): void {
    if (item === undefined) throw offContract('an item that is not a JSON object, or has too many levels')
    this.bytes += Buffer.byteLength(JSON.stringify(item))
    if (this.bytes > limits.itemsBytesMax)
      throw offContract(`items of more than ${limits.itemsBytesMax} bytes in one response`)
    this.all.push(item)
  }
}
