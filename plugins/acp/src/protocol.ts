/**
 * The only file that knows the Agent Client Protocol: it maps version 1 to the functions of an agent of substrat, and back.
 * A later version of the protocol gets its own file beside this one.
 */
import { Readable, Writable } from 'node:stream'
import {
  type AgentContext,
  agent,
  type ContentBlock,
  MessageTooLargeError,
  methods,
  type NewSessionResponse,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type SessionConfigOption,
  type SessionUpdate,
  type ToolCallContent,
  type ToolKind,
} from '@agentclientprotocol/sdk'
import { FaceError } from '../../shared/src/face/face-error.js'
import { LINE_BYTES_MAX, lineTooLong } from '../../shared/src/face/line-limit.js'
import type { Call } from './history.js'

export interface Listed {
  id: string
  workspace: string
  title: string
  updatedAt: string
}

/** A setting of the agent that the client can change. */
export interface Choice {
  id: 'model' | 'mode'
  name: string
  current: string
  values: { value: string; name: string }[]
}

export type Stop = 'end' | 'length' | 'steps' | 'refused' | 'cancelled'

/** The work of substrat for each request. */
export interface Handlers {
  /** `mcpServers`: the names of the client's own MCP servers. */
  create(workspace: string, mcpServers: string[]): Promise<{ id: string; choices: Choice[] }>
  list(
    workspace: string | undefined,
    cursor: string | undefined,
  ): { sessions: Listed[]; next: string | undefined }
  /** `isReplayed`: show the whole conversation before the answer. */
  open(id: string, isReplayed: boolean): Promise<Choice[]>
  prompt(id: string, text: string, key: string | undefined): Promise<Stop>
  cancel(id: string): void
  /** Settles when the turn that the client began has ended. */
  close(id: string): Promise<void>
  choose(id: string, choice: string, value: string): Promise<Choice[]>
}

type Verdict = 'once' | 'always' | 'denied' | 'undecided'

/** The client, as a session sees it. */
export interface Client {
  user(id: string, messageId: string, text: string): Promise<void>
  agent(id: string, messageId: string, text: string): Promise<void>
  call(id: string, call: Call, isRunning: boolean): Promise<void>
  progress(
    id: string,
    callId: string,
    status: 'in_progress' | 'completed' | 'failed',
    output: string | undefined,
  ): Promise<void>
  choices(id: string, choices: Choice[]): Promise<void>
  /** Asks a person. Also `undecided` once `signal` is aborted, and for a client that cannot ask now. */
  permit(id: string, call: Call, signal: AbortSignal): Promise<Verdict>
}

/** Serves ACP on stdin and stdout until the client closes them. Throws if a line of the client is too long. */
export async function serveAcp(
  version: string,
  handlersFor: (client: Client, editor: string | undefined) => Handlers,
): Promise<void> {
  const app = agent({ name: 'substrat' })
  let client: Client | undefined
  let editor: string | undefined
  let handlers: Handlers | undefined
  // Not before the first request for a session: the answer to `initialize` needs none of their code.
  const served = (): Handlers => {
    handlers ??= handlersFor(client as Client, editor)
    return handlers
  }
  app
    .onRequest(methods.agent.initialize, ({ params: { clientInfo } }) => {
      editor = clientInfo == null ? undefined : `${clientInfo.title ?? clientInfo.name} ${clientInfo.version}`
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: 'substrat', title: 'substrat', version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: [],
      }
    })
    .onRequest(methods.agent.authenticate, () => ({}))
    .onRequest(methods.agent.session.new, async ({ params }): Promise<NewSessionResponse> => {
      const servers = params.mcpServers.map(({ name }) => name)
      const { id, choices } = await answer(() => served().create(params.cwd, servers))
      return { sessionId: id, configOptions: choices.map(optionOf) }
    })
    .onRequest(methods.agent.session.list, async ({ params }) => {
      const { cwd, cursor } = params
      const { sessions, next } = await answer(() => served().list(cwd ?? undefined, cursor ?? undefined))
      return {
        sessions: sessions.map(({ id, workspace, title, updatedAt }) => ({
          sessionId: id,
          cwd: workspace,
          title,
          updatedAt,
        })),
        ...(next === undefined ? {} : { nextCursor: next }),
      }
    })
    .onRequest(methods.agent.session.load, async ({ params }) => ({
      configOptions: (await answer(() => served().open(params.sessionId, true))).map(optionOf),
    }))
    .onRequest(methods.agent.session.resume, async ({ params }) => ({
      configOptions: (await answer(() => served().open(params.sessionId, false))).map(optionOf),
    }))
    .onRequest(methods.agent.session.close, async ({ params }) => {
      await answer(() => served().close(params.sessionId))
      return {}
    })
    .onRequest(methods.agent.session.setConfigOption, async ({ params }) => {
      const { sessionId, configId, value } = params
      const choices = await answer(() => served().choose(sessionId, configId, String(value)))
      return { configOptions: choices.map(optionOf) }
    })
    .onRequest(methods.agent.session.prompt, async ({ params }): Promise<PromptResponse> => {
      const messageId = params._meta?.messageId
      const key = typeof messageId === 'string' && messageId !== '' ? `acp-${messageId}` : undefined
      const stop = await answer(() =>
        served().prompt(params.sessionId, params.prompt.map(textOf).join('\n'), key),
      )
      return { stopReason: STOP_REASONS[stop] }
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => served().cancel(params.sessionId))
  const input = Readable.toWeb(process.stdin) as ReadableStream
  const stream = ndJsonStream(Writable.toWeb(process.stdout), input, { maxMessageBytes: LINE_BYTES_MAX })
  const connection = app
    .onConnect((connected) => {
      client = new AcpClient(connected.client)
    })
    .connect(stream)
  await connection.closed
  if (connection.signal.reason instanceof MessageTooLargeError) throw lineTooLong()
}

