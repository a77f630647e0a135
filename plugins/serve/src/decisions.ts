/** The routes that show and decide what a turn waits for, and `resume`. */
import { z } from 'zod'
import { flags } from '../../shared/src/face/arguments.js'
import { Refusal } from './problem.js'
import { type Answer, type Call, type Route, route } from './route.js'
import { checkScope } from './scope.js'
import { findAgent, type Server } from './server.js'
import { pendingShape } from './shapes.js'
import { continueTurn, TURN, timeout } from './turns.js'

const tokenId = z.string().optional().describe('Decide only if the agent waits for the token with this id.')

export const DECISIONS: Route[] = [
  route({
    method: 'get',
    needs: 'read',
    path: '/v1/agents/{agent}/pending',
    id: 'showPending',
    tag: 'decisions',
    summary: 'Show the tool calls that wait for approval, or the questions that wait for an answer, whole',
    description: 'Other answers shorten long arguments.',
    answers: { 200: { description: 'The calls.', shape: pendingShape } },
    handle: ({ server, agent }) => {
      const { store, agentId } = findAgent(server, agent)
      const ask = server.core.pendingAsk(store, agentId)
      if (ask?.kind !== 'approval') {
        const none = { token_id: null, calls: [], can_be_edited: false }
        return { status: 200, body: { ...none, questions: ask?.questions } }
      }
      const calls = ask.calls.map((call) => ({ ...call, ...changeOf(server, ask.workspace, call) }))
      return { status: 200, body: { token_id: ask.token_id, calls, can_be_edited: ask.canBeEdited } }
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/answer',
    id: 'answerQuestion',
    needs: 'answer',
    tag: 'decisions',
    summary: 'Answer the question of a waiting agent',
    headers: { ...TURN.headers, 'Idempotency-Key': 'Answers at most once (`--key`).' },
    body: z.object({ text: z.string(), timeout }),
    handle: (call) => {
      const { text, timeout } = call.body
      const key = call.headers.get('idempotency-key') ?? undefined
      return continueTurn(call, 'answer', ['-', ...flags({ key, timeout })], { input: `${text}\n` })
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/approve',
    id: 'approveCalls',
    needs: 'answer',
    tag: 'decisions',
    summary: 'Approve the pending tool calls of an agent',
    body: z.object({
      token_id: tokenId,
      always: z
        .boolean()
        .optional()
        .describe('Also allow these calls from the next turn on. Needs a token that may `all`.'),
      edits: z
        .array(z.object({ call_id: z.string(), input: z.record(z.string(), z.unknown()) }))
        .min(1)
        .optional()
        .describe('Run these calls with other arguments. Needs `token_id`, and a token that may `all`.'),
      add: z
        .string()
        .optional()
        .describe(
          'If the turn waits for a budget: how much more the agent may use, as in `tokens=200k`. Needs a token that may `all`.',
        ),
      once: z
        .boolean()
        .optional()
        .describe('If the turn waits for a budget: let it go on to its end. Needs a token that may `all`.'),
      timeout,
    }),
    handle: (call) => {
      const { token_id, always, edits, add, once, timeout } = call.body
      if (edits !== undefined) needAll(call, 'change the arguments of a call')
      if (always === true) needAll(call, 'allow later calls')
      if (add !== undefined || once === true) needAll(call, 'raise a budget')
      const args = [...words(token_id), ...flags({ always, timeout, add, once, edits: edits && '-' })]
      return continueTurn(call, 'approve', args, edits && { input: JSON.stringify(edits) })
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/deny',
    id: 'denyCalls',
    needs: 'answer',
    tag: 'decisions',
    summary: 'Deny the pending tool calls of an agent',
    body: z.object({ token_id: tokenId, reason: z.string().optional(), timeout }),
    handle: (call) => {
      const { token_id, reason, timeout } = call.body
      return continueTurn(call, 'deny', [...words(token_id), ...flags({ reason, timeout })])
    },
  }),
  route({
    ...TURN,
    path: '/v1/agents/{agent}/resume',
    id: 'resumeAgent',
    needs: 'answer',
    tag: 'decisions',
    takesResumeToken: true,
    summary: 'Continue an agent, or decide its waiting turn with a resume token',
    description:
      'With `decision`, the resume token is the bearer token of the request or the field `token`. The operator can also use the other requests, without a resume token. Without `decision`, it needs a token that may `all`.',
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
]

const DIFF_LINES_MAX = 400

/** The change of a file that the call would make, in the form of a diff. */
function changeOf(
  { core }: Server,
  workspace: string | undefined,
  call: Parameters<Server['core']['fileChange']>[1],
): { change?: object; no_change?: string } {
  const change = core.fileChange(workspace, call, DIFF_LINES_MAX)
  return change === undefined ? {} : typeof change === 'string' ? { no_change: change } : { change }
}

/** More than the decision about what the holder of the token sees. Throws INSUFFICIENT_SCOPE before the command starts. */
function needAll({ server, bearer }: Call<unknown, unknown>, what: string): void {
  if (bearer !== undefined) checkScope(server.core, bearer, 'all', what)
}

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
    if (token === undefined) {
      needAll(call, 'continue an agent without a decision')
      return continueTurn(call, 'resume', flags({ reseed, timeout }))
    }
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
      return continueTurn(call, 'resume', flags({ approve: true, timeout }), { env })
    case 'deny':
      return continueTurn(call, 'resume', flags({ deny: true, reason: text || undefined, timeout }), { env })
    case 'input':
      return continueTurn(call, 'resume', flags({ input: '-', timeout }), { env, input: `${text}\n` })
    default: {
      const args = flags({ result: '-', failed, call: callId, timeout })
      return continueTurn(call, 'resume', args, { env, input: `${text}\n` })
    }
  }
}

function words(word: string | undefined): string[] {
  if (word === undefined || (/^[\w-]+$/.test(word) && !word.startsWith('-')))
    return word === undefined ? [] : [word]
  throw new Refusal('USAGE', 'token_id is not the id of a token', 'copy it from wait.token_id of the agent')
}
