/** Light, dark, or as the system says. */
import { Store } from './store.js'

const KEY = 'substrat-theme'
const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export const theme = new Store<Theme>(THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system')

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value
}

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme
  localStorage.setItem(KEY, next)
  theme.set(next)
  applyTheme()
}
