-- Schema version 7: the accounts of budgets. `is_complete`: its entries were read from the logs once.
create table substrat.account (
  scope text primary key, version bigint not null default 0, is_complete boolean not null default false);
create table substrat.account_entry (
  scope text not null references substrat.account, agent_id uuid not null, entry jsonb not null,
  primary key (scope, agent_id));
