/** The keys of the page. A key that the reader types into a field is theirs. */
import { useEffect } from 'preact/hooks'
import { go, type Route } from '../state/router.js'
import { Store } from '../state/store.js'
import { nextTheme } from '../state/theme.js'

export const SHORTCUTS: [string, string][] = [
  ['g n', 'Go to the agents that need you'],
  ['g a', 'Go to all agents'],
  ['g u', 'Go to the usage'],
  ['g s', 'Search all agents'],
  ['/', 'Filter the agents; Enter opens the first one'],
  ['j, k', 'Next or previous request, in “Needs you”'],
  ['↑ ↓ ← →', 'Move in the tree; open and close a branch'],
  ['Enter', 'Open the agent under the cursor'],
  ['c', 'Write to the agent'],
  ['Ctrl Enter', 'Send the message'],
  ['+ − ← → 0', 'Zoom and move the timeline; show all of it'],
  ['t', 'Change the colours: system, light, dark'],
  ['?', 'Show these shortcuts'],
  ['Esc', 'Close a dialog'],
]

const AFTER_G: Record<string, Route> = {
  n: { view: 'needs' },
  a: { view: 'agents' },
  u: { view: 'usage' },
  s: { view: 'search', text: '' },
}

const KEY = 'substrat-shortcuts'

/** Speech input can press single keys by accident, so the reader can switch them off. */
export const areKeysOn = new Store(localStorage.getItem(KEY) !== 'off')

export function switchKeys(isOn: boolean): void {
  localStorage.setItem(KEY, isOn ? 'on' : 'off')
  areKeysOn.set(isOn)
}

export function useShortcuts(onHelp: () => void): void {
  useEffect(() => {
    let isAfterG = false
    const onKey = (event: KeyboardEvent): void => {
      const wasAfterG = isAfterG
      // Any other key ends the sequence, also one that goes to a field.
      isAfterG = false
      if (!areKeysOn.value || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const to = wasAfterG ? AFTER_G[event.key] : undefined
      isAfterG = event.key === 'g'
      if (to !== undefined) go(to)
      else if (event.key === '?') onHelp()
      else if (event.key === 't') nextTheme()
      else if (event.key === '/') goToFilter()
      else if (event.key === 'c') focus('composer')
      else if (event.key === 'j' || event.key === 'k') focusCard(event.key === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onHelp])
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null
}

/** `go` has queued the drawing as a microtask. The field exists after it, and before the next key. */
function goToFilter(): void {
  go({ view: 'agents' })
  queueMicrotask(() => focus('filter'))
}

function focus(id: string): void {
  document.getElementById(id)?.focus()
}

function focusCard(step: 1 | -1): void {
  const cards = [...document.querySelectorAll<HTMLElement>('[data-card]')]
  const at = cards.findIndex((card) => card.contains(document.activeElement))
  const next = cards[at < 0 ? 0 : Math.min(cards.length - 1, Math.max(0, at + step))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
