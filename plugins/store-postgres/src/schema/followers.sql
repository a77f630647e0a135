-- Processes that follow logs.

-- A notification takes a lock that all commits share, so it is sent only if a process follows the agent, or all agents.
create or replace function substrat.wake_followers(p_agent uuid) returns void
language plpgsql as $$
begin
  if exists (
    select from substrat.edge e
    where e.kind = 'follow' and e.agent_id in (p_agent, '00000000-0000-0000-0000-000000000000')
      and e.expires_at > clock_timestamp()) then
    perform pg_notify('substrat', p_agent::text);
  end if;
end $$;
