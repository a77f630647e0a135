/** The command `substrat` on the PATH of another program, and the snippets of a page. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { House } from '../support/cli.js'
import { sectionsOf } from '../support/markdown.js'

/** The environment of a user of this house who has installed substrat. */
export function userOf(house: House): Record<string, string> {
  const bin = path.join(house.root, 'bin')
  mkdirSync(bin, { recursive: true })
  mkdirSync(house.env.HOME as string, { recursive: true })
  const words = house.command().map((word) => `'${word}'`)
  const file = path.join(bin, 'substrat')
  writeFileSync(file, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
  chmodSync(file, 0o755)
  return { ...house.env, PATH: `${bin}:${house.env.PATH}` }
}

/** The code block of a language in a section of a page in docs/: the first one that contains the word. */
export function snippetOf(page: string, heading: string, language: string, word = ''): string {
  const section = sectionsOf(readFileSync(page, 'utf8')).find((one) => one.heading === heading)
  const text = section?.lines.join('\n') ?? ''
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``, 'g'))]
  const code = blocks.map(([, block]) => block as string).find((block) => block.includes(word))
  if (code === undefined) throw new Error(`${page} has no ${language} below ${heading}`)
  return code
}
