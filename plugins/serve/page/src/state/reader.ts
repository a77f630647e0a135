/** The one who reads this page, by their token. What they did themselves is "you". */
import type { Reader } from 'substrat/actors'
import { Store } from './store.js'

export const reader = new Store<Reader>({})
