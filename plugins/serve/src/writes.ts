/** The routes that start or continue a turn. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { CommandError, Refusal } from './problem.js'
import { type Answer, type Call, type Route, route } from './route.js'
import { findAgent } from './server.js'
import { accepted, turn } from './shapes.js'
import { hasKey, isRun, PREFER, runTurn, type TurnCommand } from './turns.js'

const timeout = z
  .string()
  .optional()
  .describe('How long to wait for a busy agent or a slot, such as `30s`; default: the timeout setting.')
const tokenId = z.string().optional().describe('Decide only if the agent waits for the token with this id.')
const names = z.array(z.string()).optional()

const TURN = {
  method: 'post' as const,
  tag: 'turns',
  isWrite: true as const,
  headers: { Prefer: PREFER },
  answers: {
    200: { description: 'With `Prefer: wait`: the turn has ended, or waits.', shape: turn },
    202: { description: 'The request is durable.', shape: accepted },
  },
}

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
      prompt: z.string().optional(),
      allow: names.describe('Tools that run without approval, as with `--allow`.'),
      if_exists: z.enum(['fail', 'use']).optional(),
      turn_timeout: z.string().optional(),
      timeout,
    }),
    answers: {
      201: { description: 'The agent is created. It has no turn yet.', shape: turn },
      ...TURN.answers,
    },
    handle: async (call) => {
      const { body } = call
      const { prompt, options = {}, allow } = body
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
          allow: allow?.join(','),
          'if-exists': body.if_exists,
          'turn-timeout': body.turn_timeout,
          timeout: body.timeout,
        }),
        ...Object.entries(options).map(([name, value]) => `--option=${name}=${value}`),
      ]
      if (prompt !== undefined) return runTurn(call, { args, input: `${prompt}\n`, isOurs: isRun() })
      return { status: 201, body: await call.server.children.result([...args, '--json']) }
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/messages',
    id: 'sendMessage',
    summary: 'Send a message to an agent',
    description: 'While the agent runs a turn or waits for a person, the message is stored in its inbox.',
    headers: {
      ...TURN.headers,
      'Idempotency-Key':
        'The key of the message (`--key`): a repeated key is delivered once and has the first outcome.',
    },
    body: z.object({
      content: z.string(),
      kind: z.enum(['request', 'notification']).optional(),
      if_busy: z.enum(['queue', 'wait', 'fail']).default('queue'),
      if_waiting: z.enum(['queue', 'fail', 'supersede']).default('queue'),
      queue: z.boolean().optional().describe('Only store the message in the inbox.'),
      retry: z
        .boolean()
        .optional()
        .describe('With a repeated key: run the message again if its turn did not complete.'),
      not_before: z.string().optional(),
      allow: names,
      max_steps: z.int().min(1).optional(),
      turn_timeout: z.string().optional(),
      timeout,
    }),
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
          queue: body.queue,
          retry: body.retry,
          'not-before': body.not_before,
          allow: body.allow?.join(','),
          'max-steps': body.max_steps?.toString(),
          'turn-timeout': body.turn_timeout,
          timeout: body.timeout,
        }),
      ]
      return runTurn(call, {
        args,
        input: `${body.content}\n`,
        isOurs: hasKey(server, agentId, key),
        canQueue: true,
      })
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/answer',
    id: 'answerQuestion',
    tag: 'decisions',
    summary: 'Answer the question of a waiting agent',
    headers: { ...TURN.headers, 'Idempotency-Key': 'Answers at most once (`--key`).' },
    body: z.object({ text: z.string(), timeout }),
    handle: (call) => {
      const { text, timeout } = call.body
      const key = call.headers.get('idempotency-key') ?? undefined
      return act(call, 'answer', ['-', ...flags({ key, timeout })], { input: `${text}\n` })
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/approve',
    id: 'approveCalls',
    tag: 'decisions',
    summary: 'Approve the pending tool calls of an agent',
    body: z.object({
      token_id: tokenId,
      always: z.boolean().optional().describe('Also allow these calls from the next turn on.'),
      timeout,
    }),
    handle: (call) => {
      const { token_id, always, timeout } = call.body
      return act(call, 'approve', [...words(token_id), ...flags({ always, timeout })])
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/deny',
    id: 'denyCalls',
    tag: 'decisions',
    summary: 'Deny the pending tool calls of an agent',
    body: z.object({ token_id: tokenId, reason: z.string().optional(), timeout }),
    handle: (call) => {
      const { token_id, reason, timeout } = call.body
      return act(call, 'deny', [...words(token_id), ...flags({ reason, timeout })])
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/resume',
    id: 'resumeAgent',
    tag: 'decisions',
    takesResumeToken: true,
    summary: 'Continue an agent, or decide its waiting turn with a resume token',
    description:
      'With `decision`, the resume token is the bearer token of the request or the field `token`. The operator can also use the other requests, without a resume token.',
    body: z.object({
      decision: z.enum(['approve', 'deny', 'input', 'result']).optional(),
      token: z.string().optional().describe('The resume token, if the bearer token is that of the operator.'),
      text: z.string().optional().describe('The answer, the reason of a denial, or the result.'),
      failed: z.boolean().optional().describe('With `result`: the result is an error.'),
      call_id: z.string().optional().describe('With `result`: the call that gets it.'),
      reseed: z
        .boolean()
        .optional()
        .describe('Without a decision: start a new session if the program has lost its own.'),
      timeout,
    }),
    handle: (call) => resumeWith(call),
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/retry',
    id: 'retryTurn',
    summary: 'Repeat the latest turn if it failed, timed out or was cancelled',
    body: z.object({ timeout }),
    handle: (call) => act(call, 'retry', flags({ timeout: call.body.timeout })),
  }),
]

interface ResumeBody {
  decision?: 'approve' | 'deny' | 'input' | 'result' | undefined
  token?: string | undefined
  text?: string | undefined
  failed?: boolean | undefined
  call_id?: string | undefined
  reseed?: boolean | undefined
  timeout?: string | undefined
}

function resumeWith(call: Call<unknown, ResumeBody>): Promise<Answer> {
  const { decision, text = '', failed, call_id: callId, reseed, timeout } = call.body
  const token = call.resumeToken ?? call.body.token
  if (decision === undefined) {
    if (token === undefined) return act(call, 'resume', flags({ reseed, timeout }))
    throw new Refusal('USAGE', 'a resume token needs a decision', 'add the field decision')
  }
  if (token === undefined)
    throw new Refusal(
      'TOKEN_MISSING',
      `the decision ${decision} needs a resume token`,
      'send it as the bearer token, or use the requests approve, deny or answer',
    )
  // In the environment, other users of the machine cannot see it.
  const env = { SUBSTRAT_TOKEN: token }
  switch (decision) {
    case 'approve':
      return act(call, 'resume', flags({ approve: true, timeout }), { env })
    case 'deny':
      return act(call, 'resume', flags({ deny: true, reason: text || undefined, timeout }), { env })
    case 'input':
      return act(call, 'resume', flags({ input: text, timeout }), { env })
    default: {
      const args = flags({ result: '-', failed, call: callId, timeout })
      return act(call, 'resume', args, { env, input: `${text}\n` })
    }
  }
}

/** Runs a command that continues a turn of the agent in the path. */
function act(
  call: Call<unknown, unknown>,
  command: string,
  args: string[],
  more: Pick<TurnCommand, 'input' | 'env'> = {},
): Promise<Answer> {
  const agentId = idFor(call)
  return runTurn(call, { args: [command, agentId, ...args], isOurs: isRun(agentId), ...more })
}

/** A resume token does not tell its holder which other agents exist. */
function idFor({ server, agent, resumeToken }: Call<unknown, unknown>): string {
  try {
    return findAgent(server, agent).agentId
  } catch (error) {
    if (resumeToken === undefined) throw error
    throw new CommandError({
      code: 'TOKEN_FOREIGN',
      message: 'the token is not for this agent',
      hint: 'use the agent and the token of one wait',
    })
  }
}

/** Also for a value that begins with a hyphen. */
function flags(given: Record<string, string | boolean | undefined>): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [value === true ? `--${name}` : `--${name}=${value}`]
  })
}

function words(word: string | undefined): string[] {
  if (word === undefined || (/^[\w-]+$/.test(word) && !word.startsWith('-')))
    return word === undefined ? [] : [word]
  throw new Refusal('USAGE', 'token_id is not the id of a token', 'copy it from wait.token_id of the agent')
}
