/**
 * Markers: each says that an agent may need a visit. They are not fsynced, so after a new boot recovery visits every agent, and
 * `boots/` records that.
 */
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { Boots } from './boots.js'
import type { LockSystem } from './locks/lease.js'
import type { Visits } from './parts.js'
import { type HomePaths, parseMarker } from './paths.js'
import { sweepHome } from './sweep.js'

export class Markers implements Visits {
  private readonly boots: Boots

  constructor(
    private readonly paths: HomePaths,
    private readonly locks: LockSystem,
  ) {
    this.boots = new Boots(paths)
  }

  get isComplete(): boolean {
    return this.boots.isScanned()
  }

  markComplete(): void {
    this.boots.markScanned()
  }

  get lastTick(): string | undefined {
    return io.readIfThere('tick.read', this.paths.tick)?.toString('utf8')
  }

  markTick(at: string): void {
    replace('tick', this.paths.tick, Buffer.from(at), { durableName: false })
  }

  mark(agentId: string): void {
    const file = io.open('marker.create', this.paths.marker(agentId), 'create')
    io.close(file)
  }

  /**
   * Removes the marker if the agent needs no visit. The marker is renamed aside before the last check and still counts,
   * so no concurrent send is lost. A sender writes a temporary file into the inbox, marks, links the message, and marks
   * again. Either the last check sees the temporary file or the message, or it precedes both. If it precedes both, the
   * sender's mark comes after the rename aside, and stays. The same holds for what `clear` removes: an asker stores its stop
   * request, then marks.
   */
  unmark(agentId: string, needsVisit: () => boolean, clear: () => void = () => undefined): void {
    const marker = this.paths.marker(agentId)
    const aside = this.paths.closingMarker(agentId)
    if (needsVisit()) return
    // The marker may be aside already: its process died, or is unmarking an agent that was never created.
    io.renameIfThere('marker.aside', marker, aside)
    if (needsVisit()) return void io.renameIfThere('marker.restore', aside, marker)
    clear()
    io.unlink('marker.unlink', aside)
  }

  unmarkAbsent(agentId: string): void {
    this.unmark(agentId, () => this.isSpawning(agentId) || this.isThere(agentId))
  }

  /** Whether a spawn is creating the agent. Call it before looking for the agent, which may otherwise be missed. */
  isSpawning(agentId: string): boolean {
    return statIfThere('agents.stat', this.paths.spawning(agentId).root) !== undefined
  }

  private isThere(agentId: string): boolean {
    return statIfThere('agents.stat', this.paths.agent(agentId).root) !== undefined
  }

  /**
   * Call before acknowledging anything in an agent that another process created (durability rule 3). That process may
   * die between the rename and the fsync of the name, or may have died there. In that case the marker still exists.
   */
  syncNameOf(agentId: string): void {
    if (this.isMarked(agentId)) io.syncDirectory('agents.sync_directory', this.paths.agents)
  }

  /** Removes temporary files of the home, staging directories and remains of removed agents. */
  sweep(): number {
    return sweepHome(this.paths, this.locks)
  }

  isMarked(agentId: string): boolean {
    const markers = [this.paths.marker(agentId), this.paths.closingMarker(agentId)]
    return markers.some((path) => statIfThere('marker.stat', path) !== undefined)
  }

  markedIds(): string[] {
    const ids = io.listDirectory('marker.list', this.paths.unclean).map(parseMarker)
    return [...new Set(ids.filter((id) => id !== undefined))]
  }
}
