/** Completion in bash, zsh and fish, as Debian packages them. */
import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { execa } from 'execa'
import { beforeAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Terminal } from '../support/terminal.js'

const house = new House()
const bin = path.join(house.root, 'bin')

beforeAll(async () => {
  mkdirSync(bin)
  symlinkSync(path.join(import.meta.dirname, '..', '..', 'bin', 'run.js'), path.join(bin, 'substrat'))
  await house.spawn('notes')
  await house.spawn('two words')
  await house.ok('set', 'two words', '--allow', 'shell(git status),write_file')
})

async function shell(name: string, args: string[], script: string): Promise<string[]> {
  const env = { ...house.env, PATH: `${bin}:${process.env.PATH}` }
  const { stdout } = await execa(name, [...args, script], { env, extendEnv: false, cwd: house.root })
  return stdout.split('\n').filter(Boolean)
}

/** The words that a shell offers for a command line that ends at the cursor. */
const OFFERS: Record<string, (...words: string[]) => Promise<string[]>> = {
  bash: (...words) =>
    shell(
      'bash',
      ['--norc', '-c'],
      `eval "$(substrat autocomplete bash)"; COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}
       COMP_LINE="\${COMP_WORDS[*]}"; COMP_POINT=\${#COMP_LINE}
       _substrat; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  zsh: (...words) =>
    shell(
      'zsh',
      ['-f', '-c'],
      `compdef() { :; }; _files() { print files; }; _describe() { print -rl -- "\${(@P)2}"; }
       eval "$(substrat autocomplete zsh)"; words=(${quoted(words)}); CURRENT=${words.length}; _substrat`,
    ),
  fish: (...words) =>
    shell(
      'fish',
      ['--no-config', '-c'],
      `substrat autocomplete fish | source; complete -C '${words.join(' ')}'`,
    ),
}

function quoted(words: string[]): string {
  return words.map((word) => `'${word}'`).join(' ')
}

describe.each(Object.keys(OFFERS))('%s', (name) => {
  const offers = async (...words: string[]): Promise<string[]> => {
    const lines = (await OFFERS[name]?.('substrat', ...words)) ?? []
    return lines.map((line) => line.replace(/(?<!\\):.*|\t.*/, ''))
  }

  test('completes commands', async () => {
    expect(await offers('term')).toEqual(['terminate'])
  })

  test('completes agents, flags and the values of flags after AGENT', async () => {
    expect(await offers('send', 'no')).toEqual(['notes'])
    expect(await offers('send', 'notes', '--if-b')).toEqual(['--if-busy'])
    expect((await offers('send', 'notes', '--if-busy', '')).sort()).toEqual(['fail', 'queue', 'wait'])
  })

  test('completes settings', async () => {
    expect(await offers('config', 'set', 'slots')).toEqual(['slots_max'])
  })

  test('offers a name with a space as one word', async () => {
    const [offer = '', ...others] = await offers('send', 'tw')
    expect(offer.replace('\\ ', ' ')).toBe('two words')
    expect(others).toEqual([])
  })

  test('lists the flags after --', async () => {
    expect(await offers('send', 'notes', '--')).toEqual(expect.arrayContaining(['--if-busy', '--key']))
  })
})

/** How a person starts a shell, and the line that loads the completion. */
const SHELLS: Record<string, [start: string, load: string]> = {
  bash: ['exec bash --norc --noprofile', 'PS1="$ "; eval "$(substrat autocomplete bash)"'],
  zsh: [
    'exec zsh -f',
    'PS1="$ "; autoload -Uz compinit; compinit -u -D; eval "$(substrat autocomplete zsh)"',
  ],
  fish: [
    'exec fish --no-config',
    "function fish_prompt; echo '$ '; end; substrat autocomplete fish | source",
  ],
}

test('bash completes a word behind an open quotation mark, and behind words that have some', async () => {
  const terminal = new Terminal(house)
  terminal.type('exec bash --norc --noprofile')
  terminal.type('PS1="$ "; eval "$(substrat autocomplete bash)"; echo is loaded')
  await terminal.shows(/^is loaded$/m)
  for (const [at, [typed, completed]] of [
    ['"tw', '"two words"'],
    ['"two w', '"two words"'],
    ["'two", "'two words'"],
    ['two\\ w', 'two\\ words'],
    ['"two words" --disallow "sh', '"two words" --disallow "shell(git status)"'],
    ['"two words" --disallow="shell(git s', '"two words" --disallow="shell(git status)"'],
    ['"two words" --disallow=wr', '"two words" --disallow=write_file'],
  ].entries()) {
    terminal.press('C-u')
    terminal.write(`substrat set ${typed}`)
    terminal.press('Tab')
    terminal.write(`X${at}`)
    expect(await terminal.shows(new RegExp(`X${at}$`, 'm'))).toContain(`substrat set ${completed} X${at}`)
  }
})

describe.each(Object.entries(SHELLS))('the Tab key in %s', (_name, [start, load]) => {
  const open = async (): Promise<Terminal> => {
    const terminal = new Terminal(house)
    terminal.type(start)
    terminal.type(`${load}; echo is loaded`)
    await terminal.shows(/^is loaded$/m)
    return terminal
  }

  test('lists the flags after --, and completes the value behind = once', async () => {
    const terminal = await open()
    terminal.write('substrat send notes --')
    terminal.press('Tab')
    // bash lists at the second one.
    terminal.press('Tab')
    expect(await terminal.shows('--turn-timeout')).toContain('--if-busy')
    for (const [typed, completed, next] of [
      ['--if-busy=q', '--if-busy=queue', 'X'],
      ['--allow=shell,wr', '--allow=shell,write_file', 'Y'],
    ] as const) {
      terminal.press('C-u')
      terminal.write(`substrat send notes ${typed}`)
      terminal.press('Tab')
      // A shell shows a suggestion in grey before the key, which the next letter would remove.
      terminal.write(next)
      const screen = await terminal.shows(new RegExp(` --[a-z-]+=\\S* ?${next}\\s*$`, 'm'))
      expect(screen).toContain(`send notes ${completed} ${next}`)
    }
  })
})
