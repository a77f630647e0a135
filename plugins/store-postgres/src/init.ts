/** Makes or migrates the schema. One transaction: after a crash the database has the old schema or the new one. */
import type { Client } from 'pg'
import accounts from './schema/accounts.sql'
import audit from './schema/audit.sql'
import begin from './schema/begin.sql'
import distrust from './schema/distrust.sql'
import followers from './schema/followers.sql'
import home from './schema/home.sql'
import leases from './schema/leases.sql'
import logs from './schema/logs.sql'
import mail from './schema/mail.sql'
import migration from './schema/migration.sql'
import rights from './schema/rights.sql'
import tables from './schema/tables.sql'
import tables2 from './schema/tables-2.sql'
import tables3 from './schema/tables-3.sql'
import tables4 from './schema/tables-4.sql'
import tables5 from './schema/tables-5.sql'
import tables6 from './schema/tables-6.sql'
import tables7 from './schema/tables-7.sql'
import { SCHEMA_VERSION } from './schema-version.js'

/** Version n is what the first n migrations make. The functions are replaced each time. */
const MIGRATIONS = [tables, tables2, tables3, tables4, tables5, tables6, tables7]
/** Two commands at once would both create the schema. */
const LOCK = 7_305_804_402

/** For `substrat.let_read`, a role may execute the functions that change nothing. */
const READERS = `create or replace function substrat.let_read(p_role text) returns void
language plpgsql as $fn$
declare
  v_function regprocedure;
begin
  execute format('grant usage on schema substrat to %I', p_role);
  for v_function in
    select p.oid from pg_proc p
    where p.pronamespace = 'substrat'::regnamespace and p.prosecdef and p.provolatile = 's'
  loop
    execute format('grant execute on function %s to %I', v_function, p_role);
  end loop;
end $fn$`

/** New functions are for the same roles as the old ones, also for the owner of the schema if another role replaces them. */
const GRANT_AGAIN = `do $$
declare
  v_role text;
  v_append regprocedure := (select p.oid from pg_proc p where p.pronamespace = 'substrat'::regnamespace and p.proname = 'append');
  v_may_list boolean;
begin
  for v_role in
    select distinct r.rolname
    from pg_namespace n
      left join lateral aclexplode(n.nspacl) a on a.privilege_type = 'USAGE'
      join pg_roles r on r.oid in (a.grantee, n.nspowner)
    where n.nspname = 'substrat'
  loop
    v_may_list := has_function_privilege(v_role, 'substrat.agents()', 'execute');
    if v_may_list and not has_function_privilege(v_role, v_append, 'execute') then
      perform substrat.let_read(v_role);
    else
      execute format('grant execute on all functions in schema substrat to %I', v_role);
    end if;
  end loop;
end $$`

/**
 * The planner overestimates functions that return rows, and PostgreSQL then compiles a query that takes a millisecond, for half a
 * second. And no function waits for long for a lock: its caller decides whether to ask again (`Attempts`).
 */
const WITH_LIMITS = `do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p where p.pronamespace = 'substrat'::regnamespace and p.prosecdef
  loop
    execute format('alter function %s set jit = off', v_function);
    execute format('alter function %s set lock_timeout = ''2s''', v_function);
  end loop;
end $$`

export type Made =
  | { version: number; before: number; homeId: string }
  | { newer: number }
  | { encoding: string }

export async function makeSchema(client: Client, format: number): Promise<Made> {
  // Texts of agents have characters that other encodings lack.
  const [server] = (await client.query('show server_encoding')).rows
  if (server.server_encoding !== 'UTF8') return { encoding: server.server_encoding }
  await client.query('begin')
  try {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK])
    const before = await versionIn(client)
    if (before > SCHEMA_VERSION) {
      await client.query('rollback')
      return { newer: before }
    }
    for (const migration of MIGRATIONS.slice(before)) await client.query(migration)
    for (const functions of [
      migration,
      followers,
      distrust,
      logs,
      leases,
      rights,
      mail,
      home,
      begin,
      accounts,
      audit,
    ])
      await client.query(functions)
    await client.query(READERS)
    await client.query('revoke execute on all functions in schema substrat from public')
    await client.query(GRANT_AGAIN)
    await client.query(WITH_LIMITS)
    if (before === 0) {
      await client.query('insert into substrat.home (schema_version, format) values ($1, $2)', [
        SCHEMA_VERSION,
        format,
      ])
    } else await client.query('update substrat.home set schema_version = $1', [SCHEMA_VERSION])
    await client.query('update substrat.home set timeline = substrat.timeline() where timeline is null')
    const { rows } = await client.query('select home_id from substrat.home')
    await client.query('commit')
    return { version: SCHEMA_VERSION, before, homeId: rows[0].home_id }
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function versionIn(client: Client): Promise<number> {
  const { rows } = await client.query("select to_regclass('substrat.home') is not null as is_there")
  if (rows[0].is_there !== true) return 0
  const found = await client.query('select schema_version from substrat.home')
  return Number(found.rows[0]?.schema_version ?? 0)
}
