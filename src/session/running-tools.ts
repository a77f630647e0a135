/** The tools of a turn that run now, as its log has them. */
import type { RunningTool } from '../schema/output.js'
import type { OpenedAgent } from '../storage/store.js'
import type { SessionRecord } from './records.js'
import type { Run } from './state.js'

/** How far back to look for a start: a program may have used thousands of tools in its turn. */
const RECORDS_MAX = 2000

/** Oldest first. */
export function runningTools(log: OpenedAgent['log'], run: Run): RunningTool[] {
  const over = new Set<string>()
  const running = new Map<string, RunningTool>()
  let left = RECORDS_MAX
  for (const found of log.recordsFromEnd()) {
    const record = found.record as unknown as SessionRecord
    if (record.seq < run.start.seq || left-- === 0) break
    // The calls of an earlier start of the program have ended with it.
    if (record.kind === 'provider.started') break
    if (ENDS.includes(record.kind) && 'call_id' in record) over.add(record.call_id as string)
    if (record.kind === 'program.tool_started' || record.kind === 'tool.started') {
      const { call_id, tool, input = null, ts } = record
      if (!over.has(call_id)) running.set(call_id, { tool, input, started_at: ts })
    }
    if (record.kind !== 'model.responded') continue
    for (const { call_id, input = null } of record.calls ?? []) {
      const call = running.get(call_id)
      if (call !== undefined) call.input = input
    }
    break
  }
  return [...running.values()].reverse()
}

const ENDS: SessionRecord['kind'][] = ['tool.finished', 'tool.deferred', 'program.tool_finished']
