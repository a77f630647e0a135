/** Every name in a home, held against the layout: for the audit, which needs no readable home.json for it. */

import { type EntryFacts, lstatIfThere, statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { writerOf } from '../host/disk/temporary.js'
import { type Expected, expectedIn, HOME_LAYOUT, isTheirs, type Standing } from './layout.js'
import { parseAgentDirectory } from './paths.js'

export interface Entry {
  path: string
  /** In whose directory it is. */
  agentId: string | null
  /** Undefined for what has no business there. */
  standing: Standing | undefined
  expectedKind: Expected['kind'] | undefined
  /** Whether the owner has chosen who may read it: what others must not do is change it. */
  isTheirs: boolean
  /** Of a temporary file: whether the process lives that writes it. */
  writer: ReturnType<typeof writerOf>
  facts: EntryFacts
}

/** An entry that could not be looked at. */
export interface Unseen {
  path: string
  agentId: string | null
  error: unknown
}

/** The home itself first. What is gone by the time that it is looked at is left out; links are not followed. */
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
