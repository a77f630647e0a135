/** The title of the document: how many agents need a person, then the view. */
import { needs } from './needs.js'
import { Store } from './store.js'

export const title = new Store('')

function show(): void {
  const count = needs.value?.count ?? 0
  document.title = `${count > 0 ? `(${count}) ` : ''}${title.value} · substrat`
}

title.subscribe(show)
needs.subscribe(show)
