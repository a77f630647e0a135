/**
 * The agents of a home as sessions: the id of a session is the id of its agent, and its directory is the agent's workspace. So a
 * session can be loaded after any crash, by any client, and it is also there for the shell.
 */
import { randomUUID } from 'node:crypto'
import type { Store } from '../../shared/src/face/core.js'
import { FaceError } from '../../shared/src/face/face-error.js'
import { AgentSession, type Parts } from './agent-session.js'
import { Choices, settingOf } from './choices.js'
import { Prompting } from './prompting.js'
import type { Choice, Handlers, Listed, Stop } from './protocol.js'

const PAGE_SESSIONS = 100

export interface AgentsOptions extends Omit<Parts, 'store'> {
  openHome(): Store | undefined
  /** The arguments of `substrat spawn` for new agents. */
  spawn: string[]
}

export class Agents implements Handlers {
  private readonly sessions = new Map<string, AgentSession>()
  private readonly prompts = new Map<string, Map<Prompting, Promise<Stop>>>()
  private readonly choices: Choices

  constructor(private readonly options: AgentsOptions) {
    this.choices = new Choices(options.commands)
  }

  async create(workspace: string, mcpServers: string[]): Promise<{ id: string; choices: Choice[] }> {
    const args = ['spawn', `--workspace=${workspace}`, ...this.options.spawn, '--json']
    const { agent } = await this.options.commands.result<{ agent: { id: string } }>(args)
    const choices = await this.open(agent.id, false)
    if (mcpServers.length > 0) afterAnswer(() => this.sessions.get(agent.id)?.note(refusalOf(mcpServers)))
    return { id: agent.id, choices }
  }

  list(
    workspace: string | undefined,
    cursor: string | undefined,
  ): { sessions: Listed[]; next: string | undefined } {
    const { core, openHome } = this.options
    const all = core
      .listAgents(openHome(), { roots: false, all: false })
      .flatMap((agent) =>
        'workspace' in agent && (workspace === undefined || agent.workspace === workspace)
          ? [
              {
                id: agent.id,
                workspace: agent.workspace,
                title: agent.title ?? agent.path,
                updatedAt: agent.updated_at,
              },
            ]
          : [],
      )
      .sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1))
    const rest = cursor === undefined ? all : all.filter((session) => placeOf(session) < cursor)
    const sessions = rest.slice(0, PAGE_SESSIONS)
    const last = sessions.at(-1)
    return { sessions, next: last === undefined || rest.length <= PAGE_SESSIONS ? undefined : placeOf(last) }
  }

  async open(id: string, isReplayed: boolean): Promise<Choice[]> {
    const { core, commands, client, openHome } = this.options
    const store = openHome()
    const agentId = core.resolveAgent(store, id)
    // Only the whole id: updates name the session by it.
    if (agentId !== id || store === undefined)
      throw new FaceError('AGENT_NOT_FOUND', `there is no session ${id}`, 'list the sessions: substrat list')
    this.retire(id)
    const session = new AgentSession(id, { core, store, commands, client })
    this.sessions.set(id, session)
    await session.open(isReplayed)
    const choices = await this.choices.of(core.showAgent(store, id), (late) => client.choices(id, late))
    afterAnswer(() => session.begin())
    return choices
  }

  async prompt(id: string, text: string, key: string | undefined): Promise<Stop> {
    const prompting = new Prompting(this.sessionOf(id), text, key ?? `acp-${randomUUID()}`)
    const prompts = this.promptsOf(id)
    const ended = prompting.run()
    prompts.set(prompting, ended)
    try {
      return await ended
    } finally {
      prompts.delete(prompting)
      // A session that was loaded meanwhile shows the end of the turn before the answer.
      this.sessions.get(id)?.look()
    }
  }

  cancel(id: string): void {
    const prompts = this.promptsOf(id)
    for (const prompting of prompts.keys()) prompting.cancel()
    // A turn that the client saw going on when it loaded the session.
    const session = this.sessions.get(id)
    if (prompts.size === 0 && session?.history.open !== undefined) session.cancel()
  }

  /** The agent stays, and an approval that no prompt of this client waits for stays pending. */
  async close(id: string): Promise<void> {
    const session = this.sessionOf(id)
    const prompts = [...this.promptsOf(id)]
    for (const [prompting] of prompts) prompting.cancel()
    if (prompts.length === 0 && session.isRunning) await session.cancel().ended
    await Promise.allSettled(prompts.map(([, ended]) => ended))
    this.sessions.delete(id)
    session.close()
  }

  private promptsOf(id: string): Map<Prompting, Promise<Stop>> {
    const prompts = this.prompts.get(id) ?? new Map<Prompting, Promise<Stop>>()
    this.prompts.set(id, prompts)
    return prompts
  }

  /** A client that loads a session again sees only the new one. The prompts of the old one go on. */
  private retire(id: string): void {
    const session = this.sessions.get(id)
    if (session === undefined) return
    session.hide()
    void Promise.allSettled(this.promptsOf(id).values()).then(() => session.close())
  }

  async choose(id: string, choice: string, value: string): Promise<Choice[]> {
    const { core, store } = this.sessionOf(id).parts
    const setting = settingOf(core.showAgent(store, id), choice, value)
    if (setting === undefined)
      throw new FaceError('USAGE', `the agent has no setting ${choice}`, `substrat show ${id}`)
    await this.options.commands.result(['set', id, ...setting, '--json'])
    return this.choices.of(core.showAgent(store, id), () => undefined)
  }

  private sessionOf(id: string): AgentSession {
    const session = this.sessions.get(id)
    if (session !== undefined) return session
    throw new FaceError('AGENT_NOT_FOUND', `the session ${id} is not open`, 'load it first')
  }
}

/** The latest first. */
function placeOf({ updatedAt, id }: Listed): string {
  return `${updatedAt} ${id}`
}

/** A client may not know the session before it has the answer to its request. */
function afterAnswer(act: () => void): void {
  setTimeout(act, 0)
}

function refusalOf(mcpServers: string[]): string {
  return `substrat does not pass on the MCP servers of this client (${mcpServers.join(', ')}): the agent outlives the client. Model agents use the servers of a setting: substrat config set mcp_servers`
}
