-- Schema version 2: followers of logs, and migrations of the home.
alter table substrat.edge drop constraint edge_kind_check;
alter table substrat.edge add constraint edge_kind_check check (kind in ('wait', 'arrival', 'follow'));

-- A migration that this home takes part in: {"id", "state": "arriving" | "leaving" | "left", "other"}.
alter table substrat.home add column migration jsonb;
