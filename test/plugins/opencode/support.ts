/** The provider of OpenCode as it is published, and agents whose OpenCode does what it is told. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { builtProvider } from '../built.js'
import { DrivenAgent } from '../driven-agent.js'

export const opencode = await builtProvider('provider-opencode')

export class OpenCode extends DrivenAgent {
  constructor(...habits: string[]) {
    super(opencode, join(import.meta.dirname, 'opencode.cjs'), habits)
  }

  /** What it has stored of its session. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever it was given
  stored(): any {
    return JSON.parse(readFileSync(join(this.store, `${this.sessionId()}.json`), 'utf8'))
  }

  /** The tool server that it was given. */
  // biome-ignore lint/suspicious/noExplicitAny: it is whatever it was given
  server(): any {
    return JSON.parse(readFileSync(join(this.store, 'mcp'), 'utf8'))
  }
}
