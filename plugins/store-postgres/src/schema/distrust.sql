-- A server that was promoted, or restored from a copy, may lack changes that it acknowledged, also leases: a host may still run the
-- programs of an agent that the server calls free. Programs end with the leases of their holders, so no agent is taken for one lease.
--
-- Two things show it. The timeline of a server changes at each promotion and each recovery to a point in time. And each durable change
-- counts `substrat.change` up, and each host keeps the highest number that it has seen: an older dump has a lower one.

-- Some servers have no timeline: then this returns null.
create or replace function substrat.timeline() returns text language sql volatile as $$ select null::text $$;
do $do$
begin
  perform pg_walfile_name(pg_current_wal_lsn());
  create or replace function substrat.timeline() returns text
  language sql volatile as $$ select left(pg_walfile_name(pg_current_wal_lsn()), 8) $$;
exception when others then null;
end $do$;

-- Why no agent is taken now; null otherwise. p_seen: the highest number of a change that the caller's host knows of.
create or replace function substrat.distrusted(p_seen bigint, p_ttl_ms integer) returns jsonb
language plpgsql as $$
declare
  v_timeline text := substrat.timeline();
  v_home record;
  v_last bigint;
begin
  select h.timeline, h.distrust into v_home from substrat.home h;
  select c.last_value into v_last from substrat.change c;
  if v_timeline <> v_home.timeline or p_seen > v_last then
    -- One of several callers begins it. A crash before its commit leaves the home as it was, and the next caller begins it.
    select h.timeline, h.distrust into v_home from substrat.home h for update;
    select c.last_value into v_last from substrat.change c;
    if v_timeline <> v_home.timeline or p_seen > v_last then
      v_home.distrust := jsonb_build_object(
        'since', clock_timestamp(), 'until', clock_timestamp() + substrat.ttl(p_ttl_ms),
        'why', case
          when v_timeline <> v_home.timeline then
            format('the server was promoted or recovered: its timeline was %s and is %s', v_home.timeline, v_timeline)
          else format('the latest change of the server is number %s, and a host has seen number %s: an older copy was restored, or a fail-over lost some', v_last, p_seen)
        end);
      perform set_config('synchronous_commit', 'on', true);
      update substrat.home h set timeline = v_timeline, distrust = v_home.distrust;
      -- This loss is known from now on. Another host may know of a later change.
      if p_seen > v_last then perform setval('substrat.change', p_seen); end if;
    end if;
  end if;
  if (v_home.distrust->>'until')::timestamptz > clock_timestamp() then return v_home.distrust; end if;
  return null;
end $$;
