/**
 * The inboxes of agents and of the operator.
 *
 * What is on disk if we die: a message is stored whole and synced, or not there. What the operator took is kept aside, so
 * that a sender who repeats itself after a crash brings nothing twice.
 */
import { dirname } from 'node:path'
import { OPERATOR } from '../format.js'
import { statIfThere } from '../host/disk/facts.js'
import * as io from '../host/disk/io.js'
import { replace } from '../host/disk/replace.js'
import { asideName } from './aside.js'
import { frame, type Unframed, unframeFile } from './log/frame.js'
import * as maildir from './maildir.js'
import type { HomePaths } from './paths.js'

export class Mailboxes {
  constructor(private readonly paths: HomePaths) {}

  /** Stored when it returns. False where a message of that id is stored, or was taken by the operator, already. */
  put(to: string, messageId: string, message: object, beforeLink?: () => void): boolean {
    if (to === OPERATOR && this.isTaken(messageId)) return false
    return maildir.putMessage(this.pathOf(to, messageId), frame(message), beforeLink)
  }

  /** By who holds the agent, of a message that waits there: the old one or the new is there, whole, whenever we die. */
  replace(to: string, messageId: string, message: object): void {
    replace('mail.replace', this.pathOf(to, messageId), frame(message), { durableName: true })
  }

  /** Also what is just being stored: whoever has begun to send is not passed over. */
  holdsAny(agentId: string): boolean {
    return maildir.hasMessages(this.paths.agent(agentId).inbox)
  }

  ids(to: string): string[] {
    return maildir.messageIdsIn(to === OPERATOR ? this.paths.operatorInbox : this.paths.agent(to).inbox)
  }

  /** Damaged also where it is too large to be a message. Undefined where there is none. */
  read(to: string, messageId: string): Unframed | undefined {
    return readLine(this.pathOf(to, messageId))
  }

  /** May come back in a power cut until `syncRemovals`. False where it was gone already. */
  remove(to: string, messageId: string): boolean {
    return maildir.removeMessage(this.pathOf(to, messageId))
  }

  syncRemovals(agentId: string): void {
    maildir.syncMaildir(this.paths.agent(agentId).inbox)
  }

  /**
   * To be sent back, and its sender cannot take it back itself any more. Which of the two it is, the name decides, also when
   * we die. False where it is gone already.
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

  /** Its sender has the answer. */
  removeReturned(agentId: string, messageId: string): void {
    maildir.removeMessage(this.paths.agent(agentId).returnedMail(messageId))
  }

  /** Of what cannot be read, for a person to look at. */
  keepUnreturned(agentId: string, messageId: string): void {
    const agent = this.paths.agent(agentId)
    io.renameIfThere('mail.keep', agent.returnedMail(messageId), agent.mail(messageId))
  }

  pathOf(to: string, messageId: string): string {
    return to === OPERATOR ? this.paths.operatorMail(messageId) : this.paths.agent(to).mail(messageId)
  }

  /** The operator has it. Durable when it returns. */
  take(messageId: string): void {
    const { operator, operatorTaken } = this.paths
    if (io.mkdir('mail.mkdir', operatorTaken)) io.syncDirectory('mail.sync_directory', operator)
    io.renameIfThere('mail.take', this.paths.operatorMail(messageId), this.paths.takenMail(messageId))
    io.syncDirectory('mail.sync_taken', operatorTaken)
  }

  /** Forgets what the operator took of what was sent before then; only counts it with `isDryRun`. Says how many. */
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

  /** What is no message, by its `pathOf`, is kept beside the messages, under a name that is none of theirs. Says where. */
  setAside(path: string): string {
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
