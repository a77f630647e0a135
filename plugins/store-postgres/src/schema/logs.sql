-- Logs and blobs: reads parts of a log, and appends to it for the holder of the lease. Errors: as in leases.sql.

-- Bytes of a log in [p_from, p_to). PostgreSQL plans a plain function like this one within the statement that calls it. On a fresh
-- connection that takes half as long as a function that is planned by itself.
create or replace function substrat.part_of_log(p_agent uuid, p_from bigint, p_to bigint) returns table (bytes bytea)
language sql stable as $$
  select string_agg(
    substring(b.bytes
      from (greatest(p_from - b.first_byte, 0) + 1)::integer
      for (least(p_to, b.first_byte + length(b.bytes)) - greatest(p_from, b.first_byte))::integer),
    ''::bytea order by b.first_byte)
  from substrat.batch b
  where b.agent_id = p_agent and b.first_byte < p_to
    and b.first_byte >= coalesce(
      (select max(c.first_byte) from substrat.batch c where c.agent_id = p_agent and c.first_byte <= p_from), 0)
$$;

create or replace function substrat.log_bytes(p_agent uuid, p_from bigint, p_to bigint) returns bytea
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select l.bytes from substrat.part_of_log(p_agent, p_from, p_to) l
$$;

create or replace function substrat.store_blobs(p_agent uuid, p_blobs bytea[]) returns void
language sql as $$
  insert into substrat.blob select p_agent, encode(sha256(b), 'hex'), b from unnest(p_blobs) b on conflict do nothing
$$;

create or replace function substrat.write_blob(p_agent uuid, p_lease uuid, p_content bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  perform substrat.assert_lease(p_agent, p_lease);
  perform substrat.store_blobs(p_agent, array[p_content]);
end $$;

-- A batch that is sent again is recognized by its id, never by its content, which a rival could compute too. Locks the agent first: the
-- first attempt may still run.
create or replace function substrat.has_batch(p_agent uuid, p_lease uuid, p_batch uuid, p_offset bigint) returns boolean
language plpgsql as $$
begin
  perform 1 from substrat.agent a where a.id = p_agent for update;
  return exists (
    select from substrat.batch b
    where b.batch_id = p_batch and b.agent_id = p_agent and b.first_byte = p_offset and b.lease = p_lease);
end $$;

-- p_slot: a slot that the caller no longer uses, and its lease.
create or replace function substrat.append(
  p_agent uuid, p_lease uuid, p_batch uuid, p_offset bigint, p_bytes bytea, p_blobs bytea[], p_format integer,
  p_slot text, p_slot_lease uuid)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_end bigint;
begin
  perform substrat.make_durable();
  if substrat.has_batch(p_agent, p_lease, p_batch, p_offset) then return; end if;
  perform substrat.assert_lease(p_agent, p_lease);
  select a.log_bytes into v_end from substrat.agent a where a.id = p_agent;
  if v_end <> p_offset then
    raise exception 'the log ends at byte %, and the batch begins at byte %', v_end, p_offset using errcode = 'SBEND';
  end if;
  insert into substrat.batch (agent_id, first_byte, batch_id, lease, bytes)
    values (p_agent, p_offset, p_batch, p_lease, p_bytes);
  perform substrat.store_blobs(p_agent, p_blobs);
  update substrat.agent a set log_bytes = p_offset + length(p_bytes) where a.id = p_agent;
  update substrat.home h set format = p_format where h.format < p_format;
  perform substrat.release_hold(p_slot, p_slot_lease);
  perform substrat.wake_followers(p_agent);
end $$;

-- Appends the batch that ends a turn, if the inbox has exactly the messages of p_mail, in the order of their ids: other messages decide
-- what follows the turn. p_leaves: then also leaves the agent.
create or replace function substrat.end_turn(
  p_agent uuid, p_lease uuid, p_batch uuid, p_offset bigint, p_bytes bytea, p_blobs bytea[], p_format integer,
  p_slot text, p_slot_lease uuid, p_mail uuid[], p_leaves boolean, p_snapshot bytea, p_snapshot_log_bytes bigint,
  p_snapshot_last_offset bigint)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_mail uuid[];
begin
  -- First, because no call waits for this lock with an agent that it has locked.
  perform substrat.make_durable();
  -- With the batch came all that follows it, also if the agent has another holder by now.
  if substrat.has_batch(p_agent, p_lease, p_batch, p_offset) then return true; end if;
  perform substrat.assert_lease(p_agent, p_lease);
  v_mail := array(select m.message_id from substrat.mail m where m.recipient = p_agent and m.state = 'pending' order by 1);
  if v_mail is distinct from p_mail then
    perform substrat.release_hold(p_slot, p_slot_lease);
    return false;
  end if;
  perform substrat.append(
    p_agent, p_lease, p_batch, p_offset, p_bytes, p_blobs, p_format, p_slot, p_slot_lease);
  if p_leaves then
    perform substrat.rest(
      p_agent, p_lease, p_snapshot, p_snapshot_log_bytes, p_snapshot_last_offset, false, null, null);
  end if;
  return true;
end $$;

-- Cuts the log at p_end, keeps what was cut, and removes requests to other runs than p_run.
create or replace function substrat.repair(p_agent uuid, p_lease uuid, p_end bigint, p_run uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_end bigint;
begin
  perform substrat.make_durable();
  perform substrat.assert_lease(p_agent, p_lease);
  delete from substrat.request r where r.agent_id = p_agent and r.run_id is distinct from p_run;
  select a.log_bytes into v_end from substrat.agent a where a.id = p_agent;
  if p_end >= v_end then return; end if;
  insert into substrat.kept (agent_id, what, first_byte, bytes)
    values (p_agent, 'cut', p_end, substrat.log_bytes(p_agent, p_end, v_end));
  delete from substrat.batch b where b.agent_id = p_agent and b.first_byte >= p_end;
  update substrat.batch b set bytes = substring(b.bytes from 1 for (p_end - b.first_byte)::integer)
    where b.agent_id = p_agent and b.first_byte + length(b.bytes) > p_end;
  update substrat.agent a set log_bytes = p_end where a.id = p_agent;
end $$;
