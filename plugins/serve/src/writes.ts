/** The routes that start or continue a turn. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { flags, optionFlags } from '../../shared/src/face/arguments.js'
import { isRun, isRunOfKey } from '../../shared/src/face/follow.js'
import { messageFields, messageFlags } from '../../shared/src/face/message-fields.js'
import { withFields } from './field-hint.js'
import { type Route, route } from './route.js'
import { findAgent, openStore } from './server.js'
import { turn } from './shapes.js'
import { continueTurn, runTurn, TURN, timeout } from './turns.js'

const messageBody = z.object({
  content: z.string(),
  kind: z.enum(['request', 'notification']).optional(),
  if_busy: z.enum(['queue', 'wait', 'fail']).default('queue'),
  if_waiting: z.enum(['queue', 'fail', 'supersede']).default('queue'),
  if_unknown: z
    .enum(['stop', 'continue'])
    .optional()
    .describe(
      'If a crash cut a tool call of the latest turn short: keep the message in the inbox until a person decides, or continue that turn first.',
    ),
  queue: z.boolean().optional().describe('Only store the message in the inbox.'),
  first: z
    .boolean()
    .optional()
    .describe('Overtake the messages that you queued for the agent before. Otherwise they run first.'),
  retry: z
    .boolean()
    .optional()
    .describe('With a repeated key: run the message again if its turn did not complete.'),
  not_before: z.string().optional(),
  ...messageFields,
  timeout,
})

export const WRITES: Route[] = [
  route({
    ...TURN,
    path: '/v1/agents',
    id: 'spawnAgent',
    summary: 'Create an agent, and with a prompt start its first turn',
    description: 'To repeat it safely, give it a name and `if_exists: use`.',
    body: z.object({
      name: z.string().optional(),
      parent: z.string().optional(),
      provider: z.string().optional(),
      model: z.string().optional(),
      instructions: z.string().optional(),
      workspace: z
        .string()
        .startsWith('/')
        .optional()
        .describe('Absolute; default: the directory of the server.'),
      options: z.record(z.string(), z.string()).optional().describe('Options of the provider.'),
      context: z
        .string()
        .optional()
        .describe(
          'How much of the earlier conversation a turn begins with: `all`, nothing (`turn`), or the last N turns (`last:N`).',
        ),
      on_unknown: z
        .array(z.string())
        .optional()
        .describe(
          'Rules for calls whose result a crash lost: `TOOL=rerun`, `stop`, `continue` or `check COMMAND`.',
        ),
      budget: z
        .string()
        .optional()
        .describe('Caps of the agent and everything below it, as in `tokens=2M/day,usd=5`.'),
      prompt: z.string().optional(),
      ...messageFields,
      if_exists: z.enum(['fail', 'use']).optional(),
      timeout,
    }),
    answers: {
      201: { description: 'The agent is created. It has no turn yet.', shape: turn },
      ...TURN.answers,
    },
    handle: async (call) => {
      const { body } = call
      const { prompt, options = {} } = body
      const args = [
        'spawn',
        ...(prompt === undefined ? [] : ['-']),
        ...flags({
          name: body.name,
          parent: body.parent === undefined ? undefined : findAgent(call.server, body.parent).agentId,
          provider: body.provider,
          model: body.model,
          system: body.instructions,
          workspace: body.workspace,
          context: body.context,
          budget: body.budget,
          'if-exists': body.if_exists,
          timeout: body.timeout,
        }),
        ...messageFlags(body),
        ...(body.on_unknown ?? []).map((rule) => `--on-unknown=${rule}`),
        ...optionFlags(options),
      ]
      if (prompt !== undefined) return runTurn(call, { args, input: `${prompt}\n`, isOurs: isRun() })
      return { status: 201, body: await call.server.commands.result([...args, '--json']) }
    },
  }),
  route({
    method: 'post',
    needs: 'all',
    tag: 'agents',
    path: '/v1/agents/{agent}/fork',
    id: 'forkAgent',
    summary: "Copy an agent's conversation into a new agent",
    body: z.object({
      at: z
        .string()
        .optional()
        .describe(
          'Only what came before this message of a person, or up to this reply or turn: an id, or the number of a turn.',
        ),
      name: z.string().optional(),
      provider: z.string().optional(),
      model: z.string().optional(),
      workspace: z.string().startsWith('/').optional().describe('Absolute; default: that of the original.'),
      options: z.record(z.string(), z.string()).optional().describe('Options of the provider.'),
    }),
    answers: { 201: { description: 'The new agent. It has no turn yet.', shape: turn } },
    handle: async ({ server, agent, body: { options = {}, ...body } }) => {
      const args = ['fork', findAgent(server, agent).agentId, ...flags(body), ...optionFlags(options)]
      return { status: 201, body: await server.commands.result([...args, '--json']) }
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/messages',
    id: 'sendMessage',
    summary: 'Send a message to an agent',
    description:
      'While the agent runs a turn or waits for a person, the message is stored in its inbox; the same holds if an interrupted turn or earlier messages run first.',
    headers: {
      ...TURN.headers,
      'Idempotency-Key':
        'The key of the message (`--key`): a repeated key is delivered once and has the first outcome.',
    },
    body: messageBody,
    handle: (call) => {
      const { server, body, headers } = call
      const { agentId } = findAgent(server, call.agent)
      // Without a key of the client, a key of the server tells this message from others in the stream of the command.
      const key = headers.get('idempotency-key') ?? `serve-${randomUUID()}`
      const args = [
        'send',
        agentId,
        '-',
        `--key=${key}`,
        ...flags({
          kind: body.kind,
          'if-busy': body.if_busy,
          'if-waiting': body.if_waiting,
          'if-unknown': body.if_unknown,
          queue: body.queue,
          first: body.first,
          retry: body.retry,
          'not-before': body.not_before,
          timeout: body.timeout,
        }),
        ...messageFlags(body),
      ]
      return runTurn(call, {
        args,
        input: `${body.content}\n`,
        isOurs: isRunOfKey(server.core, () => openStore(server), { agentId, key }),
        canQueue: true,
      }).catch((error) => {
        throw withFields(error, Object.keys(messageBody.shape))
      })
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/retry',
    id: 'retryTurn',
    summary: 'Repeat the latest turn if it failed, timed out or was cancelled',
    body: z.object({ timeout }),
    handle: (call) => continueTurn(call, 'retry', flags({ timeout: call.body.timeout })),
  }),
]
