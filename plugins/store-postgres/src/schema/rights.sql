-- Rights besides those to agents, renewals, and waits.

-- Takes the first free one of these things. p_dead: leases whose holders the caller knows to be dead.
create or replace function substrat.take_hold(
  p_things text[], p_lease uuid, p_dead uuid[], p_holder jsonb, p_ttl_ms integer)
returns table (got text, busy jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_thing text;
begin
  select h.thing into v_thing from substrat.hold h where h.thing = any (p_things) and h.lease = p_lease;
  if found then return query select v_thing, null::jsonb; return; end if;
  foreach v_thing in array p_things loop
    insert into substrat.hold as h values (
      v_thing, p_lease, p_holder, clock_timestamp() + substrat.ttl(p_ttl_ms))
      on conflict (thing) do update
        set lease = excluded.lease, holder = excluded.holder, expires_at = excluded.expires_at
        where h.lease is null or h.expires_at <= clock_timestamp() or h.lease = any (p_dead);
    if found then return query select v_thing, null::jsonb; return; end if;
  end loop;
  return query select null::text, jsonb_agg(jsonb_build_object('lease', h.lease, 'holder', h.holder))
    from substrat.hold h where h.thing = any (p_things);
end $$;

create or replace function substrat.release_hold(p_thing text, p_lease uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update substrat.hold h set lease = null, expires_at = null where h.thing = p_thing and h.lease = p_lease
$$;

-- The holder of a thing, if its lease is not over.
create or replace function substrat.hold_of(p_thing text) returns table (holder jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select h.holder from substrat.hold h
    where h.thing = p_thing and h.lease is not null and h.expires_at > clock_timestamp()
$$;

-- Returns the leases that are still held. One that is over is not renewed, also if no other process has taken it.
create or replace function substrat.renew(
  p_agents uuid[], p_agent_leases uuid[], p_things text[], p_thing_leases uuid[], p_edges uuid[], p_ttl_ms integer)
returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform 1 from substrat.agent a where a.id = any (p_agents) order by a.id for update;
  return query update substrat.agent a set expires_at = clock_timestamp() + substrat.ttl(p_ttl_ms)
    from unnest(p_agents, p_agent_leases) as mine (id, lease)
    where a.id = mine.id and a.lease = mine.lease and a.expires_at > clock_timestamp()
    returning a.lease;
  return query update substrat.hold h set expires_at = clock_timestamp() + substrat.ttl(p_ttl_ms)
    from unnest(p_things, p_thing_leases) as mine (thing, lease)
    where h.thing = mine.thing and h.lease = mine.lease and h.expires_at > clock_timestamp()
    returning h.lease;
  return query update substrat.edge e set expires_at = clock_timestamp() + substrat.ttl(p_ttl_ms)
    where e.lease = any (p_edges) and e.expires_at > clock_timestamp()
    returning e.lease;
end $$;

create or replace function substrat.add_edge(
  p_lease uuid, p_kind text, p_agent uuid, p_recipient uuid, p_holder jsonb, p_ttl_ms integer)
returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into substrat.edge (lease, kind, agent_id, recipient, holder, expires_at)
    values (p_lease, p_kind, p_agent, p_recipient, p_holder, clock_timestamp() + substrat.ttl(p_ttl_ms))
    on conflict do nothing
$$;

create or replace function substrat.end_edge(p_lease uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from substrat.edge e where e.lease = p_lease
$$;

create or replace function substrat.edges(p_kind text, p_agent uuid)
returns table (recipient uuid, holder jsonb, since timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select e.recipient, e.holder, e.since from substrat.edge e
    where e.kind = p_kind and e.agent_id = p_agent and e.expires_at > clock_timestamp() order by e.since
$$;

-- Removes what dead writers left. Returns how much.
create or replace function substrat.sweep() returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_edges bigint;
begin
  delete from substrat.edge e where e.expires_at <= clock_timestamp();
  get diagnostics v_edges = row_count;
  delete from substrat.mail m where m.state = 'removed' and m.changed_at < clock_timestamp() - interval '1 day';
  return v_edges;
end $$;
