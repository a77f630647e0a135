/** The code blocks of README.md, for tests that run them as typed. */
import { readFileSync } from 'node:fs'

export const readme = readFileSync('README.md', 'utf8')

/**
 * The beginning of each block, in the order of the page. test/package/readme.test.ts checks that no block is left out.
 */
const BEGINS = {
  transcript: '$ substrat spawn',
  clone: 'npm ci && npm run demo',
  tarball: 'npm ci\nnpm pack',
  errand: 'export OPENAI_API_KEY',
  exits: '$ substrat help',
}

export const blocks: string[] = [...readme.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)

export function block(name: keyof typeof BEGINS): string {
  const found = blocks.filter((each) => each.startsWith(BEGINS[name]))
  if (found.length !== 1) throw new Error(`README.md has ${found.length} blocks for ${name}`)
  return found[0] as string
}

export const namedBlocks = (): string[] =>
  Object.keys(BEGINS).map((name) => block(name as keyof typeof BEGINS))
