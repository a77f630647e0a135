import { inputText } from 'substrat/entries'
/** The calls, or the question, that a turn waits for. */
import type { Wait } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { Code } from '../parts/code.js'
import { Words } from '../parts/text.js'

/** `asks`: with whole arguments; those of the wait are shortened. */
export function Asks({ wait, asks = wait.asks }: { wait: Wait; asks?: Pick<Ask, 'tool' | 'input'>[] }) {
  return (
    <div class="asks">
      {asks.map(({ tool, input }, index) => (
        <div key={index} class="ask">
          {wait.kind === 'input' ? (
            <p class="question">
              <Words text={inputText(input)} />
            </p>
          ) : (
            <>
              <p class="ask-tool">
                <Words text={tool} />
              </p>
              <Code text={longInput(input)} label={`Input of ${tool}`} />
            </>
          )}
        </div>
      ))}
      {wait.deadline_at !== null && (
        <p class="hint">
          Decide before{' '}
          <time dateTime={wait.deadline_at}>
            {dateText(wait.deadline_at)} ({agoText(wait.deadline_at)})
          </time>
        </p>
      )}
    </div>
  )
}

type Ask = Wait['asks'][number]

/** One text as it is; several fields one below the other. */
function longInput(input: Record<string, unknown>): string {
  const fields = Object.entries(input)
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return only[1]
  return fields
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`)
    .join('\n')
}
