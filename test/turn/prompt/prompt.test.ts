import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import { assemblePrompt, findSkill, type PromptPlaces } from '../../../src/turn/prompt/prompt.js'
import { tempDirectory } from '../../support/temp.js'

let repository: string
let places: PromptPlaces

beforeEach(() => {
  repository = tempDirectory()
  places = { workspace: join(repository, 'packages', 'one'), home: tempDirectory() }
  mkdirSync(places.workspace, { recursive: true })
})

function write(file: string, text: string): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const inWorkspace = (name: string, text: string): string => write(join(places.workspace, name), text)
const inHome = (name: string, text: string): string => write(join(places.home, name), text)
const part = (path: string, text: string): string => `<file path="${path}">\n${text}\n</file>`

describe('without any file', () => {
  test('the prompt is the instructions', () => {
    expect(assemblePrompt(places, 'Be brief.')).toEqual({ instructions: 'Be brief.', sources: [] })
  })

  test('and without instructions, the prompt is empty', () => {
    expect(assemblePrompt(places, null)).toEqual({ instructions: null, sources: [] })
  })
})

test('AGENTS.md is read from the root of the repository down to the workspace, and not from above the root', () => {
  write(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main\n')
  const root = write(join(repository, 'AGENTS.md'), 'of the root')
  const middle = write(join(repository, 'packages', 'AGENTS.md'), 'of the packages')
  const own = inWorkspace('AGENTS.md', 'of the workspace')
  const { instructions, sources } = assemblePrompt(places, 'Be brief.')
  expect(instructions).toBe(
    [
      'Be brief.',
      part(root, 'of the root'),
      part(middle, 'of the packages'),
      part(own, 'of the workspace'),
    ].join('\n\n'),
  )
  expect(sources.map(({ path }) => path)).toEqual([root, middle, own])
})

test('a worktree, where .git is a file, is a repository', () => {
  write(join(repository, 'AGENTS.md'), 'above')
  write(join(repository, 'packages', '.git'), 'gitdir: elsewhere')
  const own = write(join(repository, 'packages', 'AGENTS.md'), 'of the worktree')
  expect(assemblePrompt(places, null).sources.map(({ path }) => path)).toEqual([own])
})

test('outside of any repository only the AGENTS.md of the workspace is read', () => {
  write(join(repository, 'AGENTS.md'), 'above')
  // Some sandboxes create an empty .git above the directory in which they run.
  mkdirSync(join(repository, '.git'))
  const own = inWorkspace('AGENTS.md', 'own')
  expect(assemblePrompt(places, null)).toEqual({
    instructions: part(own, 'own'),
    sources: [{ path: own, bytes: 3, cut: 0 }],
  })
})

test('identity.md and memory.md are read from the home, then from the workspace', () => {
  const paths = [
    inHome('identity.md', 'a'),
    inHome('memory.md', 'b'),
    inWorkspace('.substrat/identity.md', 'c'),
    inWorkspace('.substrat/memory.md', 'd'),
  ]
  expect(assemblePrompt(places, null).sources.map(({ path }) => path)).toEqual(paths)
})

describe('skills', () => {
  test('are listed by name and description; their text is recorded as left out of the prompt', () => {
    const deploy = inHome(
      'skills/deploy/SKILL.md',
      '---\nname: deploy\ndescription: How to deploy.\n---\nsecret body',
    )
    const review = inWorkspace('.substrat/skills/review/SKILL.md', '\n# Reviewing code\nmore')
    const { instructions, sources } = assemblePrompt(places, null)
    expect(instructions).toBe(
      'Skills (read one with read_skill when it helps):\n- deploy: How to deploy.\n- review: Reviewing code',
    )
    expect(sources).toEqual([
      { path: deploy, bytes: 60, cut: 60 },
      { path: review, bytes: 22, cut: 22 },
    ])
  })

  test('in the workspace override those of the same name in the home', () => {
    inHome('skills/deploy/SKILL.md', 'the old way')
    inWorkspace('.substrat/skills/deploy/SKILL.md', 'the new way')
    expect(assemblePrompt(places, null).instructions).toContain('- deploy: the new way')
    expect(findSkill(places, 'deploy', 100)).toBe('the new way')
  })

  test('need a SKILL.md', () => {
    inHome('skills/empty/README.md', 'x')
    inHome('skills/file', 'x')
    expect(assemblePrompt(places, null)).toEqual({ instructions: null, sources: [] })
  })

  test.each(['>', '>-', '|', ''])(
    'with a description in the lines below (%s) are listed by those',
    (mark) => {
      inHome(
        'skills/a/SKILL.md',
        `---\nname: a\ndescription: ${mark}\n  How to\n  deploy.\nlicense: x\n---\nbody`,
      )
      expect(assemblePrompt(places, null).instructions).toMatch(/- a: How to deploy\.$/)
    },
  )

  test('with a very long description are listed with its beginning', () => {
    inHome('skills/long/SKILL.md', `description: ${'x'.repeat(10_000)}`)
    expect(assemblePrompt(places, null).instructions).toMatch(/- long: x{500}$/)
  })

  test('over the limit are counted in the prompt', () => {
    const bytes = limits.promptFileBytesMax
    for (const folder of [places.home, join(places.workspace, '.substrat')])
      for (const name of ['identity.md', 'memory.md']) write(join(folder, name), 'x'.repeat(bytes - 250))
    for (const name of ['a', 'b', 'c']) inHome(`skills/${name}/SKILL.md`, `description: ${'d'.repeat(400)}`)
    const { instructions, sources } = assemblePrompt(places, null)
    expect(instructions).toMatch(/- a: d+\n- b: d+\n\[… 1 more skills are left out\]$/)
    expect(sources).toHaveLength(6)
  })
})

describe('the prompt', () => {
  test('has the beginning of a file that is too long, and the cut is marked and recorded', () => {
    const path = inWorkspace('AGENTS.md', 'x'.repeat(limits.promptFileBytesMax + 5))
    const { instructions, sources } = assemblePrompt(places, null)
    expect(instructions).toContain(
      `x\n[… 5 of its ${limits.promptFileBytesMax + 5} bytes are left out]\n</file>`,
    )
    expect(sources).toEqual([{ path, bytes: limits.promptFileBytesMax + 5, cut: 5 }])
  })

  test('has a bound for all files together', () => {
    write(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    for (const folder of [repository, dirname(places.workspace), places.workspace])
      write(join(folder, 'AGENTS.md'), 'x'.repeat(limits.promptFileBytesMax))
    for (const name of ['identity.md', 'memory.md']) inHome(name, 'y'.repeat(limits.promptFileBytesMax))
    const { instructions, sources } = assemblePrompt(places, null)
    expect(sources.map(({ cut }) => cut)).toEqual([0, 0, 0, 0, limits.promptFileBytesMax])
    expect(Buffer.byteLength(instructions ?? '')).toBeLessThan(limits.promptBytesMax + 2000)
  })
})

test('a FIFO in place of a file is skipped and does not block', () => {
  execFileSync('mkfifo', [join(places.workspace, 'AGENTS.md'), join(places.home, 'memory.md')])
  mkdirSync(join(places.home, 'identity.md'))
  expect(assemblePrompt(places, 'Be brief.')).toEqual({ instructions: 'Be brief.', sources: [] })
})

test('files are read again each time', () => {
  const path = inHome('memory.md', 'one')
  expect(assemblePrompt(places, null).instructions).toContain('one')
  writeFileSync(path, 'two')
  expect(assemblePrompt(places, null).instructions).toBe(part(path, 'two'))
})

describe('a symlink', () => {
  const linked = (file: string, target: string): void => {
    mkdirSync(dirname(file), { recursive: true })
    symlinkSync(target, file)
  }

  test('in the workspace that leads out of its repository is skipped: it may lead to a secret', () => {
    write(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    const secret = write(join(tempDirectory(), 'id_rsa'), 'secret')
    const names = ['AGENTS.md', '.substrat/identity.md', '.substrat/memory.md', '.substrat/skills/a/SKILL.md']
    for (const name of names) linked(join(places.workspace, name), secret)
    linked(
      join(places.workspace, '.substrat/skills/b'),
      dirname(write(join(tempDirectory(), 'SKILL.md'), 'secret')),
    )
    expect(assemblePrompt(places, null)).toEqual({ instructions: null, sources: [] })
    expect(findSkill(places, 'a', limits.promptFileBytesMax)).toBeUndefined()
  })

  test('that stays in the repository is followed', () => {
    write(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main\n')
    linked(join(places.workspace, 'AGENTS.md'), write(join(repository, 'docs', 'rules.md'), 'of the docs'))
    expect(assemblePrompt(places, null).instructions).toContain('of the docs')
  })

  test('in the home is followed anywhere, because its owner made it', () => {
    linked(join(places.home, 'memory.md'), write(join(tempDirectory(), 'notes.md'), 'of the owner'))
    expect(assemblePrompt(places, null).instructions).toContain('of the owner')
  })
})
