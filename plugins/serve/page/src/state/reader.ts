/** The one who reads this page, by their token. Their own acts are of "you". */
import type { Reader } from 'substrat/actors'
import { Store } from './store.js'

export const reader = new Store<Reader>({})
