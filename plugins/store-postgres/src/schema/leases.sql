-- The protocol of leases, and of the logs in logs.sql. Each function is one transaction, locks agent rows in the order of their ids,
-- and may be sent again after a lost answer: it recognizes what it has done by the random id that the caller chose.
--
-- Errors: SBGON no such agent; SBLST the lease is not the caller's, or is over; SBEND the log has another end; SBDUP the agent exists.

-- The home is open, and an acknowledged change survives a crash of the server, whatever the role's default is.
create or replace function substrat.make_durable() returns void
language plpgsql as $$
begin
  perform substrat.assert_open();
  perform nextval('substrat.change');
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

create or replace function substrat.ttl(p_ms integer) returns interval
language sql immutable as $$ select least(greatest(p_ms, 500), 600000) * interval '1 millisecond' $$;

-- Locks the agent for its holder.
create or replace function substrat.assert_lease(p_agent uuid, p_lease uuid) returns void
language plpgsql as $$
declare
  v_lease uuid;
  v_expires_at timestamptz;
begin
  select a.lease, a.expires_at into v_lease, v_expires_at from substrat.agent a where a.id = p_agent for update;
  if not found then raise exception 'agent % does not exist', p_agent using errcode = 'SBGON'; end if;
  if v_lease is distinct from p_lease then
    raise exception 'another process has the lease' using errcode = 'SBLST';
  end if;
  if v_expires_at <= clock_timestamp() then raise exception 'the lease is over' using errcode = 'SBLST'; end if;
end $$;

create or replace function substrat.assert_hold(p_thing text, p_lease uuid) returns void
language plpgsql as $$
begin
  perform 1 from substrat.hold h
    where h.thing = p_thing and h.lease = p_lease and h.expires_at > clock_timestamp() for update;
  if not found then raise exception 'another process has %', p_thing using errcode = 'SBLST'; end if;
end $$;

-- An agent at one moment, with its log if that has at most 256 KiB. Of a longer one the last 256 KiB, which its holder checks, and the
-- last record that its snapshot covers. Of one whose snapshot is far behind as much from that record.
create or replace function substrat.agent_at_once(p_agent uuid)
returns table (
  snapshot bytea, log_bytes bigint, tail_from bigint, tail bytea,
  lease uuid, holder jsonb, left_ms bigint, mail uuid[], requests text[])
language sql stable as $$
  select a.snapshot, a.log_bytes, t.tail_from, l.bytes,
    a.lease, a.holder, (extract(epoch from a.expires_at - clock_timestamp()) * 1000)::bigint,
    array(select m.message_id from substrat.mail m where m.recipient = a.id and m.state = 'pending' order by 1),
    array(select r.run_id || '.' || r.verb from substrat.request r where r.agent_id = a.id order by 1)
  from substrat.agent a,
    lateral (
      select greatest(0, least(a.log_bytes - 262144, coalesce(a.snapshot_last_offset, 0))) as tail_from) t,
    lateral substrat.part_of_log(a.id, t.tail_from, least(a.log_bytes, t.tail_from + 393216)) l
  where a.id = p_agent
$$;

create or replace function substrat.open_agent(p_agent uuid)
returns table (
  snapshot bytea, log_bytes bigint, tail_from bigint, tail bytea,
  lease uuid, holder jsonb, left_ms bigint, mail uuid[], requests text[])
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select o.* from substrat.agent_at_once(p_agent) o
$$;

-- Agents for a list, in the order of p_agents, until they have p_bytes: at least one.
create or replace function substrat.open_agents(p_agents uuid[], p_bytes bigint)
returns table (
  id uuid, snapshot bytea, log_bytes bigint, tail_from bigint, tail bytea,
  lease uuid, holder jsonb, left_ms bigint, mail uuid[], requests text[])
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select p.id, o.*
  from (
    select a.id, row_number() over (order by u.place) as place,
      sum(coalesce(length(a.snapshot), 0) + least(a.log_bytes, 393216)) over (order by u.place) as bytes
    from unnest(p_agents) with ordinality u (id, place) join substrat.agent a on a.id = u.id) p,
    lateral substrat.agent_at_once(p.id) o
  where p.place = 1 or p.bytes <= p_bytes
  order by p.place
$$;

