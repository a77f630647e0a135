/** The predicates and steps of the functions, each with the facts that fail without it. */
export interface Mutation {
  /** The function. */
  in: string
  /** A part of its text, which `put` replaces. */
  drop: string
  put?: string
  breaks: string[]
}

export const MUTATIONS: Mutation[] = [
  {
    in: 'take',
    drop: ' for update',
    breaks: ['of two that take an agent at the same moment, one gets it'],
  },
  {
    in: 'take',
    drop: "if not found then raise exception 'agent % does not exist', p_agent using errcode = 'SBGON'; end if;",
    breaks: ['an agent that does not exist is not taken'],
  },
  {
    in: 'take',
    drop: 'v_lease <> p_lease and ',
    breaks: [
      'a take that is sent again gets the agent again',
      'a take with a slot that is sent again has the same slot',
    ],
  },
  {
    in: 'take',
    drop: ' and v_lease is distinct from p_dead',
    breaks: ['the lease of a dead holder is taken at once'],
  },
  {
    in: 'take',
    drop: ' and v_expires_at > clock_timestamp()',
    breaks: [
      'of two that take an agent at the same moment, one gets it',
      'a lease that is over is taken',
      'a host that takes an agent is not gone',
      'an agent of a lost holder comes without a slot',
    ],
  },
  {
    in: 'take',
    drop: 'if v_lease <> p_lease',
    put: 'if false and v_lease <> p_lease',
    breaks: [
      'an agent with a holder is not taken',
      'of two that take an agent at the same moment, one gets it',
    ],
  },
  {
    in: 'take',
    drop: 'clock_timestamp() + substrat.ttl(p_ttl_ms)\n    where a.id = p_agent;',
    put: 'clock_timestamp() + substrat.ttl(p_ttl_ms);',
    breaks: ['a take changes one agent'],
  },
  {
    in: 'take',
    drop: 'insert into substrat.marked values (p_agent) on conflict do nothing;',
    breaks: ['a free agent is taken, marked, and held for its time'],
  },
  {
    in: 'take',
    drop: 'delete from substrat.gone_host g where g.kernel_boot_id = p_boot;',
    breaks: ['a host that takes an agent is not gone'],
  },
  {
    in: 'take',
    drop: '+ substrat.ttl(p_ttl_ms)',
    breaks: [
      'a free agent is taken, marked, and held for its time',
      'of two that take an agent at the same moment, one gets it',
    ],
  },
  {
    in: 'append',
    drop: 'perform substrat.make_durable();',
    breaks: ['an append is durable although the role turned it off'],
  },
  {
    in: 'has_batch',
    drop: 'perform 1 from substrat.agent a where a.id = p_agent for update;',
    breaks: ['an append that is sent again waits for the first attempt'],
  },
  {
    in: 'has_batch',
    drop: 'b.batch_id = p_batch and ',
    breaks: ['another batch with the same bytes at the same place is refused'],
  },
  {
    in: 'has_batch',
    drop: ' and b.agent_id = p_agent',
    breaks: ['the batch of another agent is not taken for this one'],
  },
  {
    in: 'has_batch',
    drop: ' and b.first_byte = p_offset',
    breaks: ['the same batch at another place is refused'],
  },
  {
    in: 'has_batch',
    drop: ' and b.lease = p_lease',
    breaks: ['the batch of another lease is not taken for this one'],
  },
  {
    in: 'append',
    drop: 'if substrat.has_batch(p_agent, p_lease, p_batch, p_offset) then return; end if;',
    breaks: [
      'an append that is sent again is there once',
      'an append that is sent again waits for the first attempt',
    ],
  },
  {
    in: 'append',
    drop: 'perform substrat.assert_lease(p_agent, p_lease);',
    breaks: [
      'an append of a holder that was replaced is refused, also if the next holder has written nothing',
      'an append with a lease that is over is refused, also if no process has taken the agent',
      'an append to an agent that was removed is refused',
    ],
  },
  {
    in: 'append',
    drop: 'if v_end <> p_offset then',
    put: 'if false then',
    breaks: [
      'an append at another end of the log is refused',
      'another batch with the same bytes at the same place is refused',
      'the batch of another lease is not taken for this one',
    ],
  },
  {
    in: 'append',
    drop: 'length(p_bytes) where a.id = p_agent;',
    put: 'length(p_bytes);',
    breaks: ['an append changes one agent', 'the batch of another agent is not taken for this one'],
  },
  {
    in: 'append',
    drop: ' where h.format < p_format',
    breaks: ['an append of an older program does not lower the format of the home'],
  },
  {
    in: 'rest',
    drop: 'if p_snapshot_log_bytes > v_end then',
    put: 'if false then',
    breaks: ['a snapshot of a longer log is refused at the end of a visit'],
  },
  {
    in: 'assert_lease',
    drop: ' for update',
    breaks: ['a blob of a holder that is just being replaced is refused'],
  },
  {
    in: 'assert_lease',
    drop: "if not found then raise exception 'agent % does not exist', p_agent using errcode = 'SBGON'; end if;",
    breaks: ['an append to an agent that was removed is refused'],
  },
  {
    in: 'assert_lease',
    drop: 'if v_lease is distinct from p_lease then',
    put: 'if false then',
    breaks: [
      'an append of a holder that was replaced is refused, also if the next holder has written nothing',
      'a blob of a holder that is just being replaced is refused',
      'a holder that was replaced learns it at the end of a turn, also if a message came',
    ],
  },
  {
    in: 'assert_lease',
    drop: 'if v_expires_at <= clock_timestamp() then',
    put: 'if false then',
    breaks: ['an append with a lease that is over is refused, also if no process has taken the agent'],
  },
  {
    in: 'renew',
    drop: 'perform 1 from substrat.agent a where a.id = any (p_agents) order by a.id for update;',
    breaks: ['a renewal locks the agents in the order of their ids'],
  },
  {
    in: 'renew',
    drop: 'a.id = mine.id and ',
    breaks: ['a renewal changes one agent'],
  },
  {
    in: 'renew',
    drop: ' and a.lease = mine.lease',
    breaks: ['a lease that another process has is not renewed'],
  },
  {
    in: 'renew',
    drop: ' and a.expires_at > clock_timestamp()',
    breaks: ['a lease that is over is not renewed, also if no process has taken the agent'],
  },
  {
    in: 'renew',
    drop: 'a set expires_at = clock_timestamp() + substrat.ttl(p_ttl_ms)',
    put: 'a set expires_at = a.expires_at',
    breaks: ['a lease is renewed'],
  },
  {
    in: 'renew',
    drop: 'h.thing = mine.thing and ',
    breaks: ['a renewal changes one thing'],
  },
  {
    in: 'renew',
    drop: ' and h.lease = mine.lease',
    breaks: ['the right to a thing that another process has is not renewed'],
  },
  {
    in: 'renew',
    drop: ' and h.expires_at > clock_timestamp()',
    breaks: ['the right to a thing that is over is not renewed'],
  },
  {
    in: 'renew',
    drop: 'returning h.lease',
    put: 'returning null::uuid',
    breaks: ['the right to a thing is renewed'],
  },
  {
    in: 'renew',
    drop: 'e.lease = any (p_edges) and ',
    breaks: ['a wait is renewed, and no other'],
  },
  {
    in: 'renew',
    drop: ' and e.expires_at > clock_timestamp()',
    breaks: ['a wait that is over is not renewed'],
  },
  {
    in: 'put_mail',
    drop: 'perform substrat.make_durable();',
    breaks: ['a message is durable although the role turned it off'],
  },
  {
    in: 'put_mail',
    drop: "if p_to <> '00000000-0000-0000-0000-000000000000' then",
    put: 'if true then',
    breaks: ['the operator has an inbox'],
  },
  {
    in: 'put_mail',
    drop: ' for update',
    breaks: [
      'a message beside the end of a holder leaves its recipient marked',
      'the end of a turn is refused if a message is just coming',
    ],
  },
  {
    in: 'put_mail',
    drop: "if not found then raise exception 'agent % does not exist', p_to using errcode = 'SBGON'; end if;",
    breaks: ['a message to an agent that does not exist is refused'],
  },
  {
    in: 'put_mail',
    drop: 'insert into substrat.marked values (p_to) on conflict do nothing;',
    breaks: ['a message is there, and its recipient marked'],
  },
  {
    in: 'put_mail',
    drop: "where m.state = 'removed'",
    breaks: [
      'a message that is pending is not replaced',
      'the same call to another recipient is not taken for this one',
      'the same call with another message is not taken for this one',
      'a message that the same call has moved is not pending',
    ],
  },
  {
    in: 'put_mail',
    drop: "where m.state = 'removed'",
    put: 'where false',
    breaks: ['a message that was removed can be sent again'],
  },
  {
    in: 'put_mail',
    drop: 'm.recipient = p_to and ',
    breaks: ['the same call to another recipient is not taken for this one'],
  },
  {
    in: 'put_mail',
    drop: 'm.message_id = p_message and ',
    breaks: ['the same call with another message is not taken for this one'],
  },
  {
    in: 'put_mail',
    drop: 'm.changed_by = p_call and ',
    breaks: [
      'a message that is pending is not replaced',
      'the same call to another recipient is not taken for this one',
      'the same call with another message is not taken for this one',
    ],
  },
  {
    in: 'put_mail',
    drop: " and m.state = 'pending'",
    breaks: ['a message that the same call has moved is not pending'],
  },
  {
    in: 'put_mail',
    drop: 'return exists (',
    put: 'return false and exists (',
    breaks: ['a message that is sent again after a lost answer has the first outcome'],
  },
]
