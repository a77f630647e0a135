import { lazyBuiltin } from './lazy-builtin.mjs'

/** The bundle as code-cache.ts needs it. */
export function scriptSource(text) {
  const prelude = [
    `const bundleUrl = require('node:url').pathToFileURL(__filename).href`,
    `const importModule = module.importModule ?? ((specifier) => import(specifier))`,
    `const lazyBuiltin = ${lazyBuiltin}`,
  ]
  const body = text
    // Libraries name at their top what they may never use.
    .replaceAll(
      /\brequire\("((?:node:)?(?:child_process|crypto|readline|perf_hooks|net|worker_threads|stream\/promises|fs\/promises|string_decoder|tty|os|assert|zlib))"\)/g,
      (_, name) => `lazyBuiltin(() => require(${JSON.stringify(name)}))`,
    )
    // In code that V8 restores, import() fails on Node 20 and warns later on: code-cache.ts lends its own.
    .replaceAll(/(?<![.\w$])import\((?!\))/g, 'importModule(')
    // Plain ASCII is read four times as fast. Only regular expressions hold anything else; esbuild escapes the rest.
    .replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `${prelude.join('\n')}\n${body}`
}
