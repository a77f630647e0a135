-- The first statement of a command: the home, and the facts that its words say it reads next. All are of one moment.

-- Replaced whole, because other versions return other columns. p_key: a name that may be that of a root.
drop function if exists substrat.begin_command(text, boolean, boolean);
create function substrat.begin_command(p_key text, p_opens boolean, p_lists boolean)
returns table (
  home jsonb, config bytea, named jsonb, opened jsonb, opened_snapshot bytea, opened_tail bytea,
  agents uuid[], marked uuid[], is_complete boolean, id uuid, snapshot text, last_offset bigint, tail text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select to_jsonb(h) - 'config', h.config, to_jsonb(n),
    case when o.log_bytes is not null then to_jsonb(o) - 'snapshot' - 'tail' end, o.snapshot, o.tail,
    case when p_lists then array(select substrat.agents()) end,
    case when p_lists then array(select substrat.marked_ids()) end,
    case when p_lists then substrat.has_all_marks() end,
    null::uuid, null::text, null::bigint, null::text
  from substrat.hello() h
  left join lateral substrat.find_name('00000000-0000-0000-0000-000000000000', p_key) n on true
  left join lateral substrat.open_agent(case when p_opens then n.agent_id end) o on true
  union all
  select null, null, null, null, null, null, null, null, null, p.id, p.snapshot, p.last_offset, p.tail
  from substrat.peek_agents(null) p where p_lists
$$;

-- The same for a command that reads no more than a name. On a fresh connection, a third of the time of begin_command.
create or replace function substrat.begin_with_name(p_key text) returns table (home jsonb, config bytea, named jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select to_jsonb(h) - 'config', h.config, to_jsonb(n)
  from substrat.hello() h
  left join lateral substrat.find_name('00000000-0000-0000-0000-000000000000', p_key) n on true
$$;
