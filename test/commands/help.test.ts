import { readdirSync } from 'node:fs'
import path from 'node:path'
import { Config, Help } from '@oclif/core'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

const house = new House()
const repository = path.join(import.meta.dirname, '..', '..')
const commands = readdirSync(path.join(repository, 'commands'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length).split(path.sep))

/** What `substrat help` prints of each command: a process for every page would take longer than all of them. */
class Pages extends Help {
  readonly lines: string[] = []

  protected override log(...words: string[]): void {
    this.lines.push(...words)
  }

  static async of(words: string[]): Promise<string> {
    const pages = new Pages(await config, { stripAnsi: true })
    await pages.showHelp(words)
    return `${pages.lines.join('\n')}\n`
  }
}

const config = Config.load(repository)

describe.concurrent('help', () => {
  test('lists every command, and is the same for help, --help, -h and no words', async () => {
    const pages = await Promise.all([['help'], ['--help'], ['-h'], []].map((args) => house.ok(...args)))
    for (const [topic] of commands) expect(pages[0]?.stdout).toMatch(new RegExp(`^  ${topic} +\\S`, 'm'))
    expect(new Set(pages.map(({ stdout }) => stdout)).size).toBe(1)
  })

  test.each(commands.map((words) => words.join(' ')))(
    'of %s says what it does, how it is used, with an example',
    async (command) => {
      const stdout = await Pages.of(command.split(' '))
      const [summary = ''] = stdout.split('\n')
      expect(summary).toMatch(/^[A-Z].*[.;:]?/)
      expect(stdout).toContain(`$ substrat ${command}`)
      expect(stdout).toMatch(/^EXAMPLES$/m)
      // Every line fits, but for an example that is pasted as it is.
      const [described = ''] = stdout.split('\nEXAMPLES')
      for (const line of described.split('\n').slice(1)) expect(line.length, line).toBeLessThanOrEqual(80)
    },
  )

  test('of a command is the same for --help, which runs nothing', async () => {
    const [help, flag] = await Promise.all([
      house.ok('help', 'send'),
      house.ok('send', 'nobody', 'x', '--help'),
    ])
    expect(flag.stdout).toBe(help.stdout)
    expect(await Pages.of(['send'])).toBe(help.stdout)
    expect(house.exists()).toBe(false)
  })
})

describe.concurrent('other words', () => {
  test('--version prints the version', async () => {
    expect((await house.ok('--version')).stdout).toMatch(/^substrat\/\d+\.\d+\.\d+ \S+ node-v[\d.]+\n$/)
  })

  test('a command that does not exist is exit 2, in a sentence, and with --json in an object', async () => {
    for (const words of [['nonsense'], ['config', 'nonsense'], ['sned', 'a', 'hello']]) {
      const [person, program] = await Promise.all([house.run(words), house.run([...words, '--json'])])
      expect(person).toMatchObject({ exit: 2, stdout: '' })
      expect(person.stderr).toMatch(/^substrat: [^\n]+ \(substrat help\)\n$/)
      expect([program.exit, program.json.error.code]).toEqual([2, 'USAGE'])
    }
  })

  test('plugins and autocomplete work', async () => {
    expect((await house.ok('plugins')).stdout).toBe('No plugins installed.\n')
    expect((await house.ok('plugins', '--core')).stdout).toContain('@oclif/plugin-plugins')
    expect((await house.ok('autocomplete', 'bash')).stdout).toContain('substrat autocomplete script bash')
  })

  test('providers lists the built-in ones', async () => {
    const { json } = await house.ok('providers', '--json')
    expect(json.providers.map(({ name, kind }: Record<string, string>) => [name, kind])).toEqual([
      ['scripted', 'model'],
      ['exec', 'agent'],
    ])
    const { stdout } = await house.ok('providers')
    expect(stdout).toMatch(
      /^NAME +KIND +FROM +WHAT IT IS\nscripted +model +built-in +\S.*\nexec +agent +built-in +\S.*\n$/,
    )
  })
})
