/** The view is in the fragment of the address, so links, reloads and the back button work without the server. */
import { leavePlace } from './places.js'
import { Store } from './store.js'

export type Route =
  | { view: 'needs' }
  | { view: 'agents' }
  | { view: 'new' }
  | { view: 'agent'; id: string; tab: 'conversation' | 'timeline' }
  | { view: 'usage' }
  | { view: 'search'; text: string }

export const route = new Store<Route>(parse(location.hash))

addEventListener('hashchange', enter)

function enter(): void {
  leavePlace()
  route.set(parse(location.hash))
}

function parse(hash: string): Route {
  const [view, id, tab] = hash.replace(/^#\/?/, '').split('/').map(decoded)
  if (view === 'agents' && id) return { view: 'agent', id, tab: tab === 'timeline' ? tab : 'conversation' }
  if (view === 'search') return { view, text: id ?? '' }
  if (view === 'agents' || view === 'usage' || view === 'new') return { view }
  return { view: 'needs' }
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

export function linkTo(to: Route): string {
  switch (to.view) {
    case 'needs':
      return '#/'
    case 'agent':
      return `#/agents/${encodeURIComponent(to.id)}${to.tab === 'timeline' ? '/timeline' : ''}`
    case 'search':
      return to.text === '' ? '#/search' : `#/search/${encodeURIComponent(to.text)}`
    default:
      return `#/${to.view}`
  }
}

/**
 * The view changes at once, and is drawn before the next key. The browser announces the new address later, so a key that follows a
 * shortcut would go to the old view.
 */
export function go(to: Route): void {
  location.hash = linkTo(to)
  enter()
}

export function agentLink(id: string): string {
  return linkTo({ view: 'agent', id, tab: 'conversation' })
}
