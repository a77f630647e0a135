/** The reading functions of the substrat that runs this plugin: see plugins/shared/src/face/core.ts. */
export type {
  ErrorCode,
  ListedAgent,
  NamedToken,
  PageBounds,
  Position,
  Scope,
  SessionRecord,
  Store,
} from 'substrat/reading'
export type { Core } from '../../shared/src/face/core.js'
