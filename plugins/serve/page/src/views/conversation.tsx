import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { SessionRecord } from '../api/types.js'
import { conversationOf, type Entry, type ToolEntry } from '../model/conversation.js'
import { bytesText, clockText, dateText, durationText } from '../model/time.js'
import type { Tone } from '../model/words.js'
import { Icon } from '../parts/icons.js'
import { Code, Prose, visibleText, Words } from '../parts/text.js'

/** `live`: the reply so far. */
export function ConversationView(props: {
  records: readonly SessionRecord[]
  live: string
  isWhole: boolean
  onEarlier: () => void
}) {
  const { records, live } = props
  const entries = useMemo(() => conversationOf(records), [records])
  const isFollowing = useRef(true)
  const newest = `${entries.at(-1)?.seq} ${live.length}`
  useLayoutEffect(() => {
    if (isFollowing.current) scrollTo(0, document.documentElement.scrollHeight)
    const look = (): void => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement
      isFollowing.current = scrollHeight - clientHeight - scrollTop < 160
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [newest])
  return (
    <section class="conversation" aria-label="Conversation">
      {!props.isWhole && (
        <button type="button" class="plain" onClick={props.onEarlier}>
          Show earlier records
        </button>
      )}
      {entries.length === 0 && live === '' && <p class="empty">No turn yet.</p>}
      {entries.map((entry) => (
        <EntryView
          key={`${entry.seq} ${entry.type} ${entry.type === 'tool' ? entry.summary : ''}`}
          entry={entry}
        />
      ))}
      {live !== '' && (
        <article class="message from-agent live" aria-label="Reply so far">
          <header>
            agent <span class="hint">writing…</span>
          </header>
          <Prose text={live} />
        </article>
      )}
    </section>
  )
}

function EntryView({ entry }: { entry: Entry }) {
  switch (entry.type) {
    case 'message':
      return (
        <article class={`message from-${entry.from}`} aria-label={`${entry.who}, ${clockText(entry.at)}`}>
          <header>
            <Words text={entry.who} /> <Time at={entry.at} />
          </header>
          <Prose text={entry.text} />
        </article>
      )
    case 'reasoning':
      return (
        <details class="fold">
          <summary>
            <Icon name="thought" /> <span>Reasoning</span> <span class="hint">{bytesText(entry.bytes)}</span>
          </summary>
          {entry.text === '' ? <p class="hint">The provider encrypted it.</p> : <Prose text={entry.text} />}
        </details>
      )
    case 'tool':
      return <ToolView entry={entry} />
    case 'event':
      return (
        <div class={`event tone-${entry.tone}`}>
          <Icon name={EVENT_ICONS[entry.tone]} />
          <div>
            <Words text={entry.text} /> <Time at={entry.at} />
            {entry.detail !== undefined && <Prose text={entry.detail} />}
          </div>
        </div>
      )
  }
}

const EVENT_ICONS = { run: 'play', wait: 'hand', bad: 'bolt', good: 'check', calm: 'stop' } as const

const STATES: Record<ToolEntry['state'], { word: string; tone: Tone }> = {
  asked: { word: 'asked', tone: 'calm' },
  running: { word: 'running', tone: 'run' },
  done: { word: 'done', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  elsewhere: { word: 'result from elsewhere', tone: 'wait' },
}

function ToolView({ entry }: { entry: ToolEntry }) {
  const { word, tone } = STATES[entry.state]
  return (
    <details class="fold tool">
      <summary>
        <Icon name="tool" />
        <strong>
          <Words text={entry.tool} />
        </strong>
        <span class="fold-text" dir="auto">
          {visibleText(entry.summary).slice(0, 300)}
        </span>
        <span class={`state tone-${tone}`}>
          {word}
          {entry.tookMs !== undefined && `, ${durationText(entry.tookMs)}`}
        </span>
      </summary>
      {entry.input !== undefined && <Code text={JSON.stringify(entry.input, null, 2)} label="Input" />}
      {entry.output !== '' && <Code text={entry.output} label="Output" />}
    </details>
  )
}

function Time({ at }: { at: string }) {
  return (
    <time class="hint" dateTime={at} title={dateText(at)}>
      {clockText(at)}
    </time>
  )
}
