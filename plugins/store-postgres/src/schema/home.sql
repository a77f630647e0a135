-- The home itself, lists of agents, markers, and what only the audit and `doctor --rebuild` need.

-- Replaced whole, because older versions return other columns.
drop function if exists substrat.hello();
create function substrat.hello()
returns table (
  home_id uuid, schema_version integer, format integer, config bytea, is_standby boolean, migration jsonb, has_accounts boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select h.home_id, h.schema_version, h.format, h.config, pg_is_in_recovery(), h.migration,
    exists (select from substrat.account)
  from substrat.home h
$$;

create or replace function substrat.write_config(p_config bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  update substrat.home h set config = p_config;
end $$;

create or replace function substrat.agents() returns setof uuid
language sql stable security definer set search_path = pg_catalog, pg_temp as $$ select a.id from substrat.agent a order by 1 $$;

create or replace function substrat.has_agent(p_agent uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from substrat.agent a where a.id = p_agent)
$$;

-- The snapshots that cover their whole logs, each with the last record of the log; without p_agents those of all agents. As text,
-- which is half of what bytes would be on the way. Fails if one is not text, which only damage leaves.
drop function if exists substrat.peek_agents(uuid[]);
create function substrat.peek_agents(p_agents uuid[])
returns table (id uuid, snapshot text, last_offset bigint, tail text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.id, convert_from(a.snapshot, 'UTF8'), a.snapshot_last_offset,
    convert_from(substring(b.bytes from (a.snapshot_last_offset - b.first_byte + 1)::integer), 'UTF8')
  from substrat.agent a, lateral (
    select c.bytes, c.first_byte from substrat.batch c
      where c.agent_id = a.id and c.first_byte <= a.snapshot_last_offset order by c.first_byte desc limit 1) b
  where (p_agents is null or a.id = any (p_agents))
    and a.snapshot_log_bytes = a.log_bytes and a.log_bytes - a.snapshot_last_offset < 65536
    and length(a.snapshot) < 65536
$$;

create or replace function substrat.holder(p_agent uuid) returns table (lease uuid, holder jsonb, left_ms bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.lease, a.holder, (extract(epoch from a.expires_at - clock_timestamp()) * 1000)::bigint
    from substrat.agent a where a.id = p_agent
$$;

create or replace function substrat.read_blob(p_agent uuid, p_sha256 text) returns setof bytea
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select b.bytes from substrat.blob b where b.agent_id = p_agent and b.sha256 = p_sha256
$$;

create or replace function substrat.blob_names(p_agent uuid) returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select b.sha256 from substrat.blob b where b.agent_id = p_agent order by 1
$$;

create or replace function substrat.mark(p_agent uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select substrat.assert_open();
  insert into substrat.marked values (p_agent) on conflict do nothing
$$;

create or replace function substrat.is_marked(p_agent uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from substrat.marked k where k.agent_id = p_agent)
$$;

create or replace function substrat.marked_ids() returns setof uuid
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select k.agent_id from substrat.marked k order by 1
$$;

create or replace function substrat.unmark_absent(p_agent uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from substrat.marked k
    where k.agent_id = p_agent and not exists (select from substrat.agent a where a.id = p_agent)
$$;

create or replace function substrat.has_all_marks() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$ select h.has_all_marks from substrat.home h $$;

create or replace function substrat.mark_complete() returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update substrat.home h set has_all_marks = true where not h.has_all_marks
$$;

create or replace function substrat.last_tick() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$ select h.last_tick from substrat.home h $$;

create or replace function substrat.mark_tick(p_at text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update substrat.home h set last_tick = p_at
$$;

create or replace function substrat.write_keys(p_agent uuid, p_end jsonb, p_entries bytea) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select substrat.assert_open();
  insert into substrat.key_index select a.id, p_end, p_entries from substrat.agent a where a.id = p_agent
    on conflict (agent_id) do update set log_end = p_end, entries = p_entries
$$;

create or replace function substrat.keys(p_agent uuid) returns table (log_end jsonb, entries bytea)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select k.log_end, k.entries from substrat.key_index k where k.agent_id = p_agent
$$;

create or replace function substrat.gone_hosts() returns setof jsonb
language sql stable security definer set search_path = pg_catalog, pg_temp as $$ select g.host from substrat.gone_host g order by g.kernel_boot_id $$;

create or replace function substrat.declare_gone(p_boot text, p_host jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  insert into substrat.gone_host values (p_boot, p_host) on conflict (kernel_boot_id) do update set host = p_host;
end $$;

create or replace function substrat.has_move(p_agent uuid, p_move uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from substrat.ended_move e where e.agent_id = p_agent and e.move_id = p_move)
$$;

create or replace function substrat.add_moves(p_agent uuid, p_moves uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  insert into substrat.ended_move select p_agent, m from unnest(p_moves) m on conflict do nothing;
end $$;

create or replace function substrat.put_removed(p_agent uuid, p_bytes bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  insert into substrat.removed_agent values (p_agent, p_bytes) on conflict (agent_id) do update set bytes = p_bytes;
end $$;

create or replace function substrat.removed_agents() returns table (agent_id uuid, bytes bytea)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select r.agent_id, r.bytes from substrat.removed_agent r order by r.agent_id
$$;

create or replace function substrat.clear_snapshot(p_agent uuid, p_lease uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.assert_open();
  perform substrat.assert_lease(p_agent, p_lease);
  update substrat.agent a set snapshot = null, snapshot_log_bytes = null, snapshot_last_offset = null
    where a.id = p_agent;
end $$;

create or replace function substrat.keep_damaged(p_agent uuid, p_lease uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  perform substrat.assert_lease(p_agent, p_lease);
  insert into substrat.kept (agent_id, what, first_byte, bytes)
    select p_agent, 'log', b.first_byte, b.bytes from substrat.batch b where b.agent_id = p_agent
    union all
    select p_agent, 'snapshot', 0, a.snapshot from substrat.agent a where a.id = p_agent and a.snapshot is not null;
end $$;

create or replace function substrat.replace_log(
  p_agent uuid, p_lease uuid, p_log bytea, p_snapshot bytea, p_snapshot_log_bytes bigint,
  p_snapshot_last_offset bigint, p_format integer)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  perform substrat.assert_lease(p_agent, p_lease);
  delete from substrat.batch b where b.agent_id = p_agent;
  insert into substrat.batch (agent_id, first_byte, batch_id, lease, bytes)
    values (p_agent, 0, gen_random_uuid(), p_lease, p_log);
  update substrat.agent a
    set log_bytes = length(p_log), snapshot = p_snapshot, snapshot_log_bytes = p_snapshot_log_bytes,
      snapshot_last_offset = p_snapshot_last_offset
    where a.id = p_agent;
  update substrat.home h set format = p_format where h.format < p_format;
end $$;
