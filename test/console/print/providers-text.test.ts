import { describe, expect, test } from 'vitest'
import { providersText } from '../../../src/console/print/providers-text.js'
import { displayWidth } from '../../../src/console/print/width.js'

const OPENAI = {
  name: 'openai',
  kind: 'model' as const,
  plugin: 'substrat-provider-openai',
  version: '0.1.0',
  description: 'models of OpenAI, and of any server with one of its two APIs',
  options: {
    base_url: 'URL of the API, with its /v1 (OPENAI_BASE_URL, else https://api.openai.com/v1)',
    api: 'responses or chat',
  },
  defaults: {},
  keys: ['OPENAI_API_KEY'],
}

describe('the list of providers', () => {
  test('has the keys and options of each provider below its line', () => {
    expect(providersText([OPENAI], Number.POSITIVE_INFINITY, () => false)).toBe(
      `NAME    KIND   FROM                            DESCRIPTION
openai  model  substrat-provider-openai 0.1.0  models of OpenAI, and of any server with one of its two APIs
    keys      from the environment: OPENAI_API_KEY (not set)
    base_url  URL of the API, with its /v1 (OPENAI_BASE_URL, else https://api.openai.com/v1)
    api       responses or chat`,
    )
    expect(providersText([OPENAI], Number.POSITIVE_INFINITY, () => true)).toContain('OPENAI_API_KEY (set)')
  })

  test.for([60, 80, 100, 200])('fits %i columns and breaks only between words', (columns) => {
    const text = providersText([OPENAI], columns, () => false)
    for (const line of text.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    const words = (all: string): string[] => all.split(/\s+/)
    expect(words(text)).toEqual(words(providersText([OPENAI], Number.POSITIVE_INFINITY, () => false)))
  })
})
