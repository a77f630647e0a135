/** Compares every name in a home with the layout. The audit uses it, also if home.json is unreadable. */

import { type EntryFacts, lstatIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { writerOf } from '../host/disk/temporary.js'
import { isSelftestPlace } from '../host/selftest/place.js'
import { type Expected, expectedIn, HOME_LAYOUT, isTheirs, type Standing } from './layout.js'
import { parseAgentDirectory } from './paths.js'

export interface Entry {
  path: string
  /** The agent whose directory contains it. */
  agentId: string | null
  /** Undefined for a name that the layout does not have. */
  standing: Standing | undefined
  expectedKind: Expected['kind'] | undefined
  /** See `isTheirs` in layout.ts. */
  isTheirs: boolean
  /** For a temporary file: the state of its writer. */
  writer: ReturnType<typeof writerOf>
  facts: EntryFacts
}

/** An entry that could not be examined. */
export interface Unseen {
  path: string
  agentId: string | null
  error: unknown
}

/** Yields the home first. Leaves out entries that disappear meanwhile. Follows no symlink. */
export function* surveyHome(root: string): Generator<Entry | Unseen> {
  const facts = statIfThere('survey.home', root)
  if (facts === undefined) return
  const home = { path: root, agentId: null, expected: HOME_LAYOUT as Expected }
  const { mode, owner, modifiedMs } = facts
  const kind = facts.kind
  yield {
    path: root,
    agentId: null,
    standing: 'ours',
    expectedKind: 'directory',
    isTheirs: false,
    writer: 'unknown',
    facts: { kind, mode, owner, modifiedMs },
  }
  if (kind === 'directory') yield* entriesWithin(home)
}

interface Place {
  path: string
  agentId: string | null
  expected: Expected
}

function* entriesWithin({ path: directory, agentId, expected }: Place): Generator<Entry | Unseen> {
  if (expected.kind !== 'directory' || expected.names === undefined) return
  let names: string[]
  try {
    names = io.listDirectory('survey.list', directory)
  } catch (error) {
    yield { path: directory, agentId, error }
    return
  }
  for (const name of names) {
    if (isSelftestPlace(name)) continue
    const path = `${directory}/${name}`
    const owner = agentId ?? (directory.endsWith('/agents') ? (parseAgentDirectory(name) ?? null) : null)
    const found = expectedIn(expected, name)
    const entry = lookAt(path, owner, found)
    if (entry === undefined) continue
    yield entry
    if (found !== undefined && 'facts' in entry && entry.facts.kind === 'directory')
      yield* entriesWithin({ path, agentId: owner, expected: found })
  }
}

function lookAt(
  path: string,
  agentId: string | null,
  expected: Expected | undefined,
): Entry | Unseen | undefined {
  try {
    const facts = lstatIfThere('survey.stat', path)
    return facts && entryOf(path, agentId, expected, facts)
  } catch (error) {
    return { path, agentId, error }
  }
}

function entryOf(
  path: string,
  agentId: string | null,
  expected: Expected | undefined,
  facts: EntryFacts,
): Entry {
  const { standing, kind: expectedKind } = expected ?? {}
  const isTemporary = standing === 'leftover' && expectedKind === 'file'
  const writer = isTemporary ? writerOf(path) : 'unknown'
  return { path, agentId, standing, expectedKind, isTheirs: isTheirs(standing), writer, facts }
}
