/**
 * The inboxes of agents and of the operator.
 *
 * A crash leaves a message whole and fsynced, or not at all. `operator/taken/` holds the messages that the operator
 * took, so a sender that repeats itself after a crash delivers nothing twice.
 */
import { dirname } from 'node:path'
import { OPERATOR } from '../format.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { asideName } from './aside.js'
import { refuseExposedAgent } from './home-trust.js'
import { frame, type Unframed, unframeFile } from './log/frame.js'
import * as maildir from './maildir.js'
import type { Markers } from './markers.js'
import type { Mail } from './parts.js'
import type { HomePaths } from './paths.js'

export class Mailboxes implements Mail {
  constructor(
    private readonly paths: HomePaths,
    private readonly markers: Markers,
  ) {}

  /** On disk after a crash: perhaps a temporary file; then the marker, with or without the message. */
  put(to: string, messageId: string, message: object): boolean {
    const path = this.pathOf(to, messageId)
    if (to === OPERATOR) return !this.isTaken(messageId) && maildir.putMessage(path, frame(message))
    // Another user could have written files there.
    refuseExposedAgent(this.paths, this.paths.agent(to))
    this.markers.syncNameOf(to)
    // Before and after the message is stored: see `Markers.unmark`.
    const isNew = maildir.putMessage(path, frame(message), () => this.markers.mark(to))
    this.markers.mark(to)
    return isNew
  }

  /** Replaces a pending message. Needs the agent's lock. A crash leaves the old message or the new one, whole. */
  replace(to: string, messageId: string, message: object): void {
    replace('mail.replace', this.pathOf(to, messageId), frame(message), { durableName: true })
  }

  /** Also true while a sender is still storing its message, so that a concurrent send is not missed. */
  holdsAny(agentId: string): boolean {
    return maildir.hasMessages(this.paths.agent(agentId).inbox)
  }

  ids(to: string): string[] {
    return maildir.messageIdsIn(to === OPERATOR ? this.paths.operatorInbox : this.paths.agent(to).inbox)
  }

  /** Undefined if there is no such message. A file too large for a message, or of another user, counts as damaged. */
  read(to: string, messageId: string): Unframed | undefined {
    return readLine(this.pathOf(to, messageId))
  }

  /** Until `syncRemovals`, a power cut may bring the message back. False if it was already gone. */
  remove(to: string, messageId: string): boolean {
    return maildir.removeMessage(this.pathOf(to, messageId))
  }

  syncRemovals(agentId: string): void {
    maildir.syncMaildir(this.paths.agent(agentId).inbox)
  }

  /**
   * Marks a message for return, so that its sender can no longer withdraw it. One rename decides between the two, also
   * across a crash. False if the message is already gone.
   */
  setToReturn(agentId: string, messageId: string): boolean {
    const agent = this.paths.agent(agentId)
    return io.renameIfThere('mail.return', agent.mail(messageId), agent.returnedMail(messageId))
  }

  idsToReturn(agentId: string): string[] {
    return maildir.returnedIdsIn(this.paths.agent(agentId).inbox)
  }

  readToReturn(agentId: string, messageId: string): Unframed | undefined {
    return readLine(this.paths.agent(agentId).returnedMail(messageId))
  }

  /** Call once the sender has the answer. */
  removeReturned(agentId: string, messageId: string): void {
    maildir.removeMessage(this.paths.agent(agentId).returnedMail(messageId))
  }

  /** Undoes `setToReturn` for an unreadable message, so that a person can inspect it. */
  keepUnreturned(agentId: string, messageId: string): void {
    const agent = this.paths.agent(agentId)
    io.renameIfThere('mail.keep', agent.returnedMail(messageId), agent.mail(messageId))
  }

  pathOf(to: string, messageId: string): string {
    return to === OPERATOR ? this.paths.operatorMail(messageId) : this.paths.agent(to).mail(messageId)
  }

  /** Moves a message of the operator from `inbox/` to `taken/`. Durable on return. */
  take(messageId: string): void {
    const { operator, operatorTaken } = this.paths
    if (io.mkdir('mail.mkdir', operatorTaken)) io.syncDirectory('mail.sync_directory', operator)
    io.renameIfThere('mail.take', this.paths.operatorMail(messageId), this.paths.takenMail(messageId))
    io.syncDirectory('mail.sync_taken', operatorTaken)
  }

  /** Deletes taken messages stored before that time, and returns their number. With `isDryRun` it only counts them. */
  forgetTaken(beforeMs: number, isDryRun: boolean): number {
    let forgotten = 0
    for (const id of maildir.messageIdsIn(this.paths.operatorTaken)) {
      const path = this.paths.takenMail(id)
      const facts = statIfThere('mail.stat', path)
      if (facts === undefined || facts.modifiedMs >= beforeMs) continue
      if (isDryRun || io.unlink('mail.forget', path)) forgotten += 1
    }
    return forgotten
  }

  /** Renames the message to a name beside the messages. */
  setAside(to: string, messageId: string): string {
    const path = this.pathOf(to, messageId)
    const aside = asideName(path)
    io.rename('mail.aside', path, aside)
    io.syncDirectory('mail.sync_aside', dirname(path))
    return aside
  }

  private isTaken(messageId: string): boolean {
    return statIfThere('mail.stat', this.paths.takenMail(messageId)) !== undefined
  }
}

function readLine(path: string): Unframed | undefined {
  const bytes = maildir.readMessage(path)
  return bytes && unframeFile(bytes)
}
