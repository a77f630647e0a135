/**
 * The last program that writes format 1, built from the history of this repository. A shallow clone does not have it.
 *
 * This is JavaScript because the labs that are not bundled use it too.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export const COMMIT = '68dc667'

const repository = dirname(createRequire(import.meta.url).resolve('substrat/package.json'))

export function hasProgramOfFormat1() {
  return git('cat-file', '-e', `${COMMIT}^{commit}`).status === 0
}

/**
 * An archive leaves nothing in the repository, even if the lab is killed. A worktree would.
 *
 * @param {string} directory A new directory.
 * @returns {string} The program's bin/run.js.
 */
export function buildProgramOfFormat1(directory) {
  mkdirSync(directory)
  const { stdout } = must(git('archive', COMMIT))
  must(spawnSync('tar', ['-x', '-C', directory], { input: stdout }))
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'))
  must(spawnSync(process.execPath, ['esbuild.config.mjs'], { cwd: directory }))
  return join(directory, 'bin', 'run.js')
}

/** @param {string[]} argv */
function git(...argv) {
  return spawnSync('git', argv, { cwd: repository, maxBuffer: 2 ** 28 })
}

/** @param {ReturnType<typeof git>} ended */
function must(ended) {
  if (ended.status !== 0) throw new Error(`exit ${ended.status}: ${ended.stderr}`)
  return ended
}