const STOP_REASONS = {
  end: 'end_turn',
  length: 'max_tokens',
  steps: 'max_turn_requests',
  refused: 'refusal',
  cancelled: 'cancelled',
} as const satisfies Record<Stop, PromptResponse['stopReason']>

/** ACP's own code for a session that does not exist. */
const NOT_FOUND = -32002
const INVALID_PARAMS = -32602
const FAILED = -32603
const CODES: Record<string, number> = {
  AGENT_NOT_FOUND: NOT_FOUND,
  AGENT_AMBIGUOUS: NOT_FOUND,
  USAGE: INVALID_PARAMS,
}

async function answer<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    const { code, message = String(error), hint } = Object(error) as Partial<FaceError>
    const text = typeof hint === 'string' ? new FaceError('', message, hint).text : message
    throw new RequestError(CODES[String(code)] ?? FAILED, text, { code: code ?? 'UNEXPECTED' })
  }
}

class AcpClient implements Client {
  constructor(private readonly context: AgentContext) {}

  user(id: string, messageId: string, text: string): Promise<void> {
    return this.update(id, {
      sessionUpdate: 'user_message_chunk',
      content: { type: 'text', text },
      messageId,
    })
  }

  agent(id: string, messageId: string, text: string): Promise<void> {
    return this.update(id, {
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text },
      messageId,
    })
  }

  call(id: string, call: Call, isRunning: boolean): Promise<void> {
    const status = isRunning ? 'in_progress' : 'pending'
    return this.update(id, { sessionUpdate: 'tool_call', ...toolOf(call), status })
  }

  progress(
    id: string,
    toolCallId: string,
    status: 'in_progress' | 'completed' | 'failed',
    output: string | undefined,
  ): Promise<void> {
    const content: ToolCallContent[] | undefined =
      output === undefined || output === ''
        ? undefined
        : [{ type: 'content', content: { type: 'text', text: shortened(output) } }]
    return this.update(id, {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      ...(content === undefined ? {} : { content }),
    })
  }

  choices(id: string, choices: Choice[]): Promise<void> {
    return this.update(id, { sessionUpdate: 'config_option_update', configOptions: choices.map(optionOf) })
  }

  async permit(sessionId: string, call: Call, signal: AbortSignal): Promise<Verdict> {
    try {
      const { outcome } = await this.context.request(
        methods.client.session.requestPermission,
        {
          sessionId,
          toolCall: { ...toolOf(call), status: 'pending' },
          options: [
            { optionId: 'once', name: 'Allow', kind: 'allow_once' },
            { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
            { optionId: 'denied', name: 'Deny', kind: 'reject_once' },
          ],
        },
        { cancellationSignal: signal, stopWaitingOnCancel: true },
      )
      if (outcome.outcome !== 'selected') return 'undecided'
      return VERDICTS.find((verdict) => verdict === outcome.optionId) ?? 'undecided'
    } catch {
      return 'undecided'
    }
  }

  /** A client that is gone misses the update. It has it again when it loads the session. */
  private update(sessionId: string, update: SessionUpdate): Promise<void> {
    return this.context.notify(methods.client.session.update, { sessionId, update }).catch(() => undefined)
  }
}

const VERDICTS: Verdict[] = ['once', 'always', 'denied']

function optionOf({ id, name, current, values }: Choice): SessionConfigOption {
  return { type: 'select', id, category: id, name, currentValue: current, options: values }
}

/** A client shows the output to a person. The log has all of it. */
const OUTPUT_CHARACTERS_MAX = 32 * 1024

function shortened(text: string): string {
  if (text.length <= OUTPUT_CHARACTERS_MAX) return text
  return `${text.slice(0, OUTPUT_CHARACTERS_MAX)}\n… (${text.length - OUTPUT_CHARACTERS_MAX} more characters in the log)`
}

const KINDS: Record<string, ToolKind> = {
  shell: 'execute',
  read_file: 'read',
  write_file: 'edit',
  edit_file: 'edit',
}

function toolOf({ id, tool, input }: Call): {
  toolCallId: string
  name: string
  title: string
  kind: ToolKind
  rawInput: unknown
} {
  const { command, path } = Object(input) as Record<string, unknown>
  const title = typeof command === 'string' ? command : typeof path === 'string' ? `${tool} ${path}` : tool
  return { toolCallId: id, name: tool, title, kind: KINDS[tool] ?? 'other', rawInput: input }
}

/** A prompt of substrat is text. A client sends other content only if the agent offers to read it. */
function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'resource_link':
      return `[${block.name}](${block.uri})`
    case 'resource':
      return 'text' in block.resource ? `${block.resource.uri}:\n${block.resource.text}` : block.resource.uri
    default:
      throw new FaceError(
        'USAGE',
        `a prompt cannot contain content of the type ${block.type}`,
        'send it as text or as a link',
      )
  }
}
