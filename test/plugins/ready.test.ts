/** Agent programs and their login are looked for, and none is started. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { mayHaveLogin as mayHaveClaudeLogin } from '../../plugins/provider-claude-code/src/login.js'
import { mayHaveLogin as mayHaveCodexLogin } from '../../plugins/provider-codex/src/login.js'
import { findProgram } from '../../src/provider/find-program.js'
import { tempDirectory } from '../support/temp.js'
import { builtProvider } from './built.js'

function write(root: string, name: string, text = '{}'): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
  writeFileSync(path.join(root, name), text)
}

describe('the login of claude', () => {
  const isThere = (home: string, more: Record<string, string> = {}, platform = 'linux'): boolean =>
    mayHaveClaudeLogin(path.join(home, 'work'), { HOME: home, ...more }, platform)

  test('is missing without a file, a variable or a setting for it', () => {
    const home = tempDirectory()
    write(home, '.claude/settings.json', '{"model":"opus"}')
    write(home, '.claude.json', '{"numStartups":3}')
    expect(isThere(home)).toBe(false)
    expect(isThere(home, { ANTHROPIC_API_KEY: '' })).toBe(false)
  })

  test.each([
    ['.claude/.credentials.json', '{}'],
    ['.claude/settings.json', '{"apiKeyHelper":"get-key"}'],
    ['work/.claude/settings.local.json', '{"env":{"ANTHROPIC_API_KEY":"k"}}'],
    ['.claude.json', '{"primaryApiKey":"k"}'],
  ])('may be in %s', (name, text) => {
    const home = tempDirectory()
    write(home, name, text)
    expect(isThere(home)).toBe(true)
  })

  test('may be in a variable, in the directory of CLAUDE_CONFIG_DIR, or in the keychain of macOS', () => {
    const home = tempDirectory()
    expect(isThere(home, { CLAUDE_CODE_OAUTH_TOKEN: 't' })).toBe(true)
    write(home, 'other/.credentials.json')
    expect(isThere(home, { CLAUDE_CONFIG_DIR: path.join(home, 'other') })).toBe(true)
    expect(isThere(home, {}, 'darwin')).toBe(true)
  })
})

describe('the login of codex', () => {
  test('is missing without auth.json, a variable or another service in its configuration', () => {
    const home = tempDirectory()
    write(home, '.codex/config.toml', 'model = "m"\n')
    expect(mayHaveCodexLogin({ HOME: home })).toBe(false)
    expect(mayHaveCodexLogin({ HOME: home, CODEX_API_KEY: 'k' })).toBe(true)
    write(home, '.codex/config.toml', 'model_provider = "ollama"\n')
    expect(mayHaveCodexLogin({ HOME: home })).toBe(true)
    write(home, 'other/auth.json')
    expect(mayHaveCodexLogin({ HOME: home, CODEX_HOME: path.join(home, 'other') })).toBe(true)
  })
})

describe.each(['claude-code', 'codex', 'opencode', 'acp'])('the provider %s', (name) => {
  const { signal } = new AbortController()
  const settings = (workspace: string, command: string) => ({
    ...{ workspace, model: null, instructions: null, options: { command } },
  })

  test('names its program, which is looked for and not started', async () => {
    const workspace = tempDirectory()
    const { program } = await builtProvider(`provider-${name}`)
    const look = (command: string) => findProgram(program?.(settings(workspace, command)), workspace, signal)
    await expect(look('./program')).rejects.toMatchObject({
      message: 'the program ./program is not there',
      failure: { type: 'misconfigured' },
    })
    await expect(look('no-such-program')).rejects.toThrow('the program no-such-program is not in PATH')
    write(workspace, 'program', '#!/bin/sh\ntouch "$(dirname "$0")/started"\n')
    chmodSync(path.join(workspace, 'program'), 0o755)
    await look('./program')
    expect(existsSync(path.join(workspace, 'started'))).toBe(false)
  })
})
