/**
 * Answers OpenCode's permission requests.
 *
 * Invariants:
 * - A request for substrat's tools, for a permission in `allow`, or approved in these very words is granted at once.
 * - A denied request is rejected.
 * - Any other request is parked. From then on nothing is granted: the turn is aborted, and the user decides.
 */
import type { JsonObject, WaitAnswer, WaitAsk } from 'substrat/provider'
import { askedInput, Decisions } from '../../shared/src/program/decisions.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'

/** OpenCode's permissions for the substrat tool names that users put in `--allow`. */
const PERMISSIONS: Record<string, string> = {
  shell: 'bash',
  read_file: 'read',
  write_file: 'edit',
  edit_file: 'edit',
  write: 'edit',
}

export class Permissions {
  /** The requests that the user must decide. */
  readonly parked: WaitAsk[] = []
  private readonly decisions: Decisions

  constructor(
    private readonly allow: string[],
    private readonly ownServer: string | undefined,
    decided: WaitAnswer | undefined,
  ) {
    this.decisions = new Decisions(decided)
  }

  /** `request` has the properties of `permission.asked`. */
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
    // OpenCode prefixes tool names with their server's. substrat asks about its own tools itself.
    if (this.ownServer !== undefined && permission.startsWith(`${this.ownServer}_`)) return true
    return this.allow.some((tool) => tool === 'all' || (PERMISSIONS[tool] ?? tool) === permission)
  }
}

function askOf(permission: string, { id, tool, metadata, patterns }: JsonObject): WaitAsk {
  const callId = textOf(objectOf(tool)?.callID) || textOf(id) || 'unnamed'
  return { call_id: callId, tool: permission, input: askedInput({ ...objectOf(metadata), patterns }) }
}
