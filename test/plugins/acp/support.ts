/** The built ACP provider, and scripted agents. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtProvider } from '../built.js'
import { DrivenAgent } from '../driven-agent.js'

export const acp = await builtProvider('provider-acp')

export class Agent extends DrivenAgent {
  constructor(...habits: string[]) {
    super(acp, join(import.meta.dirname, 'agent.cjs'), habits)
  }

  /** The agent's stored session. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever the agent was given
  stored(): any {
    return JSON.parse(readFileSync(this.file(), 'utf8'))
  }

  /** Replaces the agent's stored session. */
  replace(stored: object): void {
    writeFileSync(this.file(), JSON.stringify(stored))
  }

  private file(): string {
    return join(this.store, `${this.sessionId()}.json`)
  }
}
