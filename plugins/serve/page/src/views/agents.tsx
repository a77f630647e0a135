/** All agents as a tree, live. It draws only the rows in sight, so a home of ten thousand agents scrolls as well as one of ten. */
import { useMemo } from 'preact/hooks'
import type { ListedAgent, ShownAgent } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { type TreeRow, treeRows } from '../model/tree.js'
import { LOOKS, lookOf, nameOf, STOPPED } from '../model/words.js'
import { Badge } from '../parts/badge.js'
import { Icon } from '../parts/icons.js'
import { Words } from '../parts/text.js'
import { VirtualList } from '../parts/virtual.js'
import { agents } from '../state/home.js'
import { useMay } from '../state/right.js'
import { go, linkTo } from '../state/router.js'
import { knownShown, useShown } from '../state/shown.js'
import { Store, useStore } from '../state/store.js'
import { isStopped } from './controls.js'

const ROW_HEIGHT = 60

interface Filter {
  text: string
  word: string
  /** The agents whose branch is closed. */
  closed: ReadonlySet<string>
  /** The row under the cursor. */
  activeId?: string | undefined
}

/** Stays for a reader who opens an agent and comes back. */
const filter = new Store<Filter>({ text: '', word: '', closed: new Set() })

function change(part: Partial<Filter>): void {
  filter.set({ ...filter.value, ...part })
}

export function AgentsView() {
  const known = useStore(agents)
  const mayCreate = useMay('all')
  const { text, word, closed } = useStore(filter)
  const rows = useMemo(() => {
    const wanted = text === '' && word === '' ? undefined : matcher(text, word)
    return treeRows(known?.values() ?? [], closed, wanted)
  }, [known, closed, text, word])
  const toggle = (id: string, isOpen: boolean): void => {
    const next = new Set(closed)
    if (isOpen) next.delete(id)
    else next.add(id)
    change({ closed: next })
  }
  const onKey = (event: KeyboardEvent): void => {
    const [first] = rows
    if (first === undefined) return
    if (event.key === 'Enter') open(first)
    else if (event.key === 'ArrowDown') goToTree(first)
    else return
    event.preventDefault()
  }
  return (
    <div class="column full">
      <div class="bar">
        <h1>Agents</h1>
        <label class="visually-hidden" for="filter">
          Filter by name
        </label>
        <input
          id="filter"
          type="search"
          placeholder="Filter by name"
          value={text}
          onInput={(event) => change({ text: event.currentTarget.value })}
          onKeyDown={onKey}
        />
        <label class="visually-hidden" for="status">
          Status
        </label>
        <select id="status" value={word} onChange={(event) => change({ word: event.currentTarget.value })}>
          <option value="">Every status</option>
          {LOOKS.map((look) => (
            <option key={look.word}>{look.word}</option>
          ))}
        </select>
        {mayCreate && (
          <a class="button primary" href={linkTo({ view: 'new' })}>
            New agent
          </a>
        )}
        <span class="hint" role="status">
          {known === undefined ? 'Reading…' : `${rows.length} shown`}
        </span>
      </div>
      {known !== undefined && rows.length === 0 ? (
        <p class="empty">
          {known.size > 0
            ? 'No agent matches.'
            : `This home has no agents yet.${mayCreate ? ' Create one: New agent.' : ''}`}
        </p>
      ) : (
        <Tree rows={rows} onToggle={toggle} />
      )}
    </div>
  )
}

function matcher(text: string, word: string): (agent: ListedAgent) => boolean {
  const wanted = text.toLowerCase()
  return (agent) =>
    (word === '' || lookOf(agent).word === word) &&
    `${nameOf(agent)} ${topicOf(agent, knownShown(agent))} ${agent.id}`.toLowerCase().includes(wanted)
}

