/** `channel run --once` with the plugin of Telegram and the settings of docs/telegram.md. */
import { expect, test } from 'vitest'
import { House } from '../../support/cli.js'
import { newTelegram, refuse, type Shown } from '../../support/telegram.js'
import { settingsFor } from './plugin.js'

test('a whole conversation, with an approval by a button, after which nothing is shown twice', async () => {
  const [house, telegram] = [new House(), await newTelegram()]
  const call = { tools: [{ name: 'shell', input: { command: 'echo ran >> ran' } }] }
  await house.ok('config', 'set', 'channels', settingsFor(house, telegram.url, [call, { say: 'done' }]))
  telegram.write(123456789, 'run it')
  telegram.write(5, 'let me in')
  const first = await house.ok('channel', 'run', 'telegram', '--once')
  expect(first.stdout).toBe('telegram: 1 received, 1 ignored\n')
  expect(first.stderr).toContain('ignored a message from 5, who is not in senders')
  const [asks] = telegram.shown as [Shown]
  expect(asks.text).toMatch(/^I need approval to run this:\n\nshell: echo ran >> ran\n\nReply/)
  telegram.press(123456789, asks, 'Approve')
  await house.ok('channel', 'run', 'telegram', '--once')
  await house.ok('channel', 'run', 'telegram', '--once')
  expect(telegram.textsIn(123456789)).toEqual([asks.text, 'done'])
  expect(house.read('ran')).toBe('ran\n')
  expect(telegram.textsIn(5)).toEqual([])
})

test('a run for cron reads past any number of messages that are not for the bot', async () => {
  const [house, telegram] = [new House(), await newTelegram()]
  await house.ok('config', 'set', 'channels', settingsFor(house, telegram.url))
  for (let count = 0; count < 250; count++)
    telegram.post(123456789, { id: -100, type: 'group' }, { text: 'not for the bot' })
  telegram.write(123456789, 'for the bot')
  const { stdout } = await house.ok('channel', 'run', 'telegram', '--once')
  expect(stdout).toBe('telegram: 1 received, 0 ignored\n')
  expect(telegram.textsIn(123456789)).toHaveLength(1)
})

test('a wrong token ends the command with the reason, and is nowhere in the output or the home', async () => {
  const [house, telegram] = [new House(), await newTelegram()]
  await house.ok('config', 'set', 'channels', settingsFor(house, telegram.url))
  telegram.before = (_, response) => refuse(response, 401, 'Unauthorized')
  const { exit, stdout, stderr } = await house.run(['channel', 'run', 'telegram', '--once'])
  expect([exit, stdout]).toEqual([8, ''])
  expect(stderr).toContain(
    'the channel telegram cannot be used: Telegram gave no messages: it refuses the token of the bot (Unauthorized)',
  )
  expect(stderr).not.toContain('secret_token')
})
