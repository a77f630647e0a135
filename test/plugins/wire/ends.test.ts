/** The tables of ends in docs/providers.md are those of the code, and each word ends an answer as they say. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pluginPart } from '../plugin-part.js'
import { type Dialect, readEvents } from './read.js'

type Ends = Record<string, string>

const [{ CHAT_ENDS }, { RESPONSES_ENDS }, { MESSAGES_ENDS }] = await Promise.all([
  pluginPart<{ CHAT_ENDS: Ends }>('provider-openai/src/chat-answer'),
  pluginPart<{ RESPONSES_ENDS: Ends }>('provider-openai/src/responses-answer'),
  pluginPart<{ MESSAGES_ENDS: Ends }>('provider-anthropic/src/answer'),
])

/** The row of each end. */
const ROWS: Record<string, string> = {
  completed: 'complete',
  'with calls': 'calls',
  'cut by length': 'cut',
  refused: 'refused',
  error: 'failed',
  malformed: 'malformed',
  paused: 'paused',
}
const DIALECTS: [dialect: Dialect, column: string, code: Ends][] = [
  ['chat', 'Chat Completions', CHAT_ENDS],
  ['responses', 'Responses', RESPONSES_ENDS],
  ['messages', 'Messages', MESSAGES_ENDS],
]

const docs = readFileSync(join(import.meta.dirname, '../../../docs/providers.md'), 'utf8')
const [, section = ''] = docs.split('### Ends of an answer\n')
const table = section.trim().split('\n\n')[0] as string
const [heads = [], , ...rows] = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))

/** The words of a column, by row. */
function wordsOf(column: string): [end: string, word: string][] {
  const at = heads.indexOf(column)
  return rows.flatMap((cells) =>
    [...(cells[at] ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']): [string, string] => [
      cells[1] ?? '',
      word,
    ]),
  )
}

const CALL = { name: 'shell', arguments: '{"command":"ls"}' }

/** An answer with this end: with a text, or with a call too. */
const ANSWERS: Record<Dialect, (word: string, withCall: boolean) => unknown[]> = {
  chat: (finish_reason, withCall) => [
    { choices: [{ delta: { content: 'said' }, finish_reason: null }] },
    ...(withCall ? [{ choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: CALL }] } }] }] : []),
    { choices: [{ delta: {}, finish_reason }] },
    '[DONE]',
  ],
  responses: (word, withCall) => {
    const isStatus = ['completed', 'failed', 'cancelled', 'in_progress', 'queued'].includes(word)
    const status = isStatus
      ? { status: word }
      : { status: 'incomplete', incomplete_details: { reason: word } }
    const call = { type: 'function_call', call_id: 'c', id: 'fc', ...CALL }
    const said = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'said' }] }
    const response = { ...status, output: [said, ...(withCall ? [call] : [])] }
    // An event that ends a response overrules these.
    if (word === 'in_progress' || word === 'queued') return [{ object: 'response', ...response }]
    return [{ type: isStatus ? 'response.completed' : 'response.incomplete', response }]
  },
  messages: (stop_reason, withCall) => [
    { type: 'message_start', message: {} },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'said' } },
    { type: 'content_block_stop', index: 0 },
    ...(withCall
      ? [
          {
            type: 'content_block_start',
            index: 1,
            content_block: { type: 'tool_use', id: 'c', name: CALL.name, input: JSON.parse(CALL.arguments) },
          },
          { type: 'content_block_stop', index: 1 },
        ]
      : []),
    { type: 'message_delta', delta: { stop_reason } },
    { type: 'message_stop' },
  ],
}

const RESULTS: Record<string, object> = {
  completed: { failure: undefined, text: 'said', stop: 'end', incomplete: undefined },
  'with calls': { failure: undefined, stop: 'tool_calls', incomplete: undefined, calls: [{ call_id: 'c' }] },
  'cut by length': { failure: undefined, text: 'said', stop: 'length', incomplete: undefined },
  refused: { failure: { type: 'refused' } },
  error: { failure: { type: 'server_error' } },
  malformed: { failure: { type: 'invalid_response' } },
  paused: { failure: undefined, text: 'said', stop: 'paused' },
}

describe.each(DIALECTS)('the ends of %s', (dialect, column, code) => {
  const words = wordsOf(column)

  test('are the same in the table of the documentation and in the code', () => {
    // In the Responses API an answer with calls has the same end as one without.
    const told = words.filter(([row, word]) => !(row === 'with calls' && code[word] === 'complete'))
    expect(Object.fromEntries(told.map(([row, word]) => [word, ROWS[row] ?? `row ${row}`]))).toEqual(code)
    expect(new Set(told.map(([, word]) => word)).size).toBe(told.length)
  })

  test.each(words)('%s: %s ends an answer as the table says', async (row, word) => {
    const answer = ANSWERS[dialect](word, row === 'with calls')
    expect(await readEvents(dialect, answer)).toMatchObject(RESULTS[row] as object)
    const upper = ANSWERS[dialect](word.toUpperCase(), row === 'with calls')
    if (dialect !== 'responses')
      expect(await readEvents(dialect, upper)).toMatchObject(RESULTS[row] as object)
  })

  test.each(['brand_new', 'constructor', '__proto__'])(
    'the reply stays and is marked after any other word (%s)',
    async (word) => {
      const read = await readEvents(dialect, ANSWERS[dialect](word, false))
      expect(read).toMatchObject({ text: 'said', stop: 'end', incomplete: word })
    },
  )

  test('with calls are marked too if there is no call', async () => {
    for (const [row, word] of words)
      if (row === 'with calls' && code[word] === 'calls')
        expect(await readEvents(dialect, ANSWERS[dialect](word, false))).toMatchObject({ incomplete: word })
  })
})
