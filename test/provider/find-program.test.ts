import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProviderProgram } from '../../src/provider/contract.js'
import { findProgram } from '../../src/provider/find-program.js'
import { tempDirectory } from '../support/temp.js'

const { PATH } = process.env
let workspace: string

beforeEach(() => {
  workspace = tempDirectory()
  mkdirSync(join(workspace, 'my bin'))
  for (const [name, mode] of [
    ['my bin/tool', 0o755],
    ['plain', 0o644],
  ] as const) {
    writeFileSync(join(workspace, name), '#!/bin/sh\n')
    chmodSync(join(workspace, name), mode)
  }
})

afterEach(() => {
  process.env.PATH = PATH
})

const look = (program: ProviderProgram | undefined) =>
  findProgram(program, workspace, new AbortController().signal)

describe('a program is found', () => {
  test.each<[string, ProviderProgram | undefined]>([
    ['if none is named', undefined],
    ['by its name in PATH', { name: 'cat' }],
    ['by its path, which may have spaces', { name: './my bin/tool' }],
    ['as the first word of a shell command', { shell: ' cat -n | sort' }],
    ['if the shell knows its first word', { shell: 'cd . && cat' }],
    ['if the shell command begins with more than a word', { shell: '(no-such-program)' }],
    ['if the shell command begins with a variable', { shell: 'A=1 no-such-program' }],
    ['if the shell command begins with a function', { shell: 'f () { cat; } ' }],
    ['if the shell command has an alternative', { shell: 'no-such-program || cat' }],
    ['if the shell command goes on without it', { shell: 'no-such-program; cat' }],
    ['if the shell command leaves it in the background', { shell: 'no-such-program & cat' }],
    ['if no shell command is there', { shell: '' }],
  ])('%s', async (_, program) => {
    await expect(look(program)).resolves.toBeUndefined()
  })

  test('in a directory of PATH that is relative to the workspace', async () => {
    process.env.PATH = `/nowhere:my bin`
    await expect(look({ name: 'tool' })).resolves.toBeUndefined()
  })

  test('in the default PATH of the shell without PATH', async () => {
    delete process.env.PATH
    await expect(look({ name: 'cat' })).resolves.toBeUndefined()
  })

  test('if the shell cannot be asked, because the workspace is gone', async () => {
    const { signal } = new AbortController()
    await expect(findProgram({ name: 'tool' }, join(workspace, 'gone'), signal)).resolves.toBeUndefined()
  })
})

describe('a program is missing', () => {
  test.each<[string, ProviderProgram, string]>([
    ['if no directory of PATH has it', { name: 'tool' }, 'the program tool is not in PATH'],
    ['if its path has no file', { name: './tool' }, 'the program ./tool is not there'],
    ['if its file cannot be executed', { name: './plain' }, 'the program ./plain is not there'],
    ['if it is a directory', { name: './my bin' }, 'the program ./my bin is not there'],
    ['in a shell command with a redirection', { shell: 'tool 2>&1' }, 'the program tool is not in PATH'],
    ['at the beginning of a pipe', { shell: 'tool | cat' }, 'the program tool is not in PATH'],
    ['before a command that needs it', { shell: 'tool && cat' }, 'the program tool is not in PATH'],
  ])('%s', async (_, program, message) => {
    await expect(look(program)).rejects.toMatchObject({ message, failure: { type: 'misconfigured' } })
  })
})
