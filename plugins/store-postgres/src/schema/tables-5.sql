-- Schema version 5: what removed agents used. The bytes are those of the file in a home of files.
create table substrat.removed_agent (agent_id uuid primary key, bytes bytea not null);
