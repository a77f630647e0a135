-- Mail, names and stop requests.

-- Stores a message and marks its recipient under the row lock of the recipient, so that "terminated" and the message cannot cross.
create or replace function substrat.put_mail(p_to uuid, p_message uuid, p_bytes bytea, p_call uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  if p_to <> '00000000-0000-0000-0000-000000000000' then
    perform 1 from substrat.agent a where a.id = p_to for update;
    if not found then raise exception 'agent % does not exist', p_to using errcode = 'SBGON'; end if;
    insert into substrat.marked values (p_to) on conflict do nothing;
  end if;
  insert into substrat.mail as m (recipient, message_id, state, changed_by, bytes)
    values (p_to, p_message, 'pending', p_call, p_bytes)
    on conflict (recipient, message_id) do update
      set state = 'pending', changed_by = p_call, changed_at = clock_timestamp(), bytes = p_bytes
      where m.state = 'removed';
  if found then return true; end if;
  return exists (
    select from substrat.mail m
    where m.recipient = p_to and m.message_id = p_message and m.changed_by = p_call and m.state = 'pending');
end $$;

create or replace function substrat.replace_mail(p_to uuid, p_message uuid, p_bytes bytea) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  update substrat.mail m set bytes = p_bytes
    where m.recipient = p_to and m.message_id = p_message and m.state = 'pending';
end $$;

-- Moves a message from one state to another. One of several callers does it.
create or replace function substrat.move_mail(p_to uuid, p_message uuid, p_from text, p_state text, p_call uuid)
returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  update substrat.mail m
    set state = p_state, changed_by = p_call, changed_at = clock_timestamp(),
      bytes = case when p_state = 'removed' then ''::bytea else m.bytes end
    where m.recipient = p_to and m.message_id = p_message and m.state = p_from;
  if found then return true; end if;
  return exists (
    select from substrat.mail m
    where m.recipient = p_to and m.message_id = p_message and m.changed_by = p_call and m.state = p_state);
end $$;

create or replace function substrat.mail_ids(p_to uuid, p_state text) returns setof uuid
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.message_id from substrat.mail m where m.recipient = p_to and m.state = p_state order by 1
$$;

create or replace function substrat.read_mail(p_to uuid, p_message uuid, p_state text) returns setof bytea
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.bytes from substrat.mail m where m.recipient = p_to and m.message_id = p_message and m.state = p_state
$$;

create or replace function substrat.forget_taken(p_before_ms double precision, p_is_dry_run boolean) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_count bigint;
begin
  if p_is_dry_run then
    select count(*) into v_count from substrat.mail m
      where m.state = 'taken' and extract(epoch from m.changed_at) * 1000 < p_before_ms;
  else
    perform substrat.assert_open();
    delete from substrat.mail m
      where m.state = 'taken' and extract(epoch from m.changed_at) * 1000 < p_before_ms;
    get diagnostics v_count = row_count;
  end if;
  return v_count;
end $$;

create or replace function substrat.find_name(p_parent uuid, p_key text)
returns table (agent_id uuid, is_there boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select n.agent_id, exists (select from substrat.agent a where a.id = n.agent_id)
    from substrat.name n where n.parent = p_parent and n.key = p_key
$$;

create or replace function substrat.names(p_parent uuid) returns table (key text, name text, agent_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select n.key, n.name, n.agent_id from substrat.name n where n.parent = p_parent order by 1
$$;

create or replace function substrat.reserve_name(
  p_parent uuid, p_key text, p_name text, p_agent uuid, p_thing text, p_lease uuid)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.make_durable();
  perform substrat.assert_hold(p_thing, p_lease);
  insert into substrat.name values (p_parent, p_key, p_name, p_agent)
    on conflict (parent, key) do update set name = p_name, agent_id = p_agent;
end $$;

create or replace function substrat.forget_name(p_parent uuid, p_key text, p_thing text, p_lease uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.assert_open();
  perform substrat.assert_hold(p_thing, p_lease);
  delete from substrat.name n where n.parent = p_parent and n.key = p_key;
end $$;

create or replace function substrat.put_request(p_agent uuid, p_run uuid, p_verb text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.assert_open();
  insert into substrat.request select a.id, p_run, p_verb from substrat.agent a where a.id = p_agent
    on conflict do nothing;
  perform pg_notify('substrat', p_agent::text);
end $$;

create or replace function substrat.requests(p_agent uuid) returns setof text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select r.run_id || '.' || r.verb from substrat.request r where r.agent_id = p_agent order by 1
$$;

create or replace function substrat.remove_request(p_agent uuid, p_run uuid, p_verb text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select substrat.assert_open();
  delete from substrat.request r where r.agent_id = p_agent and r.run_id = p_run and r.verb = p_verb
$$;
