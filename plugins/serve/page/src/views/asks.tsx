/** The calls that a turn waits for. */
import type { PendingCalls, Wait } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { Code } from '../parts/code.js'
import { Words } from '../parts/text.js'
import { visibleText } from '../parts/visible-text.js'

/** `asks`: with whole arguments; those of the wait are shortened. */
export function Asks({ wait, asks = wait.asks }: { wait: Wait; asks?: Asked[] }) {
  return (
    <div class="asks">
      {asks.map(({ tool, input, change, no_change: whyNone }, index) => (
        <div key={index} class="ask">
          <p class="ask-tool">
            <Words text={tool} />
          </p>
          <Code text={longInput(input, change?.fields)} label={`Input of ${tool}`} />
          {change !== undefined && <Diff change={change} />}
          {whyNone !== undefined && <p class="hint">{visibleText(whyNone)}</p>}
        </div>
      ))}
      <Deadline wait={wait} />
    </div>
  )
}

export function Deadline({ wait: { deadline_at: at } }: { wait: Wait }) {
  if (at === null) return null
  return (
    <p class="hint">
      Decide before{' '}
      <time dateTime={at}>
        {dateText(at)} ({agoText(at)})
      </time>
    </p>
  )
}

type PendingCall = PendingCalls['calls'][number]
type Asked = Pick<PendingCall, 'tool' | 'input' | 'change' | 'no_change'>

const SIGNS: Record<string, string> = { '+': 'added', '-': 'removed', '@': 'place' }

/** Each line keeps its sign, so that its colour is not all that tells it from others. */
function Diff({ change: { head, lines } }: { change: NonNullable<PendingCall['change']> }) {
  return (
    <figure aria-label="Change of the file">
      <figcaption class="hint">{visibleText(head)}</figcaption>
      {lines.length > 0 && (
        <pre class="diff">
          {lines.map((line, index) => (
            <span key={index} class={SIGNS[line.charAt(0)]} dir="auto">
              {visibleText(line).replaceAll('\n', ' ')}
            </span>
          ))}
        </pre>
      )}
    </figure>
  )
}

/** One text as it is; several fields one below the other. */
function longInput(input: Record<string, unknown>, hidden: readonly string[] = []): string {
  const fields = Object.entries(input).filter(([name]) => !hidden.includes(name))
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return only[1]
  return fields
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`)
    .join('\n')
}
