/** How the provider of OpenCode reads its store: by a command of which no record is kept. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { isAlive } from '../support/programs.js'
import { waitFor } from '../support/wait.js'
import { pluginPart, sourceOf } from './plugin-part.js'

const folder = mkdtempSync(join(tmpdir(), 'substrat-guarded-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const PART = 'provider-opencode/src/guarded'
const { outputOf } = await pluginPart<{
  outputOf(command: string, cwd: string, timeoutMs: number): Promise<string>
}>(PART)

const stubborn = (mark: string): string =>
  `sh -c 'trap "" TERM HUP; echo $$ >> ${mark}; sleep 600 & echo $! >> ${mark}; wait'`
const pidsIn = (mark: string): number[] =>
  existsSync(mark) ? readFileSync(mark, 'utf8').trim().split('\n').map(Number) : []

describe('a command that reads', () => {
  test('is dead with all that it has started when its time is over', async () => {
    const mark = join(folder, 'timed-out')
    expect(await outputOf(stubborn(mark), '/', 300)).toBe('')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'its death')
  })

  test('has said all once it has ended, and leaves nothing behind', async () => {
    const mark = join(folder, 'ended')
    expect(await outputOf(`sleep 600 >/dev/null & echo $! >> ${mark}; echo said`, '/', 60_000)).toBe('said\n')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'the death of what it left')
    expect(pidsIn(mark)).toHaveLength(1)
    expect(await outputOf('echo said; exit 1', '/', 60_000)).toBe('')
  })

  test('dies with substrat', async () => {
    const mark = join(folder, 'left')
    const call = `outputOf(${JSON.stringify(stubborn(mark))}, '/', 60_000)`
    const words = ['--input-type=module', '-e', `${await sourceOf(PART)}\n${call}`]
    const substrat = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] })
    await waitFor(() => pidsIn(mark).length === 2, 'its start')
    substrat.kill('SIGKILL')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'its death')
  })
})
