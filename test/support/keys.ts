import type { KeptKeys } from '../../src/storage/store.js'

/** No key is forgotten. */
export const EVERY_KEY: KeptKeys = { minuteMin: 0, keysMin: Number.MAX_SAFE_INTEGER, keptMinutes: 0 }
