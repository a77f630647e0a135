import { readFileSync } from 'node:fs'

/** An import as TypeScript compiles it: its name is used only to access members. */
const IMPORT = /^const (?<name>\w+) = (?<module>(?:__import(?:Star|Default)\()?require\("[^"]+"\)\)?);$/gm

/**
 * Replaces slow steps of oclif's start by faster ones with the same result. The build fails if oclif's code has changed there:
 * - it loads the package of its debugging output also without DEBUG;
 * - it listens for errors of stdout, which src/console/stdio.ts handles before any listener.
 *
 * One change corrects oclif: it refuses the value of `--key=-kfoo` and of `-k-kfoo`, because the value looks like a flag. A value
 * in the same word as its flag is taken as it is. The servers for other programs pass each value of a client in this way.
 */
export function quickOclif() {
  const changes = {
    'parser/parse.js': [
      [`const parseFlag = async (arg) => {`, `const parseFlag = async (arg, isJoined = false) => {`],
      [`await parseFlag(arg.slice(0, i));`, `await parseFlag(arg.slice(0, i), true);`],
      [
        `typeof input !== 'string' || this.findFlag(input).name`,
        `typeof input !== 'string' || (!isJoined && (isLong || arg.length < 3) && this.findFlag(input).name)`,
      ],
    ],
    // Without DEBUG, the debug package prints nothing.
    'logger.js': [
      [
        `(0, debug_1.default)(namespace)`,
        `process.env.DEBUG ? (0, debug_1.default)(namespace) : Object.assign(() => {}, { enabled: false })`,
      ],
    ],
    // Only such a listener would make every command load Node's streams.
    'command.js': [[`process.stdout.on('error', (err) => {`, `void ((err) => {`]],
  }
  return {
    name: 'quick-oclif',
    setup({ onLoad }) {
      onLoad({ filter: /@oclif\/core\/lib\/.+\.js$/ }, ({ path: file }) => {
        const [, name] = /@oclif\/core\/lib\/(.+)$/.exec(file)
        const contents = (changes[name] ?? []).reduce(
          (text, [before, after]) => {
            if (!text.includes(before))
              throw new Error(`${name} of @oclif/core has changed; not found: ${before}`)
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
