-- Schema version 1: the tables of a home. Only the functions of this schema read and write them.
create schema substrat;
revoke all on schema substrat from public;

create table substrat.home (
  is_only boolean primary key default true check (is_only),
  home_id uuid not null default gen_random_uuid(),
  schema_version integer not null,
  format integer not null,
  config bytea,
  has_all_marks boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);

-- One row per agent. Its row lock orders every change of the agent: of its log, its lease and its inbox.
create table substrat.agent (
  id uuid primary key,
  log_bytes bigint not null,
  snapshot bytea,
  -- The end of the log that the snapshot covers, and the place of its last record.
  snapshot_log_bytes bigint,
  snapshot_last_offset bigint,
  -- The lease is random for each acquisition: no failover can issue it twice.
  lease uuid,
  holder jsonb,
  expires_at timestamptz,
  -- The lease that created the agent, and the last one that was given back: answers for statements that are sent again.
  created_by uuid not null,
  ended_lease uuid
);

-- The framed bytes of each append, as a home in files has them.
create table substrat.batch (
  agent_id uuid not null references substrat.agent on delete cascade,
  first_byte bigint not null,
  batch_id uuid not null unique,
  lease uuid not null,
  at timestamptz not null default clock_timestamp(),
  bytes bytea not null,
  primary key (agent_id, first_byte)
);
-- Uncompressed, so that a part of a batch is read without the rest.
alter table substrat.batch alter column bytes set storage external;

create table substrat.blob (
  agent_id uuid not null references substrat.agent on delete cascade,
  sha256 text not null,
  bytes bytea not null,
  primary key (agent_id, sha256)
);
alter table substrat.blob alter column bytes set storage external;

-- Bytes that a repair cut from the end of a log, and logs that a rebuild replaced.
create table substrat.kept (
  id uuid primary key default gen_random_uuid(),
  agent_id uuid not null,
  what text not null check (what in ('cut', 'log', 'snapshot')),
  first_byte bigint not null,
  at timestamptz not null default clock_timestamp(),
  bytes bytea not null
);
create index on substrat.kept (agent_id);

create table substrat.marked (agent_id uuid primary key);

-- The recipient of zeros is the operator. `changed_by` names the call that made the last change.
create table substrat.mail (
  recipient uuid not null,
  message_id uuid not null,
  state text not null check (state in ('pending', 'returning', 'removed', 'taken', 'aside')),
  changed_by uuid not null,
  changed_at timestamptz not null default clock_timestamp(),
  bytes bytea not null,
  primary key (recipient, message_id)
);

-- The parent of zeros stands for the roots. `key` is the folded name.
create table substrat.name (
  parent uuid not null,
  key text not null,
  name text not null,
  agent_id uuid not null,
  primary key (parent, key)
);
create index on substrat.name (agent_id);

-- Rights besides those to agents: an index of names, a slot.
create table substrat.hold (
  thing text primary key,
  lease uuid,
  holder jsonb,
  expires_at timestamptz
);

-- Waits between agents, and processes that wait with a message.
create table substrat.edge (
  lease uuid primary key,
  kind text not null check (kind in ('wait', 'arrival')),
  agent_id uuid not null,
  recipient uuid,
  holder jsonb not null,
  since timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
create index on substrat.edge (agent_id);

create table substrat.request (
  agent_id uuid not null references substrat.agent on delete cascade,
  run_id uuid not null,
  verb text not null,
  primary key (agent_id, run_id, verb)
);

create table substrat.key_index (
  agent_id uuid primary key references substrat.agent on delete cascade,
  log_end jsonb not null,
  entries bytea not null
);

create table substrat.gone_host (kernel_boot_id text primary key, host jsonb not null);

create table substrat.ended_move (agent_id uuid not null, move_id uuid not null, primary key (agent_id, move_id));
