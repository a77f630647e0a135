/** The files, commands, layers and labs in the pages for contributors exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { LAYERS } from './support/layers.js'

const LABS = 'stress/README.md'
const ARCHITECTURE = 'docs/architecture.md'
/** A placeholder, such as `<name>`. */
const PLACEHOLDER = /NAME|LAB/
const scripts: Record<string, string> = JSON.parse(readFileSync('package.json', 'utf8')).scripts

describe.each(['CONTRIBUTING.md', LABS, ARCHITECTURE])('%s', (page) => {
  const text = readFileSync(page, 'utf8')

  test('names npm scripts that exist', () => {
    const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name as string)
    expect(named.filter((name) => !(name in scripts))).toEqual([])
  })

  test('names files of the repository that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|stress|bin|commands|plugins|docs)\/[\w./-]*)`/g)]
    const files = named.map(([, name]) => name as string).filter((name) => !PLACEHOLDER.test(name))
    expect(files.length).toBeGreaterThan(0)
    expect(files.filter((name) => !existsSync(name))).toEqual([])
  })
})

test('stress/README.md has the script of every lab', () => {
  const programs = readdirSync('stress').filter((name) => /\.(ts|mjs)$/.test(name) && name !== 'run.mjs')
  const text = readFileSync(LABS, 'utf8')
  const missing = programs.filter(
    (name) => !scriptsOf(name).some((script) => text.includes(`npm run ${script}`)),
  )
  expect(missing).toEqual([])
})

function scriptsOf(program: string): string[] {
  const start = program.endsWith('.ts')
    ? `node stress/run.mjs ${program.slice(0, -3)}`
    : `node stress/${program}`
  return Object.keys(scripts).filter((name) => scripts[name]?.includes(start))
}

describe(ARCHITECTURE, () => {
  const text = readFileSync(ARCHITECTURE, 'utf8')

  test('draws every layer, each above the layers that it may import', () => {
    const drawn = [...text.matchAll(/^\| ((?:src|commands)[\w/]*) {2,}.* \|$/gm)].map(([, layer]) => layer)
    expect(drawn.toReversed()).toEqual(LAYERS)
  })

  test('has at most 2,500 words', () => {
    expect(text.trim().split(/\s+/).length).toBeLessThanOrEqual(2500)
  })
})
