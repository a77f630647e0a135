/**
 * The places in the sources that create an error, found by the parser. A place is a file and a function. A pair is a place and
 * a code that it can create there; `*` stands for a code that only the running program knows.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { childrenIn, type Node, nodesIn, unitsOf } from '../mutants/syntax.js'
import { repository } from '../support/lab.js'

const ERRORS = ['SubstratError', 'SessionStateError']
const SIGNALS = ['HUP', 'INT', 'TERM']

interface Site {
  place: string
  codes: string[]
  start: number
  end: number
}

/** Each source file that creates errors, by its path below src/. */
export function sourcesWithSites(): Map<string, { source: string; sites: Site[] }> {
  const found = new Map<string, { source: string; sites: Site[] }>()
  for (const file of readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.ts') || file.includes('generated')) continue
    const source = readFileSync(join(repository, 'src', file), 'utf8')
    const sites = sitesIn(file, source)
    if (sites.length > 0) found.set(file, { source, sites })
  }
  return found
}

export function sitesIn(file: string, source: string): Site[] {
  // Most files create no error, and parsing takes longer than reading.
  if (!ERRORS.some((name) => source.includes(`new ${name}(`))) return []
  const units = unitsOf(source)
  const listsByName = new Map(units.map(({ name, root }) => [name, root]))
  return units.flatMap(({ name, root }) => {
    const errors = [...nodesIn(root)].filter(isError)
    return errors.map((node, index) => ({
      place: `src/${file}#${name}${index === 0 ? '' : `:${index + 1}`}`,
      codes: codesOf(node, listsByName),
      start: node.start,
      end: node.end,
    }))
  })
}

export function pairsOf(sites: Site[]): string[] {
  return sites.flatMap(({ place, codes }) => codes.map((code) => `${place} ${code}`))
}

function isError(node: Node): boolean {
  return node.type === 'NewExpression' && ERRORS.includes((node.callee as Node).name as string)
}

function codesOf(node: Node, listsByName: Map<string, Node>): string[] {
  if ((node.callee as Node).name === 'SessionStateError') return ['SESSION_STATE']
  const code = childrenIn(node, 'arguments')[0] as Node
  if (code.type === 'TemplateLiteral') return SIGNALS.map((signal) => `STOPPED_SIG${signal}`)
  // A code may be looked up in a constant of the file.
  const nodes = [...nodesIn(code)].flatMap((each) => {
    const list = each.type === 'Identifier' ? listsByName.get(each.name as string) : undefined
    return list?.type === 'VariableDeclarator' ? [...nodesIn(list)] : [each]
  })
  const codes = nodes.flatMap(({ type, value }) =>
    type === 'Literal' && typeof value === 'string' && /^[A-Z_]+$/.test(value) ? [value] : [],
  )
  return codes.length === 0 ? ['*'] : [...new Set(codes)]
}

/** The source, where each error is passed to `globalThis.substratSite` with its place. */
export function observed(source: string, sites: Site[]): string {
  const last = [...sites].sort((a, b) => b.start - a.start)
  return last.reduce((text, { place, start, end }) => {
    const call = `globalThis.substratSite(${JSON.stringify(place)}, ${text.slice(start, end)})`
    return text.slice(0, start) + call + text.slice(end)
  }, source)
}
