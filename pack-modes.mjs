// Gives the packed files the modes of a clone with umask 022. npm packs their modes, so another umask would make another tarball.
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'

const flags = ['--dry-run', '--json', '--ignore-scripts']
const [{ files }] = JSON.parse(
  execFileSync('npm', ['pack', ...flags], { cwd: import.meta.dirname, encoding: 'utf8' }),
)
for (const { path, mode } of files) chmodSync(new URL(path, import.meta.url), mode & 0o100 ? 0o755 : 0o644)
