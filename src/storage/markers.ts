/**
 * Markers: each says that an agent may need a visit. They are not fsynced, so after a new boot recovery visits every agent.
 */
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { type HomePaths, parseMarker } from './paths.js'

export class Markers {
  constructor(private readonly paths: HomePaths) {}

  mark(agentId: string): void {
    const file = io.open('marker.create', this.paths.marker(agentId), 'create')
    io.close(file)
  }

  /**
   * Removes the marker if the agent needs no visit. The marker is renamed aside before the last check and still counts,
   * so no concurrent send is lost. A sender writes a temporary file into the inbox, marks, links the message, and marks
   * again. Either the last check sees the temporary file or the message, or it precedes both. If it precedes both, the
   * sender's mark comes after the rename aside, and stays.
   */
  unmark(agentId: string, needsVisit: () => boolean): void {
    const marker = this.paths.marker(agentId)
    const aside = this.paths.closingMarker(agentId)
    if (needsVisit()) return
    // The marker may be aside already: its process died, or is unmarking an agent that was never created.
    io.renameIfThere('marker.aside', marker, aside)
    if (needsVisit()) io.renameIfThere('marker.restore', aside, marker)
    else io.unlink('marker.unlink', aside)
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
