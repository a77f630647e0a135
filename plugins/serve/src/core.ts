/** The reading functions of the substrat that runs this plugin: see plugins/shared/src/face/core.ts. */
import type { ListRow } from 'substrat/reading'

export type { ErrorCode, ListRow, PageBounds, Position, SessionRecord, Store } from 'substrat/reading'
export type { Core } from '../../shared/src/face/core.js'

/** An agent in a list: as `list --json` has it, with the status that `list` shows a person. */
export function listed({ agent, status }: ListRow): object {
  return { ...agent, shown_status: status }
}
