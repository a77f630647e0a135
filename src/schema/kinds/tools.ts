/** The records of tools, and of decisions about them. */
import { z } from 'zod'
import {
  ask,
  blob,
  content,
  decision,
  flag,
  group,
  integer,
  json,
  reading,
  text,
  time,
  uuid,
  waitKind,
} from '../types.js'
import { CHECK_FINDINGS } from '../words.js'
import { actor, call_id, kind, run_id, token_id, tool } from './kind.js'

export const tools = {
  'tool.started': kind('A call starts. Written before it runs.', {
    run_id,
    call_id,
    tool,
    group: group.optional().describe('If the tool is a program.'),
    input: json
      .optional()
      .describe(
        "Only if an agent program called one of substrat's tools. Otherwise `model.responded` has the input.",
      ),
    input_blob: blob.optional(),
  }),
  'tool.finished': kind('A call has its result. The model gets `content`.', {
    run_id,
    call_id,
    tool,
    content,
    is_error: flag,
    output: blob.optional(),
    timed_out: flag.optional().describe('Only if the tool was stopped at its time limit. Then true.'),
  }),
  'tool.repeated': kind(
    'A call whose result a crash lost runs again, by a rule of `on_unknown`. Written before it runs.',
    {
      run_id,
      call_id,
      tool,
      attempt: integer.describe('`SUBSTRAT_ATTEMPT`: 2 for the first repetition.'),
      group: group.optional().describe('If the tool is a program.'),
    },
  ),
  'tool.check_started': kind(
    'The command of a rule `check` starts, which finds out whether such a call was done.',
    {
      run_id,
      call_id,
      tool,
      command: text,
      group,
    },
  ),
  'tool.checked': kind('That command has ended.', {
    run_id,
    call_id,
    tool,
    found: z
      .enum(CHECK_FINDINGS)
      .describe('`done`: its output is the result of the call. `not_done`: the call runs again.'),
    content: content.describe('Its output.'),
  }),
  'tool.edited': kind(
    'A person changed the arguments of a call before approving it. Written with the approval. The call runs with these.',
    { run_id, call_id, tool, input: json.optional(), input_blob: blob.optional(), actor },
  ),
  'tool.deferred': kind(
    'The result of a started call will come from elsewhere. The run then waits for `tool_result`.',
    {
      run_id,
      call_id,
      tool,
      content: content.describe('The text of the tool about it, for a person.'),
      deadline_at: time.optional().describe('The tool asks for the result by then.'),
    },
  ),
  'program.tool_started': kind(
    'An agent program started its own tool. This record and the next are only for readers.',
    { run_id, call_id, tool, input: json.optional(), input_blob: blob.optional() },
  ),
  'program.tool_finished': kind('That tool finished.', {
    run_id,
    call_id,
    tool,
    content,
    is_error: flag,
    output: blob.optional(),
  }),
  'program.note': kind(
    'An agent program reported something to the user, such as a retried request. Also only for readers. Written with the next record.',
    { run_id, content: text },
  ),
  'program.output': kind(
    'The output of an agent program outside of its reply: the last 64 KiB of its stderr, and its stdout if the turn ended without a reply. Only for readers. Written with the next record.',
    {
      run_id,
      stream: z.enum(['stdout', 'stderr']),
      content,
      left_out: integer.optional().describe('How many bytes before `content` were left out.'),
    },
  ),
  'server.started': kind('A tool server (MCP) starts. It ends with the turn.', {
    run_id,
    server: text.describe('Its name in `mcp_servers`.'),
    group,
  }),
  'server.failed': kind('A tool server (MCP) did not start. The turn continues without its tools.', {
    run_id,
    server: text.describe('Its name in `mcp_servers`.'),
    why: text,
    stderr: text.optional().describe('The last 4 KiB of its stderr.'),
  }),
  'server.kept': kind('A server that outlives the turn starts. Written before it runs.', {
    server_id: uuid.describe('`SUBSTRAT_SERVER` in its environment.'),
    group,
  }),
  'server.stopped': kind('That server is gone.', { server_id: uuid }),
}

export const waits = {
  'token.minted': kind(
    'A resume token is created, in the same batch as `run.waiting`. The secret is `st_<token_id>_<random>`.',
    {
      run_id,
      token_id,
      hash: text.describe('SHA-256 of the whole secret, which is not stored.'),
      expires_at: time,
      clock: reading.optional(),
      wait: waitKind.optional().describe('The kind of wait that the token may end.'),
    },
  ),
  'token.consumed': kind('A decision was made with the token.', {
    run_id,
    token_id,
    decision: decision.describe('`input` is an answer, `result` a tool output from elsewhere.'),
    digest: text.describe(
      'SHA-256 of the JSON array `[decision, text]`. With `--failed`, `--call` or changed arguments, a third element has the object `{failed, call, edits}`. Only the same decision is acknowledged again.',
    ),
    key: text.optional().describe('`answer --key`: repeating the key returns the first outcome.'),
    clock: reading.optional(),
    actor,
  }),
  'token.revoked': kind('The token stops working: a new token, a new message, or the end of the run.', {
    run_id,
    token_id,
    reason: z
      .enum(['rotated', 'superseded', 'ended', 'expired'])
      .describe('`expired`: only in logs of format 1, which have no `token.expired`.'),
  }),
  'token.expired': kind('The deadline of the token passed before a decision.', { run_id, token_id }),
  'wait.answered': kind('A person decided a question of an agent program, never with `result`.', {
    run_id,
    decision,
    content: content.describe('The reason or answer. May be empty.'),
    asks: z.array(ask),
    actor,
  }),
}
