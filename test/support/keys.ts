import type { KeyRetention } from '../../src/storage/store.js'

/** No key is ever forgotten. */
export const EVERY_KEY: KeyRetention = { minuteMin: 0, keysMin: Number.MAX_SAFE_INTEGER, keptMinutes: 0 }
