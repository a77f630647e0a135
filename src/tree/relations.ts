/** An agent may write to its parent, children and siblings; the operator may write to any agent. */
import { SubstratError } from '../errors.js'
import { foldName, isUuid, OPERATOR } from '../format.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { livingChildren } from './children.js'
import { livingChild, resolveAgent } from './names.js'

export type Relation = 'parent' | 'child' | 'sibling'

/** Undefined if the agents are further apart, or the same. */
export function relationOf(from: State, to: State): Relation | undefined {
  if (from.id === to.id) return undefined
  if (to.parent === from.id) return 'child'
  if (from.parent === to.id) return 'parent'
  return from.parent !== null && from.parent === to.parent ? 'sibling' : undefined
}

/** Throws TREE_RULES if `from` may not write to `to`. */
export function checkMayWrite(from: State, to: State): Relation {
  const relation = relationOf(from, to)
  if (relation !== undefined) return relation
  const why =
    from.id === to.id
      ? 'an agent cannot write to itself (use remind_me)'
      : from.parent === null && to.parent === null
        ? 'roots cannot write to each other'
        : 'it can write only to its parent, children and siblings'
  throw treeRulesError(`${from.path} may not write to ${to.path}: ${why}`, from, to)
}

/** Throws TREE_RULES if `to` is not a child of `from`. */
export function checkIsChild(from: State, to: State, verb: string): void {
  if (to.parent === from.id && to.id !== from.id) return
  throw treeRulesError(`${from.path} may not ${verb} ${to.path}, which is not its child`, from, to)
}

/**
 * The agent that `from` names: `parent`, `operator`, the name of a child or sibling, or any word that a user may write.
 * Throws AGENT_NOT_FOUND, AGENT_AMBIGUOUS.
 */
export function resolveRelative(store: Store, from: State, word: string): string {
  if (word === OPERATOR) return OPERATOR
  if (foldName(word) === 'parent') return from.parent ?? OPERATOR
  if (isUuid(word) || word.includes('/')) return resolveAgent(store, word)
  const child = livingChild(store, from.id, word)
  if (child !== undefined) return child
  if (from.parent !== null) {
    const sibling = livingChild(store, from.parent, word)
    if (sibling !== undefined) return sibling
    const parent = readableState(store, from.parent)
    if (parent?.name != null && foldName(parent.name) === foldName(word)) return parent.id
  }
  return resolveAgent(store, word)
}

/** The living agents that it may write to. */
export function relativesOf(store: Store, agent: State): { relation: Relation; state: State }[] {
  const parent = agent.parent === null ? undefined : readableState(store, agent.parent)
  const siblings = agent.parent === null ? [] : livingChildren(store, agent.parent)
  return [
    ...(parent === undefined ? [] : [{ relation: 'parent' as const, state: parent }]),
    ...livingChildren(store, agent.id).map((state) => ({ relation: 'child' as const, state })),
    ...siblings.filter(({ id }) => id !== agent.id).map((state) => ({ relation: 'sibling' as const, state })),
  ]
}

function treeRulesError(message: string, from: State, to: State): SubstratError {
  return new SubstratError('TREE_RULES', message, {
    hint: 'see the tree: substrat tree',
    facts: { agent_id: from.id, to: to.id },
  })
}
