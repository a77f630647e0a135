/**
 * Finds the code that mutants address. A unit is found by its file and name or, after a rename or a move, by its shape. A
 * node is found by its shape alone: its address could mean another node after an edit. shapes.tsv records the shapes at the
 * time when a mutant was written.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Find } from './change.js'
import { contextsIn, type Node, nodeAt, shapeOf, type Unit, unitsOf } from './syntax.js'

/** The text of each source file, by its path in src/. */
export type Sources = Map<string, string>

interface Found {
  file: string
  source: string
  unit: Unit
}

/** Maps a place or an address to `SHAPE AROUND K/N`: the Kth of N units or nodes with that shape, and its neighbours. */
export type Shapes = Record<string, string>

export function sourcesIn(root: string): Sources {
  const src = join(root, 'src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  return new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]))
}

const units = new Map<string, Unit[]>()

function unitsIn(source: string): Unit[] {
  const known = units.get(source) ?? unitsOf(source)
  units.set(source, known)
  return known
}

const shapeByUnit = new WeakMap<Unit, string>()

function shapeOfUnit(unit: Unit): string {
  const shape = shapeByUnit.get(unit) ?? `${shapeOf(unit.root)} -`
  shapeByUnit.set(unit, shape)
  return shape
}

/** A place is `FILE UNIT`. */
export function findUnit(sources: Sources, place: string, shapes: Shapes): Found {
  const [file = '', name] = place.split(' ')
  const source = sources.get(file)
  const ranking = shapes[place] ?? ''
  if (source !== undefined) {
    const inFile = unitsIn(source)
    const named = inFile.find((each) => each.name === name)
    const unit = named ?? pick(new Map(inFile.map((each) => [each, shapeOfUnit(each)])), ranking)
    if (unit !== undefined) return { file, source, unit }
  }
  return movedUnit(sources, place, ranking.split(' ')[0])
}

const unitsBySources = new WeakMap<Sources, Map<string, Found[]>>()

/** By their shape. */
function allUnits(sources: Sources): Map<string, Found[]> {
  const known = unitsBySources.get(sources)
  if (known !== undefined) return known
  const all = new Map<string, Found[]>()
  for (const [file, source] of sources)
    for (const unit of unitsIn(source)) {
      const hasSameShape = all.get(shapeOfUnit(unit)) ?? []
      all.set(shapeOfUnit(unit), [...hasSameShape, { file, source, unit }])
    }
  unitsBySources.set(sources, all)
  return all
}

/** Searches all files for the shape. If several units have it, the name and the file's name decide. */
function movedUnit(sources: Sources, place: string, shape: string | undefined): Found {
  const hasSameShape = allUnits(sources).get(`${shape} -`) ?? []
  const [path = '', name] = place.split(' ')
  const named = hasSameShape.filter(({ unit }) => unit.name === name)
  const inFile = named.filter(({ file }) => basename(file) === basename(path))
  const [found, other] = [inFile, named].find(({ length }) => length > 0) ?? hasSameShape
  if (found !== undefined && other === undefined) return found
  throw new Error(`src/ has no ${place}, and nothing of its shape: correct "place" in stress/mutants/rules/`)
}

/** Addresses are in the unit at `place`; `FILE UNIT|ADDRESS` is in another unit. */
export function finder(sources: Sources, place: string, shapes: Shapes): Find {
  return (address) => {
    const [first = '', second] = address.split('|')
    const { source, unit } = findUnit(sources, second === undefined ? place : first, shapes)
    return { source, node: findNode(unit, second ?? first, shapes[address]) }
  }
}

function findNode({ name, root }: Unit, address: string, ranking: string | undefined): Node {
  if (ranking === undefined) throw new Error(`shapes.tsv does not have ${address}: ${LEARN}`)
  const node = pick(contextsOf(root), ranking)
  if (node !== undefined) return node
  throw new Error(
    `${name} has changed at ${address}: correct the address, remove the mutant's line from shapes.tsv, and ${LEARN}`,
  )
}

const LEARN = 'run: node stress/run.mjs mutants --learn'

const contextsByRoot = new WeakMap<Node, Map<Node, string>>()

function contextsOf(root: Node): Map<Node, string> {
  const known = contextsByRoot.get(root) ?? contextsIn(root)
  contextsByRoot.set(root, known)
  return known
}

/** The shapes of the place, of the units that the addresses name, and of the nodes. Known nodes keep their shapes. */
export function learnShapes(sources: Sources, place: string, addresses: string[], known: Shapes): Shapes {
  const places = [
    place,
    ...addresses.filter((each) => each.includes('|')).map((each) => each.split('|')[0] ?? ''),
  ]
  const ofUnits = places.map((each) => {
    const { source, unit } = findUnit(sources, each, known)
    const shapes = unitsIn(source).map(shapeOfUnit)
    return [each, rankingOf(shapes, unitsIn(source).indexOf(unit))]
  })
  const ofNodes = addresses.map((address) => {
    const [first = '', second] = address.split('|')
    const { unit } = findUnit(sources, second === undefined ? place : first, known)
    return [address, known[address] ?? shapeAt(unit, second ?? first)]
  })
  return Object.fromEntries([...ofUnits, ...ofNodes])
}

function shapeAt({ name, root }: Unit, address: string): string {
  const node = nodeAt(root, address)
  if (node === undefined) throw new Error(`${name} has no ${address}`)
  const contexts = contextsOf(root)
  return rankingOf([...contexts.values()], [...contexts.keys()].indexOf(node))
}

function rankingOf(all: string[], index: number): string {
  const own = all[index] as string
  const hasSameShape = (each: string): boolean => each.split(' ')[0] === own.split(' ')[0]
  return `${own} ${all.slice(0, index + 1).filter(hasSameShape).length}/${all.filter(hasSameShape).length}`
}

/** If code of this shape was added or removed, the neighbours decide. Undefined if they do not. */
function pick<T>(all: Map<T, string>, ranking: string): T | undefined {
  const [shape, around, rank = ''] = ranking.split(' ')
  const [k, n] = rank.split('/').map(Number) as [number, number]
  const hasSameShape = [...all].filter(([, each]) => each.split(' ')[0] === shape)
  if (hasSameShape.length === n) return hasSameShape[k - 1]?.[0]
  const [found, other] = hasSameShape.filter(([, each]) => each === `${shape} ${around}`)
  return other === undefined ? found?.[0] : undefined
}
