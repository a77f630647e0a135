-- Schema version 6: when a command last looked for due schedules.
alter table substrat.home add column last_tick text;