-- The facts that the caller of another function asks for next. p_after: its result, so that it is called before. Volatile: it sees what was
-- committed while that function waited for a lock.
create or replace function substrat.look(p_agent uuid, p_after text) returns table (mail uuid[], requests text[], change bigint)
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  select
    array(select m.message_id from substrat.mail m where m.recipient = p_agent and m.state = 'pending' order by 1),
    array(select r.run_id || '.' || r.verb from substrat.request r where r.agent_id = p_agent order by 1),
    -- That of the function before, which is durable when the caller has this answer.
    currval('substrat.change')
$$;

-- p_dead: a lease whose holder the caller knows to be dead. Without the lease, the answer names its holder. p_slots: the slots of which
-- the caller takes one next. It gets one now if the last holder has released the agent, so that no recovery comes before its turn.
-- p_wait_ms: how long it waits for a lock. p_seen: as in `distrusted`.
-- left_ms, if the caller got the agent: what was left of the lease before. Negative if that was over; 0 if unknown.
create or replace function substrat.take(
  p_agent uuid, p_lease uuid, p_dead uuid, p_holder jsonb, p_ttl_ms integer, p_boot text, p_opens boolean,
  p_slots text[], p_slot_lease uuid, p_wait_ms integer, p_seen bigint)
returns table (
  got boolean, distrusted jsonb, slot text, snapshot bytea, log_bytes bigint, tail_from bigint, tail bytea,
  lease uuid, holder jsonb, left_ms bigint, mail uuid[], requests text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_lease uuid;
  v_holder jsonb;
  v_expires_at timestamptz;
  v_slot text;
  v_distrusted jsonb;
  v_left_ms bigint := 0;
begin
  perform substrat.assert_open();
  perform set_config('lock_timeout', least(greatest(p_wait_ms, 50), 2000)::text, true);
  v_distrusted := substrat.distrusted(p_seen, p_ttl_ms);
  if v_distrusted is not null then
    return query select false, v_distrusted, null::text, null::bytea, null::bigint, null::bigint, null::bytea, null::uuid,
      null::jsonb, null::bigint, null::uuid[], null::text[];
    return;
  end if;
  -- Nothing relies on a lease before the first batch under it, whose commit makes both durable.
  perform set_config('synchronous_commit', 'off', true);
  select a.lease, a.holder, a.expires_at into v_lease, v_holder, v_expires_at
    from substrat.agent a where a.id = p_agent for update;
  if not found then raise exception 'agent % does not exist', p_agent using errcode = 'SBGON'; end if;
  if v_lease <> p_lease and v_lease is distinct from p_dead and v_expires_at > clock_timestamp() then
    return query select false, null::jsonb, null::text, null::bytea, null::bigint, null::bigint, null::bytea, v_lease, v_holder,
      (extract(epoch from v_expires_at - clock_timestamp()) * 1000)::bigint, null::uuid[], null::text[];
    return;
  end if;
  if v_lease is not null and v_lease <> p_lease then
    v_left_ms := (extract(epoch from v_expires_at - clock_timestamp()) * 1000)::bigint;
  end if;
  update substrat.agent a
    set lease = p_lease, holder = p_holder, expires_at = clock_timestamp() + substrat.ttl(p_ttl_ms)
    where a.id = p_agent;
  if p_opens then
    insert into substrat.marked values (p_agent) on conflict do nothing;
    delete from substrat.gone_host g where g.kernel_boot_id = p_boot;
    if p_slots is not null and (v_lease is null or v_lease = p_lease) then
      select h.got into v_slot from substrat.take_hold(p_slots, p_slot_lease, '{}', p_holder, p_ttl_ms) h;
    end if;
    return query select true, null::jsonb, v_slot, o.snapshot, o.log_bytes, o.tail_from, o.tail, o.lease, o.holder, v_left_ms,
      o.mail, o.requests from substrat.agent_at_once(p_agent) o;
  else
    return query select true, null::jsonb, null::text, null::bytea, null::bigint, null::bigint, null::bytea, p_lease, p_holder,
      v_left_ms, null::uuid[], null::text[];
  end if;
end $$;

-- p_fences: names of rights and their leases, which the creator must still have.
create or replace function substrat.create_agent(
  p_agent uuid, p_lease uuid, p_holder jsonb, p_ttl_ms integer, p_log bytea, p_snapshot bytea,
  p_snapshot_log_bytes bigint, p_snapshot_last_offset bigint, p_blobs bytea[], p_format integer, p_fences jsonb)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_fence record;
begin
  perform substrat.make_durable();
  if exists (select from substrat.agent a where a.id = p_agent and a.created_by = p_lease and a.lease = p_lease) then
    return;
  end if;
  if p_holder->>'command' <> 'substrat migrate'
    and exists (select from substrat.home h where h.migration->>'state' = 'arriving') then
    raise exception 'the home takes part in a migration' using errcode = 'SBMOV';
  end if;
  for v_fence in select key, value from jsonb_each_text(p_fences) loop
    perform substrat.assert_hold(v_fence.key, v_fence.value::uuid);
  end loop;
  insert into substrat.agent values (
    p_agent, length(p_log), p_snapshot, p_snapshot_log_bytes, p_snapshot_last_offset,
    p_lease, p_holder, clock_timestamp() + substrat.ttl(p_ttl_ms), p_lease)
    on conflict do nothing;
  if not found then raise exception 'agent % exists', p_agent using errcode = 'SBDUP'; end if;
  insert into substrat.batch (agent_id, first_byte, batch_id, lease, bytes)
    values (p_agent, 0, gen_random_uuid(), p_lease, p_log);
  perform substrat.store_blobs(p_agent, p_blobs);
  insert into substrat.marked values (p_agent) on conflict do nothing;
  update substrat.home h set format = p_format where h.format < p_format;
end $$;

-- Leaves and releases the agent, and a slot that the caller no longer uses. Its row lock, which `put_mail` takes too, lets no message be
-- missed.
create or replace function substrat.rest(
  p_agent uuid, p_lease uuid, p_snapshot bytea, p_snapshot_log_bytes bigint, p_snapshot_last_offset bigint,
  p_is_owed boolean, p_slot text, p_slot_lease uuid)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_end bigint;
begin
  perform substrat.make_durable();
  perform 1 from substrat.agent a where a.id = p_agent for update;
  if exists (
    select from substrat.agent a where a.id = p_agent and a.lease is null and a.ended_lease = p_lease) then
    return;
  end if;
  perform substrat.assert_lease(p_agent, p_lease);
  if p_snapshot is not null then
    -- A failover may have lost the end of the log.
    select a.log_bytes into v_end from substrat.agent a where a.id = p_agent;
    if p_snapshot_log_bytes > v_end then
      raise exception 'the log ends at byte %, and the snapshot covers % bytes', v_end, p_snapshot_log_bytes
        using errcode = 'SBEND';
    end if;
    update substrat.agent a
      set snapshot = p_snapshot, snapshot_log_bytes = p_snapshot_log_bytes,
        snapshot_last_offset = p_snapshot_last_offset
      where a.id = p_agent;
  end if;
  delete from substrat.mail m
    where m.recipient = p_agent and m.state = 'removed' and m.changed_at < clock_timestamp() - interval '1 day';
  if not p_is_owed and not exists (
    select from substrat.mail m where m.recipient = p_agent and m.state in ('pending', 'returning')) then
    delete from substrat.request r where r.agent_id = p_agent;
    delete from substrat.marked k where k.agent_id = p_agent;
  end if;
  update substrat.agent a set lease = null, expires_at = null, ended_lease = p_lease where a.id = p_agent;
  perform substrat.release_hold(p_slot, p_slot_lease);
  perform substrat.wake_followers(p_agent);
end $$;

create or replace function substrat.release(p_agent uuid, p_lease uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update substrat.agent a set lease = null, expires_at = null, ended_lease = p_lease
    where a.id = p_agent and a.lease = p_lease
$$;

-- With its names and its marker: a command that dies after this leaves nothing of the agent.
create or replace function substrat.remove_agent(p_agent uuid, p_lease uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  if not exists (select from substrat.agent a where a.id = p_agent) then return; end if;
  perform substrat.assert_lease(p_agent, p_lease);
  delete from substrat.agent a where a.id = p_agent;
  delete from substrat.mail m where m.recipient = p_agent;
  delete from substrat.name n where n.parent = p_agent or n.agent_id = p_agent;
  delete from substrat.edge e where e.agent_id = p_agent;
  delete from substrat.kept k where k.agent_id = p_agent;
  delete from substrat.marked k where k.agent_id = p_agent;
end $$;
