import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SETTINGS } from '../../src/schema/settings.js'

test('docs/config.md has every key with its kind, default and help', () => {
  const page = readFileSync('docs/config.md', 'utf8')
  const documented = [...page.matchAll(/^- `([^`]+)` \((\w+), (.+?)\): (.*)$/gm)]
  const settings = Object.entries(SETTINGS).map(([key, setting]) => [
    key,
    setting.kind,
    setting.default === null || setting.default === undefined ? '-' : `\`${setting.default}\``,
    setting.help,
  ])
  expect(documented.map(([, ...parts]) => parts)).toEqual(settings)
})

test('every setting has the environment variable that docs/config.md names', () => {
  for (const [key, { env }] of Object.entries(SETTINGS))
    expect(env).toBe(`SUBSTRAT_${key.replaceAll('.', '_').toUpperCase()}`)
})
