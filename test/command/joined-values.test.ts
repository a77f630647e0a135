/** A value in the same word as its flag, as the servers for other programs pass it, is never taken for a flag. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { PLUGIN_COMMANDS } from '../../src/start/entry-source.mjs'
import { House } from '../support/cli.js'
import { Random } from '../support/random.js'

interface Flag {
  name: string
  char?: string
  type: 'option' | 'boolean'
}

const MANIFEST = path.join(import.meta.dirname, '../../oclif.manifest.json')
const commands = Object.entries(
  (
    JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
      commands: Record<string, { flags: Record<string, Flag> }>
    }
  ).commands,
)
  // A plugin brings the parser of oclif with it, unchanged.
  .filter(([id]) => !Object.hasOwn(PLUGIN_COMMANDS, id))
  .map(([id, { flags }]) => ({ words: id.split(':'), flags: Object.values(flags) }))

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

/** Begins like a flag of the command. */
function flagLike(random: Random, flags: Flag[]): string {
  const { name, char } = random.pick(flags)
  const words = [`--${name}`, `--${name}=x`, `--no-${name}`, '--', '--help', '-h', '-']
  if (char !== undefined) words.push(`-${char}`, `-${char}q0x`, `-${char}=x`)
  return random.pick(words)
}

test(`every flag of every command takes a value that begins like a flag (seed ${seed})`, async () => {
  const house = new House()
  const random = new Random(seed)
  for (const { words, flags } of commands)
    for (const { name, char, type } of flags) {
      if (type !== 'option') continue
      const value = flagLike(random, flags)
      const joined = [`--${name}=${value}`, ...(char === undefined ? [] : [`-${char}${value}`])]
      for (const word of joined) {
        // The unknown flag ends the command before it does anything.
        const { exit, stderr } = await house.run([...words, word, '--no-such-flag'])
        expect(exit, `${words.join(' ')} ${word}: ${stderr}`).toBe(2)
        expect(stderr, `${words.join(' ')} ${word}`).not.toMatch(/needs a value|expects/)
      }
    }
})

describe('a value in the same word as its flag', () => {
  const flags = commands.flatMap((command) => command.flags)

  test(`arrives as it is, for each text that a client chooses (seed ${seed})`, async () => {
    const house = new House()
    const random = new Random(seed)
    const values = Array.from({ length: 12 }, () => flagLike(random, flags))
    for (const [index, value] of values.entries()) {
      const name = `a${index}`
      await house.spawn(name, `--system=${value}`, `--model=${value}`)
      const set = await house.ok('set', name, `--model=${value}2`, '--json')
      expect(set.json.agent.model).toBe(`${value}2`)
      expect((await house.ok('show', name, '--json')).json.instructions).toBe(value)
      const { json } = await house.ok('send', name, `--key=${value}`, '--json', '--', `say ${value}`)
      expect(json.reply).toBe(`echo: say ${value}`)
      expect(
        (await house.ok('send', name, `--key=${value}`, '--json', '--', `say ${value}`)).json.run.id,
      ).toBe(json.run.id)
    }
  })

  test('differs from a flag after a space, which leaves its predecessor without a value', async () => {
    const house = new House()
    await house.spawn('a')
    const { exit, stderr } = await house.run(['send', 'a', 'hi', '--key', '--json'])
    expect([exit, stderr]).toEqual([2, expect.stringContaining('the flag --key needs a value')])
  })
})
