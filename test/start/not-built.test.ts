/** bin/run.js without one of the built files, as in a checkout that an earlier version built. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDirectory } from '../support/temp.js'

const BUILT = ['start.cjs', 'substrat.cjs']

test.each(BUILT)('a start without dist/%s names the file and the command that builds it', (missing) => {
  const root = tempDirectory()
  for (const folder of ['bin', 'dist']) mkdirSync(join(root, folder))
  for (const file of ['run.js', 'package.json'])
    copyFileSync(join(import.meta.dirname, '../../bin', file), join(root, 'bin', file))
  for (const file of BUILT) if (file !== missing) writeFileSync(join(root, 'dist', file), '')
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'bin/run.js'), '--version'], {
    encoding: 'utf8',
  })
  expect(stderr).toBe(
    `substrat is not built: ${join(root, 'dist', missing)} is missing. Run: npm run build\n`,
  )
  expect(status).toBe(1)
})
