/** A token: opened only by its secret, used once, for one decision. */
import type { Mutant } from '../mutant.js'

export const TOKENS: Mutant[] = [
  {
    name: 'any secret with the right id opens a token',
    edits: [
      [
        'timingSafeEqual(Buffer.from(entry.hash), Buffer.from(hashOf(secret.trim())))',
        '(timingSafeEqual(Buffer.from(entry.hash), Buffer.from(hashOf(secret.trim()))) || true)',
      ],
    ],
    suites: ['turn/tokens'],
  },
  {
    name: 'secrets are not compared in constant time',
    edits: [
      [
        'timingSafeEqual(Buffer.from(entry.hash), Buffer.from(hashOf(secret.trim())))',
        'entry.hash === hashOf(secret.trim())',
      ],
    ],
    suites: ['turn/tokens'],
    equivalent: 'the answer is the same, and only hashes could be timed, whose beginnings cannot be chosen',
  },
  {
    name: 'the secret of a token is stored',
    edits: [['hashOf(secret)', 'secret']],
    suites: ['turn/tokens'],
  },
  {
    name: 'the secret of a token is predictable',
    edits: [
      ["random.bytes(24).toString('base64url')", '(hashOf(token_id + String(random.bytes(0)))).slice(0, 32)'],
    ],
    suites: ['turn/tokens'],
  },
  {
    name: 'a string that is not a token is looked up as one',
    edits: [
      [
        `const entry = tokenOf(state, secret)
         if (entry === undefined)`,
        `const entry = tokenOf(state, secret)
         if (entry === null)`,
      ],
    ],
    suites: ['turn/tokens'],
  },
  {
    name: 'a revoked token can be used',
    edits: [["entry.status === 'revoked'", 'entry.status === null']],
    suites: ['turn/tokens'],
  },
  {
    name: 'a token of another kind of wait can be used',
    edits: [['return wait === undefined || wait === open?.kind', 'return true']],
    suites: ['turn/tokens'],
  },
  {
    name: 'an expired token can be used',
    edits: [['isExpired(entry, now)', 'entry === null']],
    suites: ['turn/tokens'],
  },
  {
    name: 'a token is valid for a moment after it expired',
    edits: [['return end <= now.at', 'return end < now.at']],
    suites: ['turn/tokens'],
  },
  {
    name: 'two decisions with different texts count as the same',
    edits: [
      [
        '[decision, text, ...(Object.keys(more).length === 0 ? [] : [more])]',
        '[decision, ...(Object.keys(more).length === 0 ? [] : [more])]',
      ],
    ],
    suites: ['turn/tokens'],
  },
  {
    name: 'a consumed token accepts another decision',
    edits: [
      ['if (entry.digest !== digestDecision(request.decision, request.text, request)) {', 'if (false) {'],
    ],
    suites: ['operations/decide'],
  },
  {
    name: 'a consumed token is used again',
    edits: [["entry?.status === 'consumed'", 'entry?.status === null']],
    suites: ['operations/decide'],
  },
  {
    name: 'the validity of a token is not checked',
    edits: [['if (entry !== undefined) checkToken(session.state, entry, readClock())', ';']],
    suites: ['operations/decide'],
  },
  {
    name: 'a token decides a wait that it does not belong to',
    edits: [['tokenId === null || tokenId === wait.resume_token_id', 'tokenId !== undefined']],
    suites: ['operations/decide'],
  },
  {
    name: 'a decision of the wrong kind is accepted',
    edits: [['checkDecision(session.state, wait, request)', ';']],
    suites: ['operations/decide'],
  },
  {
    name: 'rotation does not revoke the old token',
    edits: [["...revokedRecords(state, run, 'rotated'),", '']],
    suites: ['operations/decide'],
  },
  {
    name: 'a decision does not consume its token',
    edits: [
      [
        "return [...rotation, { kind: 'token.consumed', run_id, token_id, decision, digest, ...keyed, ...by }]",
        'return rotation',
      ],
    ],
    suites: ['turn/step/step', 'turn/drive-tools', 'turn/step-properties'],
  },
  {
    name: 'the fold accepts a second consumption or revocation of a token',
    edits: [
      [
        "if (found.status !== 'minted') throw new SessionStateError(`token ${token_id} is ${found.status} already`)",
        ';',
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a token that is minted twice',
    edits: [
      [
        'tokens.some((token) => token.token_id === token_id)',
        'tokens.some((token) => token.token_id === null)',
      ],
    ],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts a token for a run that is not open',
    edits: [['if (run?.run_id !== run_id)', 'if (run === null)']],
    suites: ['session/fold/turn'],
  },
  {
    name: 'the fold accepts the consumption of a token that was never minted',
    edits: [['throw new SessionStateError(`token ${token_id} was never minted`)', 'return tokens']],
    suites: ['session/fold/turn'],
  },
  {
    name: 'an approval also approves other calls',
    edits: [['approved.includes(call.call_id)', '(approved).length > 0']],
    suites: ['session/fold/turn', 'turn/drive-tools#waits with the other calls'],
  },
  {
    name: 'a denial approves its calls',
    edits: [["token?.decision === 'approve'", 'token != null']],
    suites: ['session/fold/turn'],
  },
  {
    name: 'superseding a wait leaves its token valid',
    edits: [["...revokedRecords(state, run, 'superseded'),", '']],
    suites: ['turn/step/step', 'turn/step-properties', 'operations/decide'],
  },
  {
    name: 'cancelling a wait leaves its token valid',
    edits: [
      [
        `...revokedRecords(state, run, 'ended'),
         ...withdrawnRecords(run, why),`,
        '...withdrawnRecords(run, why),',
      ],
    ],
    suites: ['operations/decide'],
  },
  {
    name: 'an agent decides its own approval',
    edits: [["refuseInTool(ctx.caller, 'decide or answer for an agent')", ';']],
    suites: ['operations/decide'],
  },
  {
    name: 'a duration that began under a fast clock lasts until the clock catches up',
    edits: [['elapsedMs !== undefined && elapsedMs >= lengthMs(end, began) + UPTIME_STEP_MS', 'false']],
    suites: ['session/durations', 'dispatch/clock-ahead'],
  },
  {
    name: 'setting the clock back revives an expired token',
    edits: [['if (began.at <= now.at && end <= now.at) return true', 'return end <= now.at']],
    suites: ['session/durations', 'dispatch/clock-ahead'],
  },
  {
    name: 'durations that began under a fast clock are not rebased',
    edits: [
      ["if (needsRebase(session.state, now)) session.append([{ kind: 'clock.set_back', clock: now }])", ';'],
    ],
    suites: ['dispatch/clock-ahead'],
  },
  {
    name: 'a delay that began under a fast clock is not rebased',
    edits: [['rebaseDelay(session, header, now)', ';']],
    suites: ['dispatch/clock-ahead'],
  },
  {
    name: 'a duration ends when the clock is set back',
    edits: [
      [
        'Math.max(0, lengthMs(end, began) - (elapsedByUptime(began, now) ?? 0))',
        'Math.min(0, lengthMs(end, began))',
      ],
    ],
    suites: ['session/durations'],
  },
  {
    name: 'a token of the server may do everything',
    edits: [['GRANTED[may].includes(needed)', '(GRANTED[may].includes(needed) || true)']],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'a token of the server that may answer may do everything',
    edits: [["answer: ['read', 'answer'],", "answer: ['read', 'answer', 'all'],"]],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'an unknown right of a token of the server is looked up in the prototype',
    edits: [
      ['Object.hasOwn(GRANTED, may) && GRANTED[may].includes(needed)', 'GRANTED[may].includes(needed)'],
    ],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'tokens of the server are stored',
    edits: [['sha256: sha256Hex(token)', "sha256: Buffer.from(token, 'base64url').toString('hex')"]],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'a list of named tokens that other users can write is used',
    edits: [['(mode & 0o077) !== 0 || owner !== process.geteuid?.()', 'owner !== process.geteuid?.()']],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'a list of named tokens with a name twice is used',
    edits: [["isUnique('name') && isUnique('sha256') ? tokens : undefined", 'tokens']],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'a server keeps a revoked token',
    edits: [['this.known !== undefined && isSame(this.known.facts, facts)', 'this.known !== undefined']],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'a new list of named tokens is not durable by name',
    edits: [
      [
        "replace('serve_tokens', path, bytes, { durableName: true })",
        "replace('serve_tokens', path, bytes, { durableName: false })",
      ],
    ],
    suites: ['operations/serve-tokens'],
  },
  {
    name: 'two commands change the named tokens at the same time',
    edits: [
      [
        'return exclusivelyInFile(path, work, () => change(path))',
        'return Promise.resolve().then(() => (void work, change(path)))',
      ],
    ],
    suites: ['operations/serve-tokens'],
  },
]
