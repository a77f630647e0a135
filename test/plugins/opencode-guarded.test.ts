/** How provider-opencode reads the store: with a command whose process group is not recorded. */
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
  outputOf(command: string, cwd: string, signal?: AbortSignal): Promise<string>
}>(PART)

const stubborn = (mark: string): string =>
  `sh -c 'trap "" TERM HUP; echo $$ >> ${mark}; sleep 3600 & echo $! >> ${mark}; wait'`
const pidsIn = (mark: string): number[] =>
  existsSync(mark) ? readFileSync(mark, 'utf8').trim().split('\n').map(Number) : []

describe('a guarded command', () => {
  test('is killed with all its processes when the caller aborts, and rejects', async () => {
    const mark = join(folder, 'timed-out')
    const time = new AbortController()
    const output = outputOf(stubborn(mark), '/', time.signal)
    await waitFor(() => pidsIn(mark).length === 2, 'its start')
    time.abort()
    await expect(output).rejects.toThrow('was aborted')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'its death')
  })

  test('returns its whole output, and leaves no process', async () => {
    const mark = join(folder, 'ended')
    expect(await outputOf(`sleep 3600 >/dev/null & echo $! >> ${mark}; echo said`, '/')).toBe('said\n')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'the death of what it left')
    expect(pidsIn(mark)).toHaveLength(1)
    expect(await outputOf('echo said; exit 1', '/')).toBe('')
  })

  test.each([
    ['a signal', 'echo said; kill -9 $$'],
    ['a signal that its shell reports', 'sh -c "kill -9 \\$\\$"; exit $?'],
  ])('that was killed by %s rejects', async (_, command) => {
    await expect(outputOf(command, '/')).rejects.toThrow('was killed')
  })

  test('dies with substrat', async () => {
    const mark = join(folder, 'left')
    const call = `outputOf(${JSON.stringify(stubborn(mark))}, '/')`
    const words = ['--input-type=module', '-e', `${await sourceOf(PART)}\n${call}`]
    const substrat = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'inherit'] })
    await waitFor(() => pidsIn(mark).length === 2, 'its start')
    substrat.kill('SIGKILL')
    await waitFor(() => !pidsIn(mark).some(isAlive), 'its death')
  })
})