function Tree(props: { rows: readonly TreeRow[]; onToggle: (id: string, isOpen: boolean) => void }) {
  const { rows, onToggle } = props
  const { activeId } = useStore(filter)
  const active = rows.findIndex(({ agent }) => agent.id === activeId)
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[active]
    const move = (index: number): void =>
      change({ activeId: rows[Math.max(0, Math.min(rows.length - 1, index))]?.agent.id })
    if (event.key === 'ArrowDown') move(active + 1)
    else if (event.key === 'ArrowUp') move(active - 1)
    else if (event.key === 'Home') move(0)
    else if (event.key === 'End') move(rows.length - 1)
    else if (event.key === 'Enter' && row !== undefined) open(row)
    else if (event.key === 'ArrowRight' && row !== undefined && row.children > 0) onToggle(row.agent.id, true)
    else if (event.key === 'ArrowLeft' && row?.isOpen === true) onToggle(row.agent.id, false)
    else if (event.key === 'ArrowLeft' && row !== undefined) move(parentIndex(rows, active))
    else return
    event.preventDefault()
  }
  const onClick = ({ target }: MouseEvent): void => {
    const clicked = target as Element
    const id = clicked.closest('[role=treeitem]')?.id
    const row = rows.find((each) => rowId(each) === id)
    if (row === undefined) return
    if (row.children > 0 && clicked.closest('.toggle') !== null) onToggle(row.agent.id, !row.isOpen)
    else open(row)
  }
  return (
    <VirtualList
      rows={rows}
      rowHeight={ROW_HEIGHT}
      active={active}
      box={{
        role: 'tree',
        'aria-label': 'Agents',
        tabIndex: 0,
        'aria-activedescendant': active < 0 ? undefined : rowId(rows[active] as TreeRow),
        onKeyDown: onKey,
        onClick,
      }}
      draw={(row, index) => <Row row={row} isActive={index === active} />}
    />
  )
}

function goToTree({ agent }: TreeRow): void {
  change({ activeId: agent.id })
  document.querySelector<HTMLElement>('[role=tree]')?.focus()
}

function parentIndex(rows: readonly TreeRow[], from: number): number {
  const level = rows[from]?.level ?? 1
  for (let index = from - 1; index >= 0; index -= 1) if ((rows[index]?.level ?? 0) < level) return index
  return from
}

function rowId({ agent }: TreeRow): string {
  return `row-${agent.id}`
}

function open({ agent }: TreeRow): void {
  change({ activeId: agent.id })
  go({ view: 'agent', id: agent.id, tab: 'conversation' })
}

function topicOf(agent: ListedAgent, shown: ShownAgent | undefined): string {
  return ('title' in agent ? agent.title : null) ?? shown?.topic ?? ''
}

function Row({ row, isActive }: { row: TreeRow; isActive: boolean }) {
  const { agent, level } = row
  const shown = useShown(agent)
  const topic = topicOf(agent, shown)
  const isStuck = agent.status === 'running' && shown !== undefined && isStopped(shown)
  const preview = 'error' in agent ? agent.error.message : ((isStuck ? shown.trouble : shown?.preview) ?? '')
  return (
    <div
      id={rowId(row)}
      class={`row${isActive ? ' active' : ''}`}
      role="treeitem"
      tabIndex={-1}
      aria-selected={isActive}
      aria-level={level}
      aria-posinset={row.place}
      aria-setsize={row.siblings}
      aria-expanded={row.children > 0 ? row.isOpen : undefined}
      style={{ paddingInlineStart: `${0.75 + (Math.min(level, 12) - 1) * 1.25}rem` }}
    >
      {row.children > 0 ? (
        <span class={`toggle${row.isOpen ? ' open' : ''}`} aria-hidden="true">
          <Icon name="chevron" />
        </span>
      ) : (
        <span class="toggle" aria-hidden="true" />
      )}
      <span class="row-name">
        <span class="row-line">
          <Words text={level === 1 ? nameOf(agent) : lastPart(agent)} />
          {topic !== '' && (
            <span class="hint">
              <Words text={topic} />
            </span>
          )}
        </span>
        <span class={`row-line ${isStuck ? 'error' : 'hint'}`}>
          <Words text={preview} />
        </span>
      </span>
      <Badge look={'stopped' in agent ? STOPPED : lookOf(agent)} />
      <span class="row-mail">
        {'inbox' in agent && agent.inbox > 0 && (
          <>
            <Icon name="mail" />
            {agent.inbox}
            <span class="visually-hidden"> pending</span>
          </>
        )}
      </span>
      <span class="row-provider hint">{'provider' in agent ? agent.provider : ''}</span>
      {'updated_at' in agent ? (
        <time class="row-time hint" dateTime={agent.updated_at} title={dateText(agent.updated_at)}>
          {agoText(agent.updated_at)}
        </time>
      ) : (
        <span class="row-time" />
      )}
    </div>
  )
}

function lastPart(agent: ListedAgent): string {
  const name = nameOf(agent)
  return name.slice(name.lastIndexOf('/') + 1)
}
