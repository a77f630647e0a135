import { readdirSync } from 'node:fs'
import path from 'node:path'
import { Config } from '@oclif/core'
import { describe, expect, test } from 'vitest'
import { SubstratHelp } from '../../src/command/help.js'
import { EXIT_MEANINGS } from '../../src/console/exit-codes.js'
import { EXIT_STATUS } from '../../src/errors.js'
import { House } from '../support/cli.js'

const house = new House()
const repository = path.join(import.meta.dirname, '..', '..')
const commands = readdirSync(path.join(repository, 'commands'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length).split(path.sep))

/** The help page of each command, printed in one process: a process for every page would take too long. */
class Pages extends SubstratHelp {
  readonly lines: string[] = []

  protected override log(...words: string[]): void {
    this.lines.push(...words)
  }

  static async of(words: string[], maxWidth = 80): Promise<string> {
    const pages = new Pages(await config, { stripAnsi: true, maxWidth })
    await pages.showHelp(words)
    return `${pages.lines.join('\n')}\n`
  }
}

const config = Config.load(repository)

describe.concurrent('help', () => {
  test('begins with the twelve commands of the first day, also for --help, -h and no words', async () => {
    const pages = await Promise.all([['help'], ['--help'], ['-h'], []].map((args) => house.ok(...args)))
    const page = pages[0]?.stdout ?? ''
    expect(page.match(/^[A-Z ]+$/gm)).toEqual(['USAGE', 'QUICK START', 'COMMANDS', 'MORE'])
    expect(
      page.slice(page.indexOf('\nCOMMANDS'), page.indexOf('\nMORE')).match(/^ {2}[a-z]+ +[A-Z]/gm),
    ).toHaveLength(12)
    expect(page).toContain('substrat help --all')
    for (const line of page.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(new Set(pages.map(({ stdout }) => stdout)).size).toBe(1)
  })

  test('with --all lists every command in one group', async () => {
    const pages = await Promise.all(
      [
        ['help', '--all'],
        ['--help', '--all'],
      ].map((args) => house.ok(...args)),
    )
    const page = pages[0]?.stdout ?? ''
    expect(page.match(/^[A-Z ]+$/gm)).toEqual([
      ...['START', 'TALK', 'SCHEDULE', 'DECIDE', 'OPERATE', 'PLUGINS', 'REPAIR'],
    ])
    const groups = `\n${page}`
    for (const words of [...commands, ['serve'], ['store', 'init']].filter(([word]) => word !== 'complete'))
      expect(groups.match(new RegExp(`^  ${words.join(' ')} +[A-Z]`, 'gm')), words.join(' ')).toHaveLength(1)
    for (const line of page.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(new Set(pages.map(({ stdout }) => stdout)).size).toBe(1)
  })

  test('has no line, except commands, that is wider than a narrow terminal', async () => {
    const pages = await Promise.all(commands.map((words) => Pages.of([words.join(':')], 60)))
    const text = [...pages, await Pages.of([], 60)].map((page) => page.split('\nEXAMPLES')[0] ?? '')
    const lines = text.flatMap((page) => page.split('\n'))
    expect(lines.length).toBeGreaterThan(1000)
    for (const line of lines) if (!/^ +\$ /.test(line)) expect(line.length, line).toBeLessThanOrEqual(60)
  })

  test('offers --no-ask for exactly the commands that ask about a turn that waits', async () => {
    const asking = []
    for (const words of commands)
      if ((await Pages.of([words.join(':')])).includes('no-]ask')) asking.push(words.join(' '))
    expect(asking.sort()).toEqual([
      'answer',
      'approve',
      'deliver',
      'deny',
      'resume',
      'retry',
      'send',
      'spawn',
    ])
  })

  test('lists every exit code', async () => {
    const page = await Pages.of(['exit-codes'])
    for (const status of Object.values(EXIT_STATUS)) {
      expect(EXIT_MEANINGS.has(status), String(status)).toBe(true)
      expect(page).toMatch(new RegExp(`^  ${status} +\\S`, 'm'))
    }
    expect((await house.ok('help', 'exit-codes')).stdout).toBe(page)
  })

  test.each(commands.map((words) => words.join(' ')))(
    'of %s says what it does, how it is used, with an example',
    async (command) => {
      const stdout = await Pages.of([command.replaceAll(' ', ':')])
      const [summary = ''] = stdout.split('\n')
      expect(summary).toMatch(/^[A-Z].*[.;:]?/)
      expect(stdout).toContain(`$ substrat ${command}`)
      expect(stdout).toMatch(/^EXAMPLES$/m)
      // Every line fits, except an example, which must be pasted unchanged.
      const [described = ''] = stdout.split('\nEXAMPLES')
      for (const line of described.split('\n').slice(1)) expect(line.length, line).toBeLessThanOrEqual(80)
    },
  )

  test('prints the page of a command also for --help, which runs nothing', async () => {
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

  test('a word with a typing error has a suggestion', async () => {
    const inhabited = new House()
    await inhabited.ok('spawn', '--name', 'notes')
    for (const [words, meant] of [
      [['sned', 'a'], 'send'],
      [['config', 'gte', 'model'], 'config get'],
      [['help', 'recovr'], 'recover'],
      [['spawn', '--nmae', 'x'], '--name'],
      [['config', 'get', 'slot_max'], 'slots_max'],
      [['show', 'note'], 'notes'],
    ] as const)
      expect((await inhabited.run([...words])).stderr).toContain(`; did you mean ${meant}? (`)
    expect((await inhabited.run(['nonsense'])).stderr).not.toContain('did you mean')
  })

  test('plugins works', async () => {
    expect((await house.ok('plugins')).stdout).toBe(
      'no plugin is installed; those that come with substrat: substrat plugins --core\n',
    )
    expect((await house.ok('plugins', '--core')).stdout).toContain('substrat-provider-openai')
  })

  test('providers lists the built-in ones first, then the official ones', async () => {
    const { json } = await house.ok('providers', '--json')
    expect(json.providers.map(({ name, kind }: Record<string, string>) => [name, kind])).toEqual([
      ['scripted', 'model'],
      ['exec', 'agent'],
      ['acp', 'agent'],
      ['anthropic', 'model'],
      ['claude-code', 'agent'],
      ['codex', 'agent'],
      ['openai', 'model'],
      ['opencode', 'agent'],
    ])
    const { stdout } = await house.ok('providers')
    expect(stdout).toMatch(
      /^NAME +KIND +FROM +DESCRIPTION\nscripted +model +built-in +\S.*\n {4}scenario +.*\nexec +agent +built-in +\S.*\n {4}command +.*\n {4}history +.*\nacp +agent +substrat-provider-acp /,
    )
  })
})
