/** How provider-claude-code reads transcripts of the real claude. */
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Inspection } from '../../src/provider/contract.js'
import { claude, settings, transcriptPath, useTranscript } from './claude-code/support.js'

const SESSION = 'f0c0126f-de5f-4341-b292-5ae2d8c701e0'

/** The outcome without the usage. */
async function inspect(promptId: string | null): Promise<Inspection> {
  const { usage: _, models: __, ...outcome } = await inspectAll(promptId)
  return outcome as Inspection
}

function inspectAll(promptId: string | null): Promise<Inspection> {
  const state = { session_id: SESSION, is_begun: true, prompt_id: promptId }
  return claude.inspect(Buffer.from(JSON.stringify(state)), settings())
}

describe('a turn', () => {
  test('that the model ended itself is finished, and the text after its tools is the reply', async () => {
    useTranscript('finished', SESSION)
    const inspection = await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')
    expect(inspection).toEqual({ outcome: 'finished', reply: 'echo: USETOOL please []' })
  })

  test.each([
    ['interrupted', '98c96ea2-85d1-4170-8f25-85ddfc9506e7', 'was interrupted'],
    ['refused', 'ade091fc-fa3a-4046-8812-0dfb5e18ee2b', 'the API refused'],
  ])('(transcript %s, prompt %s) that %s is not finished', async (name, promptId) => {
    useTranscript(name, SESSION)
    expect(await inspect(promptId)).toEqual({ outcome: 'unfinished' })
  })

  test.each([
    ['killed-then-resumed', '470f23ee-6a1a-4359-943d-1a84b7fa7dff', '6043d30f-fa3f-46ee-8c26-b0f6d7669aba'],
    ['killed-in-text', '39487656-bc77-4e3d-9611-513a3258a110', 'e0773067-26d8-42d0-914b-7d36d09bba53'],
  ])(
    '(%s) that was killed is not finished, even after claude has resumed the session',
    async (name, first, next) => {
      const path = useTranscript(name, SESSION)
      const lines = readFileSync(path, 'utf8').split('\n')
      const upTo = (uuid: string): number => lines.findIndex((line) => line.includes(`"uuid":"${uuid}"`))
      expect(await inspect(next)).toEqual({ outcome: 'finished', reply: 'echo: go on recall [mark-one]' })
      // The reply to the later prompt, which a person may have typed in claude itself, is not the reply of this turn.
      expect(await inspect(first)).toEqual({ outcome: 'unfinished' })
      writeFileSync(path, `${lines.slice(0, upTo(next)).join('\n')}\n`)
      expect(await inspect(first)).toEqual({ outcome: 'unfinished' })
      // The prompt of this turn is missing, so earlier messages do not answer it.
      expect(await inspect(next)).toEqual({ outcome: 'unfinished' })
    },
  )

  test('that is finished keeps its reply when a person continues the session in claude itself', async () => {
    const path = useTranscript('finished', SESSION)
    const prompt = 'd88a8f82-995b-4ff0-9961-f4c79ed01d88'
    const before = await inspectAll(prompt)
    const entries = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => /"type":"(user|assistant)"/.test(line))
    // The same recorded turn again, under another prompt, with another reply.
    const later = entries.map((line) =>
      line
        .replaceAll('77fa9eea-ef56-4487-bf51-5e276ec0e8fc', '11111111-ef56-4487-bf51-5e276ec0e8fc')
        .replaceAll(prompt, '22222222-995b-4ff0-9961-f4c79ed01d88')
        .replaceAll('echo: USETOOL', 'echo: OTHER'),
    )
    appendFileSync(path, `${later.join('\n')}\n`)
    expect(await inspectAll(prompt)).toEqual(before)
    expect(before).toMatchObject({ outcome: 'finished', reply: 'echo: USETOOL please []' })
    const other = { outcome: 'finished', reply: 'echo: OTHER please []' }
    expect(await inspect('22222222-995b-4ff0-9961-f4c79ed01d88')).toEqual(other)
  })

  test('is finished exactly when its last line is complete', async () => {
    const path = useTranscript('finished', SESSION)
    const bytes = readFileSync(path)
    const end = bytes.lastIndexOf('{"type":"last-prompt"')
    const begin = bytes.lastIndexOf('\n', end - 2) + 1
    for (const size of [begin, begin + 1, Math.floor((begin + end) / 2), end - 2]) {
      truncateSync(path, size)
      expect(await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')).toEqual({ outcome: 'unfinished' })
      writeFileSync(path, bytes)
    }
    truncateSync(path, end - 1)
    expect(await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')).toMatchObject({ outcome: 'finished' })
  })

  test('is read despite NUL bytes, incomplete lines, subagents and entries that are not messages', async () => {
    const path = useTranscript('finished', SESSION)
    const subAgent = {
      type: 'assistant',
      isSidechain: true,
      message: { content: [], stop_reason: 'tool_use' },
    }
    const other = { type: 'attachment', attachment: { type: 'hook_success', hookEvent: 'Stop' } }
    appendFileSync(
      path,
      `${'\0'.repeat(4096)}\n{"type":"user","mess\n${JSON.stringify(subAgent)}\n${JSON.stringify(other)}\n`,
    )
    expect(await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')).toMatchObject({ outcome: 'finished' })
  })

  test.each([
    ['the user', { content: 'and then?' }, {}],
    ['a hook', { content: 'Stop hook feedback:\nrun the tests first' }, { isMeta: true }],
  ])('that %s continued after its end is not finished', async (_, message, facts) => {
    const path = useTranscript('finished', SESSION)
    const more = { type: 'user', message: { role: 'user', ...message }, ...facts }
    appendFileSync(path, `${JSON.stringify(more)}\n`)
    expect(await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')).toEqual({ outcome: 'unfinished' })
  })

  test('with several blocks in its reply has the text of all', async () => {
    const message = (text: string, stop_reason: string | null): string =>
      `${JSON.stringify({ type: 'assistant', message: { id: 'm', model: 'x', content: [{ type: 'text', text }], stop_reason } })}\n`
    writeFileSync(
      transcriptPath(SESSION),
      `${JSON.stringify({ type: 'user', uuid: 'p' })}\n${message('one, ', null)}${message('two', 'end_turn')}`,
    )
    expect(await inspect('p')).toEqual({ outcome: 'finished', reply: 'one, two' })
  })
})

describe('a turn that the model ended after its substrat was killed', () => {
  const line = (entry: object): string => `${JSON.stringify(entry)}\n`
  const use = (id: string, name: string): string =>
    line({
      type: 'assistant',
      message: { id, model: 'x', content: [{ type: 'tool_use', id, name }], stop_reason: 'tool_use' },
    })
  const result = (tool_use_id: string, is_error: boolean, facts: object = {}): string =>
    line({ type: 'user', message: { content: [{ type: 'tool_result', tool_use_id, is_error }] }, ...facts })
  const end = line({
    type: 'assistant',
    message: {
      id: 'm',
      model: 'x',
      content: [{ type: 'text', text: 'I give up.' }],
      stop_reason: 'end_turn',
    },
  })
  const heard = { finished: [] as string[], answered: 0, server: 'substrat' }
  const OWN = 'mcp__substrat__send_message'

  test.each<[string, string, Partial<typeof heard>, 'finished' | 'unfinished']>([
    [
      'is unfinished if a tool failed that substrat has not recorded',
      use('a', 'Bash') + result('a', true),
      {},
      'unfinished',
    ],
    [
      'is unfinished if that was a tool of a subagent',
      use('a', 'Bash') + result('a', true, { isSidechain: true }),
      {},
      'unfinished',
    ],
    [
      'is finished if substrat has recorded the failed tool',
      use('a', 'Bash') + result('a', true),
      { finished: ['a'] },
      'finished',
    ],
    [
      'is finished if its tools succeeded without substrat',
      use('a', 'Bash') + result('a', false),
      {},
      'finished',
    ],
    [
      'is unfinished if it called a substrat tool without an answer',
      use('a', OWN) + result('a', true),
      {},
      'unfinished',
    ],
    [
      'is unfinished if substrat answered all its calls but one',
      use('a', OWN) + result('a', false) + use('b', OWN) + result('b', true),
      { answered: 1 },
      'unfinished',
    ],
    [
      'is finished if substrat answered each of its calls',
      use('a', OWN) + result('a', true),
      { answered: 1 },
      'finished',
    ],
    ['is finished if it called no tool', '', {}, 'finished'],
  ])('%s', async (_, tools, known, outcome) => {
    const earlier = use('z', 'Bash') + result('z', true) + end
    writeFileSync(transcriptPath(SESSION), earlier + line({ type: 'user', uuid: 'p' }) + tools + end)
    const state = Buffer.from(JSON.stringify({ session_id: SESSION, is_begun: true, prompt_id: 'p' }))
    const options = { signal: new AbortController().signal, heard: { ...heard, ...known } }
    expect(await claude.inspect(state, settings(), options)).toMatchObject({ outcome })
    // While substrat lives, nothing is missing.
    expect(await claude.inspect(state, settings())).toMatchObject({ outcome: 'finished' })
  })
})

describe('the usage of a turn', () => {
  /** One message of the model. */
  const ONE = { input_tokens: 10, output_tokens: 5, cache_read_tokens: 0, cache_write_tokens: 0 }
  const TWO = { ...ONE, input_tokens: 20, output_tokens: 10 }
  const MODEL = 'claude-opus-4-8'

  test.each([
    ['finished', 'd88a8f82-995b-4ff0-9961-f4c79ed01d88', TWO],
    ['interrupted', '98c96ea2-85d1-4170-8f25-85ddfc9506e7', ONE],
    // Claude resumed the session after each of these two.
    ['killed-then-resumed', '470f23ee-6a1a-4359-943d-1a84b7fa7dff', ONE],
    ['killed-then-resumed', '6043d30f-fa3f-46ee-8c26-b0f6d7669aba', ONE],
  ])(
    '(transcript %s, prompt %s) is the sum over its messages, each once, with the model',
    async (name, promptId, usage) => {
      useTranscript(name, SESSION)
      expect(await inspectAll(promptId)).toMatchObject({ usage, models: [{ model: MODEL, ...usage }] })
    },
  )

  test.each([
    ['killed-in-text', '39487656-bc77-4e3d-9611-513a3258a110', 'was killed before its first message'],
    ['refused', 'ade091fc-fa3a-4046-8812-0dfb5e18ee2b', 'the API refused'],
  ])('(transcript %s, prompt %s) that %s is unknown', async (name, promptId) => {
    useTranscript(name, SESSION)
    const { usage, models } = await inspectAll(promptId)
    expect({ usage, models }).toEqual({})
  })

  test('counts cached input, and each model, also that of a subagent', async () => {
    const message = (id: string, model: string, isSidechain: boolean): string =>
      `${JSON.stringify({
        type: 'assistant',
        isSidechain,
        message: {
          id,
          model,
          content: [],
          usage: {
            input_tokens: 1,
            cache_creation_input_tokens: 20,
            cache_read_input_tokens: 300,
            output_tokens: 4,
          },
        },
      })}\n`
    const turn = message('a', 'x', false) + message('b', 'y', true) + message('c', 'x', false)
    writeFileSync(transcriptPath(SESSION), `${JSON.stringify({ type: 'user', uuid: 'p' })}\n${turn}`)
    const one = { input_tokens: 321, output_tokens: 4, cache_read_tokens: 300, cache_write_tokens: 20 }
    const times = (count: number): object =>
      Object.fromEntries(Object.entries(one).map(([field, tokens]) => [field, tokens * count]))
    expect(await inspectAll('p')).toMatchObject({
      usage: times(3),
      models: [
        { model: 'x', ...times(2) },
        { model: 'y', ...one },
      ],
    })
  })
})

describe('without a transcript', () => {
  test('a turn that was begun is unfinished', async () => {
    expect(await inspect('d88a8f82-995b-4ff0-9961-f4c79ed01d88')).toEqual({ outcome: 'unfinished' })
  })

  test('the outcome is unknown without a turn or without a state', async () => {
    expect(await inspect(null)).toEqual({ outcome: 'unknown' })
    expect(await claude.inspect(null, settings())).toEqual({ outcome: 'unknown' })
    expect(await claude.inspect(Buffer.from('\xff'), settings())).toEqual({ outcome: 'unknown' })
  })
})
