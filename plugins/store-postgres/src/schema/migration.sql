-- Migrations of the home. A closed home refuses every change (SBMOV); an arriving one is opened only by `migrate`.

-- Every change of the home takes this lock for its transaction, and `leave_home` takes it alone: no change crosses the closing.
create or replace function substrat.assert_open() returns void
language plpgsql as $$
begin
  -- Otherwise a call would not see the changes that were committed while it waited for a lock.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'its transactions must be read committed (default_transaction_isolation)' using errcode = '0A000';
  end if;
  perform pg_advisory_xact_lock_shared(7305804403);
  if exists (select from substrat.home h where h.migration->>'state' in ('leaving', 'left')) then
    raise exception 'the home takes part in a migration' using errcode = 'SBMOV';
  end if;
end $$;

-- Each change of the target by `migrate` calls this in its statement: one that was stopped meanwhile changes nothing in a home that
-- another one has opened. `open_home` waits for the row.
create or replace function substrat.assert_arriving(p_migration text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform 1 from substrat.home h where h.migration->>'state' = 'arriving' and h.migration->>'id' = p_migration for share;
  if not found then raise exception 'the home no longer arrives' using errcode = 'SBMOV'; end if;
  return true;
end $$;

create or replace function substrat.is_empty() returns boolean
language sql stable as $$
  select not exists (select from substrat.agent) and not exists (select from substrat.mail)
    and not exists (select from substrat.home h where h.config is not null)
$$;

create or replace function substrat.migration_facts()
returns table (home_id uuid, migration jsonb, is_empty boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select h.home_id, h.migration, substrat.is_empty() from substrat.home h
$$;

-- From now on only `migrate` creates agents (`create_agent`).
create or replace function substrat.arrive_home(p_home_id uuid, p_migration jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from substrat.home h where h.home_id = p_home_id and h.migration->>'id' = p_migration->>'id') then return; end if;
  perform pg_advisory_xact_lock(7305804403);
  if not substrat.is_empty() or exists (select from substrat.home h where h.migration is not null) then
    raise exception 'the home is not empty' using errcode = 'SBMOV';
  end if;
  update substrat.home h set home_id = p_home_id, migration = p_migration;
  -- Hosts know the changes of the other database, where the home had this id. Its number is lower than the milliseconds since 1970, also
  -- if it has arrived there in the same way.
  perform setval('substrat.change', greatest(c.last_value, (extract(epoch from clock_timestamp()) * 1000)::bigint))
    from substrat.change c;
end $$;

-- The leases remain: `migrate` waits for their holders, whose tools may run.
create or replace function substrat.leave_home(p_migration jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'on', true);
  perform pg_advisory_xact_lock(7305804403);
  update substrat.home h set migration = p_migration where h.migration is null;
end $$;

-- p_migration, here and below: a command that was stopped meanwhile changes no other migration.
drop function if exists substrat.mark_home_left();
create or replace function substrat.mark_home_left(p_migration text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'on', true);
  update substrat.home h set migration = h.migration || '{"state": "left"}'
    where h.migration->>'state' = 'leaving' and h.migration->>'id' = p_migration;
end $$;

-- Opens a home that has arrived, or one that has not left.
drop function if exists substrat.open_home();
create or replace function substrat.open_home(p_migration text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'on', true);
  update substrat.home h set migration = null
    where h.migration->>'state' in ('arriving', 'leaving') and h.migration->>'id' = p_migration;
end $$;

create or replace function substrat.discard_home() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform 1 from substrat.home h where h.migration->>'state' = 'arriving' for update;
  if not found then return; end if;
  delete from substrat.agent;
  delete from substrat.mail;
  delete from substrat.name;
  delete from substrat.marked;
  delete from substrat.gone_host;
  delete from substrat.ended_move;
  delete from substrat.removed_agent;
  update substrat.home h set home_id = gen_random_uuid(), config = null, migration = null;
end $$;

create or replace function substrat.taken_mail() returns table (message_id uuid, bytes bytea, taken_ms bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.message_id, m.bytes, (extract(epoch from m.changed_at) * 1000)::bigint
    from substrat.mail m where m.state = 'taken' order by 1
$$;

create or replace function substrat.put_taken(p_message uuid, p_bytes bytea, p_taken_ms bigint) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into substrat.mail (recipient, message_id, state, changed_by, changed_at, bytes)
    values ('00000000-0000-0000-0000-000000000000', p_message, 'taken', gen_random_uuid(), to_timestamp(p_taken_ms / 1000.0), p_bytes)
    on conflict do nothing
$$;

create or replace function substrat.all_moves() returns table (agent_id uuid, move_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select e.agent_id, e.move_id from substrat.ended_move e order by 1, 2
$$;
