-- Schema version 4: what shows that a server has lost changes, as after a fail-over or with an older dump (distrust.sql).
create sequence substrat.change;

-- The timeline of the server that the home was used on last, and why and until when no agent is taken.
alter table substrat.home add column timeline text;
alter table substrat.home add column distrust jsonb;

-- These functions return other columns now, or have other arguments.
drop function if exists substrat.take(uuid, uuid, uuid, jsonb, integer, text, boolean, text[], uuid);
drop function if exists substrat.look(uuid, text);
