import { clock } from '../../../src/clock.js'
import { OPERATOR } from '../../../src/format.js'
import type { Mail, Unframed } from '../../../src/storage/store.js'
import type { MemoryHome } from './memory-home.js'

export class MemoryMail implements Mail {
  constructor(private readonly home: MemoryHome) {}

  put(to: string, messageId: string, message: object): boolean {
    if (to !== OPERATOR) this.home.marked.add(to)
    else if (this.home.operatorTaken.has(messageId)) return false
    const inbox = this.inboxOf(to)
    if (inbox === undefined || inbox.has(messageId)) return false
    inbox.set(messageId, JSON.stringify(message))
    return true
  }

  replace(to: string, messageId: string, message: object): void {
    this.inboxOf(to)?.set(messageId, JSON.stringify(message))
  }

  ids(to: string): string[] {
    return [...(this.inboxOf(to)?.keys() ?? [])]
  }

  read(to: string, messageId: string): Unframed | undefined {
    return parsed(this.inboxOf(to)?.get(messageId))
  }

  remove(to: string, messageId: string): boolean {
    return this.inboxOf(to)?.delete(messageId) ?? false
  }

  syncRemovals(): void {}

  setToReturn(agentId: string, messageId: string): boolean {
    return this.move(agentId, messageId, 'inbox', 'toReturn')
  }

  idsToReturn(agentId: string): string[] {
    return [...(this.home.agents.get(agentId)?.toReturn.keys() ?? [])]
  }

  readToReturn(agentId: string, messageId: string): Unframed | undefined {
    return parsed(this.home.agents.get(agentId)?.toReturn.get(messageId))
  }

  removeReturned(agentId: string, messageId: string): void {
    this.home.agents.get(agentId)?.toReturn.delete(messageId)
  }

  keepUnreturned(agentId: string, messageId: string): void {
    this.move(agentId, messageId, 'toReturn', 'inbox')
  }

  take(messageId: string): void {
    if (this.home.operatorInbox.delete(messageId)) this.home.operatorTaken.set(messageId, clock.now())
  }

  forgetTaken(beforeMs: number, isDryRun: boolean): number {
    const old = [...this.home.operatorTaken].filter(([, at]) => at < beforeMs)
    if (!isDryRun) for (const [id] of old) this.home.operatorTaken.delete(id)
    return old.length
  }

  setAside(to: string, messageId: string): string {
    this.inboxOf(to)?.delete(messageId)
    return `memory:aside/${messageId}`
  }

  private move(
    agentId: string,
    messageId: string,
    from: 'inbox' | 'toReturn',
    to: 'inbox' | 'toReturn',
  ): boolean {
    const agent = this.home.agents.get(agentId)
    const message = agent?.[from].get(messageId)
    if (agent === undefined || message === undefined) return false
    agent[from].delete(messageId)
    agent[to].set(messageId, message)
    return true
  }

  private inboxOf(to: string): Map<string, string> | undefined {
    return to === OPERATOR ? this.home.operatorInbox : this.home.agents.get(to)?.inbox
  }
}

function parsed(json: string | undefined): Unframed | undefined {
  return json === undefined ? undefined : { object: JSON.parse(json) }
}
