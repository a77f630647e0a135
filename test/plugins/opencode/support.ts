/** The built OpenCode provider, and agents with a scripted OpenCode. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtProvider } from '../built.js'
import { DrivenAgent } from '../driven-agent.js'

export const opencode = await builtProvider('provider-opencode')

export class OpenCode extends DrivenAgent {
  constructor(...habits: string[]) {
    super(opencode, join(import.meta.dirname, 'opencode.cjs'), habits)
  }

  /** OpenCode's stored session. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever it was given
  stored(): any {
    return JSON.parse(readFileSync(join(this.store, `${this.sessionId()}.json`), 'utf8'))
  }

  /** The tool server that OpenCode received. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever it was given
  server(): any {
    return JSON.parse(readFileSync(join(this.store, 'mcp'), 'utf8'))
  }
}
