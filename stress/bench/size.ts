/** The disk space of an installation of the packed package, by part. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Run } from './run.js'
import { type Row, row, skippedRow } from './table.js'

const repository = dirname(createRequire(import.meta.url).resolve('substrat/package.json'))
const WHAT = 'installed size of the packed package, in MB'
const TARGET = { atMost: 30 }
const PARTS_SHOWN = 6

export async function sizeRows({ lab }: Run): Promise<Row[]> {
  const folder = mkdtempSync(join(lab.root, 'installed-'))
  try {
    const npm = (...argv: string[]): string =>
      execFileSync('npm', argv, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    const packed = npm('pack', repository, '--ignore-scripts', '--loglevel=error').trim().split('\n').at(-1)
    writeFileSync(join(folder, 'package.json'), '{"private":true}')
    const quietly = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
    npm('install', ...quietly, join(folder, packed as string))
    const parts = packagesIn(join(folder, 'node_modules')).map(
      (name) => [name, megabytes(join(folder, 'node_modules', name))] as const,
    )
    const all = join(folder, 'node_modules')
    const [total, blocks] = [megabytes(all), megabytes(all, [])]
    const largest = [...parts].sort(([, a], [, b]) => b - a).slice(0, PARTS_SHOWN)
    const said = largest.map(([name, size]) => `${name} ${size.toFixed(1)}`).join(', ')
    return [
      row(
        WHAT,
        total,
        `${total.toFixed(1)} MB of ${parts.length} packages (${said}); ${blocks.toFixed(1)} with the blocks of the disk`,
        TARGET,
      ),
    ]
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    return [skippedRow(WHAT, (stderr?.trim() || message).split('\n')[0] as string, TARGET)]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function packagesIn(modules: string): string[] {
  return readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((part) => `${name}/${part}`) : [name],
  )
}

/** The sum of the file sizes; without that flag, the space on this disk. */
function megabytes(path: string, flags = ['--apparent-size']): number {
  if (!existsSync(path)) return 0
  const kibibytes = execFileSync('du', ['-sk', ...flags, path], { encoding: 'utf8' }).split('\t')[0]
  return (Number(kibibytes) * 1024) / 1e6
}
