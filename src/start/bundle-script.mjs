import { lazyBuiltin } from './lazy-builtin.mjs'

/** Rewrites the bundle in the form that code-cache.ts needs. */
export function scriptSource(text) {
  const prelude = [
    `const bundleUrl = require('node:url').pathToFileURL(__filename).href`,
    `const importModule = module.importModule ?? ((specifier) => import(specifier))`,
    `const lazyBuiltin = ${lazyBuiltin}`,
  ]
  const body = text
    // Libraries require modules at their top that they may never use.
    .replaceAll(
      /\brequire\("((?:node:)?(?:child_process|crypto|readline|perf_hooks|net|worker_threads|stream\/promises|fs\/promises|string_decoder|tty|os|assert))"\)/g,
      (_, name) => `lazyBuiltin(() => require(${JSON.stringify(name)}))`,
    )
    // In code from V8's cache, import() fails on Node 20 and warns on newer versions. code-cache.ts passes its own.
    .replaceAll(/(?<![.\w$])import\((?!\))/g, 'importModule(')
    // Node reads plain ASCII four times as fast. esbuild escapes everything except regular expressions.
    .replaceAll(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `${prelude.join('\n')}\n${body}`
}
