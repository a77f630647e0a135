import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SETTINGS } from '../../src/command/settings.js'
import { rowsOf } from '../support/markdown.js'

test('docs/config.md has every key with its kind, default, variable and help', () => {
  const documented = rowsOf(readFileSync('docs/config.md', 'utf8'))
  const settings = Object.entries(SETTINGS).map(([key, setting]) => [
    key,
    setting.kind,
    setting.default ?? '-',
    setting.env,
    setting.help,
  ])
  expect(documented).toEqual(settings)
})
