import { readFileSync } from 'node:fs'

/** As TypeScript writes one: its name is used for nothing but its members. */
const IMPORT = /^const (?<name>\w+) = (?<module>(?:__import(?:Star|Default)\()?require\("[^"]+"\)\)?);$/gm

/**
 * What oclif does at every start in a way that costs milliseconds, done otherwise with the same result: a manifest read
 * through the thread pool, ids compared by the rules of a language (which V8 loads for it), a helper for Windows
 * loaded to learn that this is none. Fails where oclif has changed there.
 */
export function quickOclif() {
  const changes = {
    'util/fs.js': [
      [`await (0, promises_1.readFile)(path, 'utf8')`, `(0, node_fs_1.readFileSync)(path, 'utf8')`],
    ],
    // Without DEBUG nothing of it is shown.
    'logger.js': [
      [
        `(0, debug_1.default)(namespace)`,
        `process.env.DEBUG ? (0, debug_1.default)(namespace) : Object.assign(() => {}, { enabled: false })`,
      ],
    ],
    'config/plugin.js': [[`a.id.localeCompare(b.id)`, `(a.id < b.id ? -1 : 1)`]],
    'util/os.js': [[`(await import('wsl-utils')).isWsl`, `(await import('is-wsl')).default`]],
  }
  return {
    name: 'quick-oclif',
    setup({ onLoad }) {
      onLoad({ filter: /@oclif\/core\/lib\/.+\.js$/ }, ({ path: file }) => {
        const [, name] = /@oclif\/core\/lib\/(.+)$/.exec(file)
        const contents = (changes[name] ?? []).reduce(
          (text, [before, after]) => {
            if (!text.includes(before)) throw new Error(`${name} of @oclif/core is not as it was: ${before}`)
            return text.replace(before, after)
          },
          readFileSync(file, 'utf8'),
        )
        return {
          contents: contents.replaceAll(IMPORT, 'const $<name> = lazyBuiltin(() => $<module>);'),
          loader: 'js',
        }
      })
    },
  }
}
