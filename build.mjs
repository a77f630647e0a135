// Builds the CLI and the plugins, as many at once as there are cores. A plugin's build is the script `build` of its package.json.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'

const root = import.meta.dirname
// .ci/run builds this checkout once, for all its lanes. A clone that a test makes has another path.
if (process.env.BUILT_CHECKOUT === root) process.exit()
const plugins = path.join(root, 'plugins')

const builds = []
for (const name of readdirSync(plugins)) {
  const directory = path.join(plugins, name)
  const facts = path.join(directory, 'package.json')
  if (!existsSync(facts)) continue
  const { scripts } = JSON.parse(readFileSync(facts, 'utf8'))
  if (scripts?.build !== undefined) builds.push({ directory, command: scripts.build })
}

const running = Array.from({ length: availableParallelism() }, async () => {
  for (let next = builds.shift(); next !== undefined; next = builds.shift()) await run(next)
})
await Promise.all(running)
// Last, because oclif's manifest also describes the commands of plugins.
if (process.exitCode === undefined) await run({ directory: root, command: 'node esbuild.config.mjs' })

function run({ directory, command }) {
  return new Promise((resolve) => {
    const child = spawn(command, { cwd: directory, shell: true, stdio: 'inherit' })
    child.once('exit', (code) => {
      if (code !== 0) {
        console.error(`the build in ${directory} failed: ${command}`)
        process.exitCode = 1
      }
      resolve()
    })
  })
}
