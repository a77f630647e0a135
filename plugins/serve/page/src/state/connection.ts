/** Whether the server answers, for the sign in the header. */
import { Store } from './store.js'

export type Connection = 'connecting' | 'live' | 'lost' | 'refused'

export const connection = new Store<Connection>('connecting')
