/** The routes that stop agents or change them. Each answers when its command has ended. */
import { z } from 'zod'
import { allowList, flags } from '../../shared/src/face/arguments.js'
import { Refusal } from './problem.js'
import { type Call, type Route, route } from './route.js'
import { findAgent } from './server.js'
import { cancelled, changed, compacted, gated, inboxShape, terminated } from './shapes.js'

const timeout = z
  .string()
  .optional()
  .describe('How long to wait for a turn to stop; default: the timeout setting.')
const recursive = z.boolean().optional().describe('Also all agents below it.')

const CONTROL = { method: 'post' as const, tag: 'controls', needs: 'all' as const }

const messageId = z.string().regex(/^[0-9a-f-]{4,36}$/, 'not the id of a message')

export const CONTROLS: Route[] = [
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/take',
    id: 'takeMail',
    tag: 'mail',
    summary: 'Take messages out of your inbox: the agent is `operator`',
    body: z.object({
      messages: z.array(messageId).min(1).max(1000).describe('Their ids, or unique beginnings of ids.'),
    }),
    answers: { 200: { description: 'The messages that are no longer in the inbox.', shape: inboxShape } },
    handle: async ({ server, agent, body }) => {
      if (agent !== server.core.OPERATOR)
        throw new Refusal(
          'USAGE',
          'only the messages to the operator can be taken',
          'a turn of an agent delivers its messages: use the request resume',
        )
      // It prints them before it moves them out: a reader whose pipe is gone must not lose them.
      const { results } = await server.commands.finish(['inbox', '--take', '--json', ...body.messages])
      return { status: 200, body: results[0] as object }
    },
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/cancel',
    id: 'cancelTurn',
    summary: 'Cancel the running or waiting turn of an agent',
    body: z.object({
      recursive,
      force: z
        .boolean()
        .optional()
        .describe(
          'Kill the substrat process of the turn if it is stopped, or has not ended the turn after 2 s.',
        ),
      timeout,
    }),
    answers: { 200: { description: 'Each agent, and whether its turn was cancelled.', shape: cancelled } },
    handle: async (call) => ({ status: 200, body: await run(call, 'cancel', call.body) }),
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/suspend',
    id: 'suspendAgent',
    summary: 'Pause an agent after its current step',
    body: z.object({
      hold: z.boolean().optional().describe('Also start no new turn until it is resumed.'),
      timeout,
    }),
    answers: { 200: { description: 'The agent is suspended.', shape: changed } },
    handle: async (call) => ({ status: 200, body: await run(call, 'suspend', call.body) }),
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/compact',
    id: 'compactConversation',
    summary: 'Replace the beginning of a conversation with a summary',
    body: z.object({
      keep: z.number().int().nonnegative().optional().describe('How many of the latest exchanges stay.'),
      timeout,
    }),
    answers: {
      200: {
        description: 'The agent, and the number of messages that its model no longer gets.',
        shape: compacted,
      },
    },
    handle: async (call) => ({ status: 200, body: await run(call, 'compact', call.body) }),
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/set',
    id: 'setAgent',
    summary: 'Change the settings of an agent, from its next turn on',
    body: z.object({
      title: z.string().optional().describe('An empty text removes it.'),
      model: z.string().optional().describe('An empty text selects the default of a new agent.'),
      instructions: z.string().optional().describe('An empty text removes them.'),
      allow: z.array(z.string()).optional().describe('All tools that run without approval.'),
      disallow: z.array(z.string()).optional().describe('Entries of `allow` to take back.'),
      budget: z
        .string()
        .optional()
        .describe('All its caps, as in `tokens=2M/day,usd=5`. An empty text removes them.'),
      timeout,
    }),
    answers: { 200: { description: 'The agent after the change.', shape: changed } },
    handle: async (call) => {
      const { title, model, instructions, allow, disallow = [], budget, timeout } = call.body
      const args = [
        'set',
        findAgent(call.server, call.agent).agentId,
        ...flags({ title, model, system: instructions, allow: allowList(allow), budget, timeout }),
        ...disallow.flatMap((entry) => flags({ disallow: entry })),
        '--json',
      ]
      return { status: 200, body: await call.server.commands.result(args) }
    },
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/gate',
    id: 'gateAgent',
    summary: 'Stop an agent from starting turns',
    body: z.object({}),
    answers: { 200: { description: 'The agent and its gate.', shape: gated } },
    handle: async (call) => ({ status: 200, body: await run(call, 'gate', {}) }),
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/ungate',
    id: 'ungateAgent',
    summary: 'Let an agent start turns again',
    body: z.object({}),
    answers: { 200: { description: 'The agent and its gate.', shape: gated } },
    handle: async (call) => ({ status: 200, body: await run(call, 'ungate', {}) }),
  }),
  route({
    ...CONTROL,
    path: '/v1/agents/{agent}/terminate',
    id: 'terminateAgent',
    summary: 'End an agent permanently, but keep its log',
    body: z.object({ recursive, timeout }),
    answers: { 200: { description: 'The terminated agents.', shape: terminated } },
    handle: async (call) => {
      // With --recursive, the command prints one line per agent and ends after the last one.
      const args = argsOf(call, 'terminate', call.body)
      const { results } =
        call.body.recursive === true
          ? await call.server.commands.finish(args)
          : { results: [await call.server.commands.result(args)] }
      return { status: 200, body: { agents: (results as { agent: object }[]).map(({ agent }) => agent) } }
    },
  }),
]

interface Given {
  force?: boolean | undefined
  recursive?: boolean | undefined
  hold?: boolean | undefined
  keep?: number | undefined
  timeout?: string | undefined
}

/** The command prints its result once that is durable. It may then run turns for mail, which the answer does not wait for. */
function run(call: Call<unknown, unknown>, command: string, given: Given): Promise<unknown> {
  return call.server.commands.result(argsOf(call, command, given))
}

function argsOf({ server, agent }: Call<unknown, unknown>, command: string, given: Given): string[] {
  const { recursive, force, hold, keep, timeout } = given
  return [
    command,
    findAgent(server, agent).agentId,
    ...(recursive === true ? ['--recursive'] : []),
    ...(force === true ? ['--force'] : []),
    ...(hold === true ? ['--hold'] : []),
    ...(keep === undefined ? [] : [`--keep=${keep}`]),
    ...(timeout === undefined ? [] : [`--timeout=${timeout}`]),
    '--json',
  ]
}
