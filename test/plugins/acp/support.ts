/** The provider of ACP as it is published, and agents that do what they are told. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtProvider } from '../built.js'
import { DrivenAgent } from '../driven-agent.js'

export const acp = await builtProvider('provider-acp')

export class Agent extends DrivenAgent {
  constructor(...habits: string[]) {
    super(acp, join(import.meta.dirname, 'agent.cjs'), habits)
  }

  /** What the agent has stored of its session. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever the agent was given
  stored(): any {
    return JSON.parse(readFileSync(this.file(), 'utf8'))
  }

  /** Puts something else in the place of what the agent has stored. */
  replace(stored: object): void {
    writeFileSync(this.file(), JSON.stringify(stored))
  }

  private file(): string {
    return join(this.store, `${this.sessionId()}.json`)
  }
}
