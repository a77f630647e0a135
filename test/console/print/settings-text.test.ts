import { expect, test } from 'vitest'
import { settingsText } from '../../../src/console/print/settings-text.js'

const setting = (
  key: string,
  source: string,
  value: string | null,
): Parameters<typeof settingsText>[0][number] => ({
  key,
  value,
  source,
  default: '4',
  env: `SUBSTRAT_${key.toUpperCase()}`,
  help: 'maximum number of provider calls at once',
})
const SETTINGS = [setting('slots_max', 'default', '4'), setting('slots', 'config', '2')]

test('where the table is wider than the terminal, each description is below its setting', () => {
  expect(settingsText(SETTINGS, 50).split('\n')).toEqual([
    'KEY        FROM     VALUE',
    'slots_max  default  4',
    '    maximum number of provider calls at once',
    '    (SUBSTRAT_SLOTS_MAX)',
    'slots      config   2',
    '    maximum number of provider calls at once',
    '    (default: 4; SUBSTRAT_SLOTS)',
  ])
})

test('in a pipe and in a wide terminal it is a table', () => {
  expect(settingsText(SETTINGS, 200)).toBe(settingsText(SETTINGS))
  expect(settingsText(SETTINGS).split('\n')[2]).toBe(
    'slots      2      config   4        SUBSTRAT_SLOTS      maximum number of provider calls at once',
  )
})
