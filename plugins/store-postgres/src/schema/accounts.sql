-- The accounts of budgets. They are caches of the logs: a write of an entry does not wait for the disk. The log record that relies on it is
-- written later and synced, so no crash of the server keeps the record and loses the entry.

create or replace function substrat.open_account(p_scope text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform substrat.assert_open();
  insert into substrat.account (scope) values (p_scope)
    on conflict (scope) do update set is_complete = false, version = substrat.account.version + 1;
end $$;

create or replace function substrat.read_accounts(p_scopes text[])
returns table (scope text, version bigint, is_complete boolean, entries jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.scope, coalesce(a.version, 0), coalesce(a.is_complete, false),
    coalesce((select jsonb_agg(e.entry) from substrat.account_entry e where e.scope = s.scope), '[]')
  from unnest(p_scopes) with ordinality s (scope, n)
  left join substrat.account a on a.scope = s.scope
  order by s.n
$$;

-- Stores the entries of each account, null for none, if no other process has changed an account since p_versions. False otherwise.
create or replace function substrat.put_accounts(p_scopes text[], p_versions bigint[], p_entries jsonb[]) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_account record;
begin
  perform substrat.assert_open();
  perform set_config('synchronous_commit', 'off', true);
  insert into substrat.account (scope) select unnest(p_scopes) on conflict do nothing;
  -- In the order of the caller, from the home down, so that no two processes wait for each other.
  for n in 1 .. cardinality(p_scopes) loop
    select a.version, a.is_complete into v_account from substrat.account a where a.scope = p_scopes[n] for update;
    if v_account.version <> p_versions[n] then return false; end if;
  end loop;
  for n in 1 .. cardinality(p_scopes) loop
    continue when p_entries[n] is null;
    delete from substrat.account_entry e using substrat.account a
      where e.scope = p_scopes[n] and a.scope = e.scope and not a.is_complete;
    insert into substrat.account_entry (scope, agent_id, entry)
      select p_scopes[n], (i.entry->>'agentId')::uuid, i.entry from jsonb_array_elements(p_entries[n]) i (entry)
      on conflict (scope, agent_id) do update set entry = excluded.entry;
    update substrat.account a set version = a.version + 1, is_complete = true where a.scope = p_scopes[n];
  end loop;
  return true;
end $$;
