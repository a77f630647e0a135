/**
 * `import --reclaim`: takes back agents that left this home by a move. Their records are all here, with the mail that went along.
 *
 * The highest agent is opened first, which decides for all (`arrive.ts`). After a kill the same command opens the others, as does
 * the next visit to each.
 */
import { arriveAlone, arrivedMoves } from '../dispatch/arrive.js'
import { refuseInTool } from '../dispatch/caller.js'
import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import { SessionStateError } from '../errors.js'
import { unpackBundle } from '../files/bundle.js'
import { refused } from '../files/tar.js'
import { isPlainFile, readUserBytes } from '../files/user-files.js'
import { limits } from '../limits.js'
import type { ImportedAgents } from '../schema/output-home.js'
import type { State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import { resolveAgent } from '../tree/names.js'
import { treeOf } from './transfer/move-agents.js'

/** `word`: the file of the bundle, or the agent. */
export async function reclaim(ctx: Context, word: string): Promise<ImportedAgents> {
  refuseInTool(ctx.caller, 'take agents back')
  const { store } = ctx
  const { agentId, moveId } = meant(ctx, word)
  const top = readState(store, agentId)
  const below = treeOf(store, top, ({ moved }) => moved?.top === agentId).slice(1)
  if (top.moved !== undefined) {
    checkOwn(ctx, top, moveId)
    // A marked agent is visited, and so opened, by `recover --all`.
    for (const { id } of below) store.visits.mark(id)
    ctx.reporter.note(`if ${top.moved.to} was imported too, ${top.path} now lives in two homes`)
  } else if (below.length === 0) checkIsBack(ctx, top)
  for (const { id } of [top, ...below]) await arriveAlone(ctx, id, null)
  const agents = [top, ...below].map(({ id }) => viewAgent(store, readState(store, id)))
  return { agents, created: top.moved === undefined ? below.length : agents.length }
}

function meant({ store }: Context, word: string): { agentId: string; moveId?: string } {
  if (!isPlainFile(word)) return { agentId: resolveAgent(store, word) }
  const { manifest } = unpackBundle(readUserBytes(word, limits.bundleBytesMax))
  if (manifest.move_id === undefined) throw refused('its agents do not move: it has copies')
  return { agentId: resolveAgent(store, manifest.agents[0]?.id as string), moveId: manifest.move_id }
}

function checkOwn({ store }: Context, { id, path, moved }: State, moveId: string | undefined): void {
  const facts = { agent_id: id }
  if (moved?.home_id !== store.homeId)
    throw new SessionStateError(`${path} has not arrived in this home yet, so it cannot be taken back`, {
      hint: 'complete its move: repeat the import, or the export --to in its home',
      facts,
    })
  if (moved.top !== null)
    throw new SessionStateError(`${path} moved with agent ${moved.top}`, {
      hint: `take both back: substrat import --reclaim ${moved.top}`,
      facts,
    })
  if (moveId !== undefined && moveId !== moved.move_id)
    throw new SessionStateError(`${path} left this home with a later move than that of this bundle`, {
      hint: `take it back without the file: substrat import --reclaim ${id}`,
      facts,
    })
}

function checkIsBack(ctx: Context, top: State): void {
  if (top.state !== 'terminated' && arrivedMoves(ctx.store, top.id).length > 0) {
    ctx.reporter.note(`${top.path} is in this home already`)
    return
  }
  const why = top.state === 'terminated' ? howEnded(top) : 'lives in this home and did not move'
  throw new SessionStateError(`${top.path} ${why}, so it cannot be taken back`, {
    hint: `see it: substrat show ${top.id}`,
    facts: { agent_id: top.id },
  })
}
