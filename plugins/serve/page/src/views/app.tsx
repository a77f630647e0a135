/** The frame of the page: header, navigation, the view of the address, notes and dialogs. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { readToken, saveToken, takeTokenFromAddress } from '../api/token.js'
import type { IconName } from '../model/icon-paths.js'
import { limitOf } from '../model/right.js'
import { focusView } from '../parts/focus.js'
import { Icon } from '../parts/icons.js'
import { connection } from '../state/connection.js'
import { agents, followHome } from '../state/home.js'
import { followNeeds, needs, readNeeds } from '../state/needs.js'
import { findPlace } from '../state/places.js'
import { followRight, right } from '../state/right.js'
import { linkTo, type Route, route } from '../state/router.js'
import { useStore } from '../state/store.js'
import { nextTheme, theme } from '../state/theme.js'
import { title } from '../state/title.js'
import { AgentView } from './agent.js'
import { AgentsView } from './agents.js'
import { Help } from './help.js'
import { NeedsView } from './needs.js'
import { NewAgentView } from './new-agent.js'
import { Notes } from './notes.js'
import { SearchView } from './search.js'
import { useShortcuts } from './shortcuts.js'
import { SignIn } from './sign-in.js'
import { UsageView } from './usage.js'

export function App() {
  const state = useStore(connection)
  const [token, setToken] = useState(readToken())
  useEffect(() => {
    // A link with a token that is opened in this tab changes only the fragment.
    const look = (): void => {
      takeTokenFromAddress()
      setToken(readToken())
    }
    addEventListener('hashchange', look)
    return () => removeEventListener('hashchange', look)
  }, [])
  const enter = (given: string): void => {
    saveToken(given)
    connection.set('connecting')
    setToken(given)
  }
  if (token === null || state === 'refused') return <SignIn isRefused={state === 'refused'} onToken={enter} />
  return <Frame key={token} />
}

function Frame() {
  const [isHelpOpen, setHelpOpen] = useState(false)
  useEffect(() => {
    const abort = new AbortController()
    followRight(abort.signal)
    followNeeds(abort.signal)
    followHome(abort.signal)
    void readNeeds()
    return () => abort.abort()
  }, [])
  // The same function at each drawing: another one would forget the first key of a sequence.
  const openHelp = useCallback(() => setHelpOpen(true), [])
  useShortcuts(openHelp)
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Header onHelp={openHelp} />
      <main id="main" tabIndex={-1}>
        <Limit />
        <View />
      </main>
      <Notes />
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </>
  )
}

/** Says why buttons are missing. */
function Limit() {
  const limit = limitOf(useStore(right))
  return limit === undefined ? null : (
    <p class="limit" role="note">
      {limit}
    </p>
  )
}

function View() {
  const shown = useStore(route)
  const isLimited = limitOf(useStore(right)) !== undefined
  const place = shown.view === 'agent' ? shown.id : shown.view
  const before = useRef(place)
  useLayoutEffect(() => {
    findPlace()
    if (before.current === place) return
    before.current = place
    focusView()
  }, [shown])
  // The view of an agent has its name and status, once they are known.
  useEffect(() => title.set(TITLES[shown.view]), [place])
  switch (shown.view) {
    case 'agents':
      return <AgentsView />
    case 'agent':
      return <AgentView key={shown.id} id={shown.id} tab={shown.tab} />
    case 'new':
      return isLimited ? <AgentsView /> : <NewAgentView />
    case 'search':
      return <SearchView key={shown.text} text={shown.text} />
    case 'usage':
      return <UsageView />
    default:
      return <NeedsView />
  }
}

const TITLES: Record<Route['view'], string> = {
  needs: 'Needs you',
  agents: 'Agents',
  agent: 'Agent',
  new: 'New agent',
  usage: 'Usage',
  search: 'Search',
}

const TABS: { to: Exclude<Route, { view: 'agent' }>; icon: IconName }[] = [
  { to: { view: 'needs' }, icon: 'bell' },
  { to: { view: 'agents' }, icon: 'tree' },
  { to: { view: 'usage' }, icon: 'chart' },
  { to: { view: 'search', text: '' }, icon: 'search' },
]

function Header({ onHelp }: { onHelp: () => void }) {
  const { view } = useStore(route)
  const needing = useStore(needs)?.count ?? 0
  const total = useStore(agents)?.size
  return (
    <header class="top">
      <a class="brand" href={linkTo({ view: 'needs' })}>
        <img src="icon.svg" alt="" width="22" height="22" /> substrat
      </a>
      <nav aria-label="Views">
        {TABS.map(({ to, icon }) => (
          <a key={to.view} href={linkTo(to)} aria-current={isCurrent(to.view, view) ? 'page' : undefined}>
            <Icon name={icon} />
            <span>{TITLES[to.view]}</span>
            {to.view === 'needs' && needing > 0 && <span class="count alert">{needing}</span>}
            {to.view === 'agents' && total !== undefined && <span class="count">{total}</span>}
          </a>
        ))}
      </nav>
      <div class="tools">
        <ConnectionSign />
        <ThemeButton />
        <button
          type="button"
          class="icon-button"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={onHelp}
        >
          ?
        </button>
      </div>
    </header>
  )
}

function isCurrent(tab: string, view: Route['view']): boolean {
  return tab === view || (tab === 'agents' && (view === 'agent' || view === 'new'))
}

const SIGNS = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting', refused: 'Refused' } as const

function ConnectionSign() {
  const state = useStore(connection)
  return (
    <span class={`connection ${state}`} role="status">
      <span class="dot" aria-hidden="true" />
      {SIGNS[state]}
    </span>
  )
}

const THEME_ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const

function ThemeButton() {
  const current = useStore(theme)
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Colours: ${current}`}
      title={`Colours: ${current} (t)`}
      onClick={nextTheme}
    >
      <Icon name={THEME_ICONS[current]} />
    </button>
  )
}
