-- Schema version 3: no tables. These functions have other arguments now, and would remain beside the new ones.
drop function if exists substrat.take(uuid, uuid, uuid, jsonb, integer, text, boolean);
drop function if exists substrat.append(uuid, uuid, uuid, bigint, bytea, bytea[], integer);
drop function if exists substrat.rest(uuid, uuid, bytea, bigint, bigint, boolean);
