/**
 * What OpenCode asks permission for.
 *
 * Invariants: what is allowed, is a tool of substrat's, or was approved in these very words, is answered at once; what was
 * denied is rejected; anything else parks, and once something is parked nothing is allowed any more: the turn is aborted,
 * and a person is asked.
 */
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { askedInput, Decisions } from '../../shared/src/program/decisions.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** The names of substrat's own tools, which people have in their `--allow`, as the permissions of OpenCode. */
const PERMISSIONS: Record<string, string> = {
  shell: 'bash',
  read_file: 'read',
  write_file: 'edit',
  edit_file: 'edit',
  write: 'edit',
}

export class Permissions {
  /** What a person has to decide. */
  readonly parked: WaitAsk[] = []
  private readonly decisions: Decisions

  constructor(
    private readonly allow: string[],
    private readonly ownServer: string | undefined,
    decided: WaitAnswer | undefined,
  ) {
    this.decisions = new Decisions(decided)
  }

  /** `request` is what `permission.asked` has. */
  judge(request: JsonObject): 'once' | 'reject' | 'park' {
    const permission = textOf(request.permission) || 'unnamed'
    const isParked = this.parked.length > 0
    if (!isParked && this.isAllowed(permission)) return 'once'
    const ask = askOf(permission, request)
    const decision = isParked ? undefined : this.decisions.take(ask)
    if (decision !== undefined) return decision === 'granted' ? 'once' : 'reject'
    this.parked.push(ask)
    return 'park'
  }

  private isAllowed(permission: string): boolean {
    // OpenCode puts the server's name before those of its tools; substrat asks about them itself.
    if (this.ownServer !== undefined && permission.startsWith(`${this.ownServer}_`)) return true
    return this.allow.some((tool) => tool === 'all' || (PERMISSIONS[tool] ?? tool) === permission)
  }
}

function askOf(permission: string, { id, tool, metadata, patterns }: JsonObject): WaitAsk {
  const callId = textOf(objectOf(tool)?.callID) || textOf(id) || 'unnamed'
  return { call_id: callId, tool: permission, input: askedInput({ ...objectOf(metadata), patterns }) }
}
