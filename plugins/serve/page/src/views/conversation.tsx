import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { call } from '../api/client.js'
import type { SessionRecord } from '../api/types.js'
import { conversationOf, type Item, type ToolItem } from '../model/conversation.js'
import { bytesText, clockText, dateText, durationText } from '../model/time.js'
import type { Tone } from '../model/words.js'
import { ActionButton } from '../parts/action.js'
import { Code } from '../parts/code.js'
import { Icon } from '../parts/icons.js'
import { CopyButton, Plain, Prose, Words } from '../parts/text.js'
import { visibleText } from '../parts/visible-text.js'
import { outboxOf } from '../state/outbox.js'
import { reader } from '../state/reader.js'
import { useMay } from '../state/right.js'
import { go } from '../state/router.js'
import { useStore } from '../state/store.js'

/** `live`: the reply so far. */
export function ConversationView(props: {
  agentId: string
  records: readonly SessionRecord[]
  live: string
  isWhole: boolean
  onEarlier: () => void
}) {
  const { records, live } = props
  const you = useStore(reader)
  const items = useMemo(() => conversationOf(records, you), [records, you])
  const isFollowing = useRef(true)
  const newest = `${items.at(-1)?.seq} ${live.length}`
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
      {items.length === 0 && live === '' && <p class="empty">No turn yet.</p>}
      {items.map((item) => (
        <ItemView
          key={`${item.seq} ${item.type} ${item.type === 'tool' ? item.summary : ''}`}
          item={item}
          agentId={props.agentId}
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

function ItemView({ item, agentId }: { item: Item; agentId: string }) {
  switch (item.type) {
    case 'message':
      return (
        <article class={`message from-${item.from}`} aria-label={`${item.who}, ${clockText(item.at)}`}>
          <header>
            <Words text={item.who} /> <Time at={item.at} />
          </header>
          <Prose text={item.text} />
          <CopyButton text={item.text} />
          {item.prompt !== undefined && <TryAgain agentId={agentId} prompt={item.prompt} text={item.text} />}
        </article>
      )
    case 'reasoning':
      return (
        <details class="fold">
          <summary>
            <Icon name="thought" /> <span>Reasoning</span> <span class="hint">{bytesText(item.bytes)}</span>
          </summary>
          {item.text === '' ? <p class="hint">The provider encrypted it.</p> : <Prose text={item.text} />}
        </details>
      )
    case 'tool':
      return <ToolView item={item} />
    case 'event':
      return (
        <div class={`event tone-${item.tone}`}>
          <Icon name={EVENT_ICONS[item.tone]} />
          <div>
            <Words text={item.text} /> <Time at={item.at} />
            {item.detail !== undefined && <Plain text={item.detail} />}
            {item.trace !== undefined && (
              <details>
                <summary>Details for a report</summary>
                <Code text={item.trace} label="Details" />
              </details>
            )}
          </div>
        </div>
      )
  }
}

/** A copy of the conversation before the message, whose text waits in the composer of the new agent. */
function TryAgain({ agentId, prompt, text }: { agentId: string; prompt: string; text: string }) {
  const mayFork = useMay('all')
  if (!mayFork) return null
  const fork = async (): Promise<void> => {
    const { agent } = await call('forkAgent', { agent: agentId, body: { at: prompt } })
    outboxOf(agent.id).write(text)
    go({ view: 'agent', id: agent.id, tab: 'conversation' })
  }
  return (
    <ActionButton request={fork} done="This is a copy of the conversation up to here" look="plain">
      Try again from here
    </ActionButton>
  )
}

const EVENT_ICONS = { run: 'play', wait: 'hand', bad: 'bolt', good: 'check', calm: 'stop' } as const

const STATES: Record<ToolItem['state'], { word: string; tone: Tone }> = {
  asked: { word: 'asked', tone: 'calm' },
  running: { word: 'running', tone: 'run' },
  done: { word: 'done', tone: 'good' },
  failed: { word: 'failed', tone: 'bad' },
  elsewhere: { word: 'result from elsewhere', tone: 'wait' },
}

function ToolView({ item }: { item: ToolItem }) {
  const { word, tone } = STATES[item.state]
  return (
    <details class="fold tool">
      <summary>
        <Icon name="tool" />
        <strong>
          <Words text={item.tool} />
        </strong>
        <span class="fold-text" dir="auto">
          {visibleText(item.summary).slice(0, 300)}
        </span>
        <span class={`state tone-${tone}`}>
          {word}
          {item.tookMs !== undefined && `, ${durationText(item.tookMs)}`}
        </span>
      </summary>
      {item.input !== undefined && <Code text={JSON.stringify(item.input, null, 2)} label="Input" />}
      {item.output !== '' && <Code text={item.output} label="Output" />}
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
