/** Times in the output of commands, in a zone that is not UTC. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'

const LOCAL = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+05:30/
const OTHERS = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?!\+05:30)/

test('are local and have their zone for a person, and are UTC in JSON', async () => {
  const house = House.ofProcesses({ TZ: 'Asia/Kolkata' })
  await house.ok('spawn', '--name', 'bot')
  await house.ok('send', 'bot', '--key', 'k', 'remember this')
  for (const words of [
    ['list'],
    ['show', 'bot'],
    ['log', 'bot'],
    ['search', 'remember'],
    ['export', 'bot'],
  ]) {
    const { stdout } = await house.ok(...words)
    expect(stdout, words.join(' ')).toMatch(LOCAL)
    expect(stdout, words.join(' ')).not.toMatch(OTHERS)
  }
  const { stderr } = await house.ok('send', 'bot', '--key', 'k', 'remember this')
  expect(stderr).toMatch(LOCAL)
  for (const words of [['list'], ['show', 'bot'], ['log', 'bot']]) {
    const { stdout } = await house.ok(...words, '--json')
    expect(stdout).toMatch(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/)
    expect(stdout).not.toMatch(LOCAL)
  }
})

test('the further lines of an entry of a log begin below its text', async () => {
  const house = House.ofProcesses({ TZ: 'Asia/Kolkata' })
  await house.ok('spawn', '--name', 'bot')
  await house.ok('send', 'bot', 'first\nsecond')
  const lines = (await house.ok('log', 'bot')).stdout.split('\n')
  const at = lines.findIndex((line) => line.endsWith('you: first'))
  expect(lines[at]?.indexOf('you:')).toBe(lines[at + 1]?.indexOf('second'))
})

test('an error has local time for a person, and the same time in UTC in JSON', async () => {
  const house = House.ofProcesses({ TZ: 'Asia/Kolkata' })
  const asks = { tools: [{ name: 'shell', input: { command: 'true' } }] }
  await house.spawn('bot', '--option', house.scenario('s.json', asks))
  const { stderr } = await house.run(['send', 'bot', 'go'])
  const local = LOCAL.exec(stderr)?.[0] ?? ''
  const utc = new Date(local.replace(' ', 'T')).toISOString().replace('.000Z', 'Z')
  const { error } = JSON.parse((await house.run(['wait', 'bot', '--json'])).stdout)
  expect(error.message).toContain(utc)
})
