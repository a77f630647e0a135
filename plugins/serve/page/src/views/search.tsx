/** A text in the messages, tool calls and results of all agents. The text is in the address, so a reload and the back button work. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import { Problem } from '../api/problem.js'
import type { SearchMatch, SearchPage } from '../api/types.js'
import { toldOf } from '../model/problem-words.js'
import { agoText, dateText } from '../model/time.js'
import { Words } from '../parts/text.js'
import { agentLink, go } from '../state/router.js'

const LIMIT = 200

export function SearchView({ text }: { text: string }) {
  const [found, setFound] = useState<SearchPage | Problem>()
  const field = useRef<HTMLInputElement>(null)
  // With the drawing, so that no key that follows is lost or taken for a shortcut.
  useLayoutEffect(() => field.current?.focus(), [text])
  useEffect(() => {
    if (text === '') return
    const abort = new AbortController()
    call('searchRecords', { query: { text, limit: LIMIT }, signal: abort.signal }).then(
      setFound,
      (error) => error instanceof Problem && setFound(error),
    )
    return () => abort.abort()
  }, [text])
  return (
    <div class="column">
      <search>
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault()
            go({ view: 'search', text: field.current?.value ?? '' })
          }}
        >
          <h1>Search</h1>
          <label class="visually-hidden" for="search">
            Text in messages, tool calls and results
          </label>
          <input
            id="search"
            ref={field}
            type="search"
            maxLength={1000}
            placeholder="Text in all agents"
            defaultValue={text}
          />
          <button type="submit" class="primary">
            Search
          </button>
        </form>
      </search>
      <p class="hint" role="status">
        {text === '' ? 'In any case unless the text has a capital letter.' : summaryOf(found)}
      </p>
      {found !== undefined && !(found instanceof Problem) && <Matches found={found} />}
    </div>
  )
}

function summaryOf(found: SearchPage | Problem | undefined): string {
  if (found === undefined) return 'Searching…'
  if (found instanceof Problem) return toldOf(found).text
  const count = found.matches.length
  if (!found.is_end) return `The first ${count} records with the text. Search for more of it to see others.`
  return count === 0
    ? 'No record has the text.'
    : `${count} ${count === 1 ? 'record has' : 'records have'} the text.`
}

function Matches({ found }: { found: SearchPage }) {
  return (
    <>
      {found.damage !== null && (
        <p class="error" role="alert">
          Not everything could be searched: <Words text={found.damage} />
        </p>
      )}
      {groupsOf(found.matches).map(({ id, path, matches }) => (
        <section key={id} aria-label={`Records of ${path}`}>
          <h2>
            <a href={agentLink(id)}>
              <Words text={path} />
            </a>
          </h2>
          <ul class="found">
            {matches.map((match) => (
              <li key={match.seq} class="card">
                <span class="hint">
                  <Words text={match.tool ?? (match.role === 'operator' ? 'you' : match.role)} />{' '}
                  <time dateTime={match.ts} title={dateText(match.ts)}>
                    {agoText(match.ts)}
                  </time>
                </span>
                <Snippet match={match} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

/** In the order of the server: agents by their latest change, records by their place in the log. */
function groupsOf(matches: readonly SearchMatch[]): { id: string; path: string; matches: SearchMatch[] }[] {
  const groups = new Map<string, { id: string; path: string; matches: SearchMatch[] }>()
  for (const match of matches) {
    const { agent_id: id, path } = match
    const group = groups.get(id) ?? { id, path: path ?? id.slice(0, 8), matches: [] }
    group.matches.push(match)
    groups.set(id, group)
  }
  return [...groups.values()]
}

function Snippet({ match: { snippet, match } }: { match: SearchMatch }) {
  const [begin, end] = match as [number, number]
  return (
    <p>
      <Words text={snippet.slice(0, begin)} />
      <mark>
        <Words text={snippet.slice(begin, end)} />
      </mark>
      <Words text={snippet.slice(end)} />
    </p>
  )
}
