-- The audit of `doctor`: where the tables contradict each other. One snapshot, so that no writer is seen half done.
create or replace function substrat.readable(p_time text) returns text
language sql stable as $$ select to_char(p_time::timestamptz at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || 'Z' $$;

create or replace function substrat.row_troubles() returns table (agent_id uuid, thing text, detail text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.id, 'agents/' || a.id, 'its log has ' || a.log_bytes || ' bytes, but its batches have ' || coalesce(b.bytes, 0)
    from substrat.agent a
    left join (select c.agent_id, sum(length(c.bytes)) as bytes from substrat.batch c group by 1) b on b.agent_id = a.id
    where a.log_bytes <> coalesce(b.bytes, 0)
  union all
  select b.agent_id, 'agents/' || b.agent_id,
    'a batch begins at byte ' || b.first_byte || ', but the batches before it end at byte ' || b.expected
    from (
      select c.agent_id, c.first_byte,
        coalesce(sum(length(c.bytes)) over (
          partition by c.agent_id order by c.first_byte rows between unbounded preceding and 1 preceding), 0) as expected
      from substrat.batch c) b
    where b.first_byte <> b.expected
  union all
  select a.id, 'agents/' || a.id, 'its snapshot covers bytes that the log does not have'
    from substrat.agent a
    where a.snapshot_log_bytes > a.log_bytes or a.snapshot_last_offset >= a.snapshot_log_bytes
  union all
  select a.id, 'agents/' || a.id, 'its lease has no holder or no end'
    from substrat.agent a where a.lease is not null and (a.holder is null or a.expires_at is null)
  union all
  select b.agent_id, 'blobs/' || b.agent_id || '/' || b.sha256, 'a blob does not have its SHA-256'
    from substrat.blob b where encode(sha256(b.bytes), 'hex') <> b.sha256
  union all
  select null, 'mail/' || m.recipient || '/' || m.message_id, 'a message is for an agent that does not exist'
    from substrat.mail m
    where m.recipient <> '00000000-0000-0000-0000-000000000000' and m.state in ('pending', 'returning')
      and not exists (select from substrat.agent a where a.id = m.recipient)
  union all
  -- For a day.
  select null, 'home', format(
      'at %s, no agent was taken until %s: %s; changes that were acknowledged shortly before may be missing',
      substrat.readable(h.distrust->>'since'), substrat.readable(h.distrust->>'until'), h.distrust->>'why')
    from substrat.home h where (h.distrust->>'since')::timestamptz > clock_timestamp() - interval '1 day'
  union all
  select null, 'holds/' || h.thing, 'a right has a lease without a holder or an end'
    from substrat.hold h where h.lease is not null and (h.holder is null or h.expires_at is null)
$$;
