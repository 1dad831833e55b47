import { type Kysely, sql } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** Runners, the jobs that wait for a decision, tokens, addresses, and the keys of the control plane. */
export async function createRunners(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createRunnerTable(database, types)
  await createOrphanTable(database, types)
  await createJoinTokenTable(database, types)
  await createRunnerAddressTable(database, types)
  await createServiceKeyTable(database, types)
}

async function createRunnerTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('runner'), types)
    .addColumn('name', 'text', required)
    .addColumn('state', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('is_default', 'integer', required)
    .addColumn('mode', 'text', required)
    .addColumn('fingerprint', 'text', (column) => column.notNull().unique())
    .addColumn('identity_key', 'text', required)
    .addColumn('sealing_key', 'text', required)
    .addColumn('host', 'text', required)
    .addColumn('ip', 'text', required)
    .addColumn('version', 'text', required)
    .addColumn('contract', 'integer', required)
    .addColumn('ansible_version', 'text')
    .addColumn('isolation', 'text')
    .addColumn('agent_max_jobs', 'integer', required)
    .addColumn('max_jobs', 'integer')
    .addColumn('generation', types.big, required)
    .addColumn('instance', 'text', required)
    .addColumn('epoch', types.big, required)
    .addColumn('running_jobs', 'integer', required)
    .addColumn('draining', 'integer', required)
    .addColumn('spool_bytes', types.big, required)
    .addColumn('clock_skew_ms', types.big, required)
    .addColumn('requested_at', types.big, required)
    .addColumn('approved_at', types.big)
    .addColumn('approved_by', 'text')
    .addColumn('last_seen', types.big, required)
    .addColumn('description', 'text', required)
    .addColumn('clone_seen_at', types.big)
    .addColumn('clone_host', 'text')
    .addColumn('clone_ip', 'text')
    .addColumn('clone_generation', types.big)
    .addColumn('clone_instance', 'text')
    .addColumn('replaced_instance', 'text')
    .addColumn('copy_accepted_by', 'text')
    .addColumn('connected_node', 'text')
    .addColumn('kept_by', 'text')
    .addColumn('lost_at', types.big)
    .execute()
  // A name belongs to one key. Requests with another key for a known name are rows with the state `denied`.
  await database.schema
    .createIndex('runner_name')
    .unique()
    .on('runner')
    .column('name')
    .where(sql<boolean>`state <> 'denied'`)
    .execute()
}

async function createOrphanTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('orphan')
    .addColumn('runner_id', types.big, (column) => column.notNull().references('runner.id').onDelete('cascade'))
    .addColumn('run_id', 'text', required)
    .addColumn('job_number', types.big, required)
    .addColumn('reason', 'text', required)
    .addColumn('service', 'text')
    .addColumn('ended', 'integer', required)
    .addColumn('output_bytes', types.big, required)
    .addColumn('events_bytes', types.big, required)
    .addColumn('form', 'text')
    .addColumn('user_name', 'text')
    .addColumn('user_type', 'text')
    .addColumn('claimed_at', types.big)
    .addColumn('reported_at', types.big, required)
    .addColumn('decision', 'text')
    .addColumn('decided_by', 'text')
    .addPrimaryKeyConstraint('orphan_key', ['runner_id', 'run_id'])
    .execute()
}

async function createJoinTokenTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('join_token'), types)
    .addColumn('name', 'text')
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', types.big, required)
    .addColumn('created_by', 'text', required)
    .addColumn('expires_at', types.big, required)
    .addColumn('used_at', types.big)
    .addColumn('used_by', 'text')
    .execute()
}

async function createRunnerAddressTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('runner_address'), types)
    .addColumn('address', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text')
    .addColumn('fingerprint', 'text')
    .addColumn('created_at', types.big, required)
    .addColumn('created_by', 'text', required)
    .addColumn('node', 'text')
    .addColumn('problem', 'text')
    .execute()
}

async function createServiceKeyTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('service_key'), types)
    .addColumn('public_key', 'text', (column) => column.notNull().unique())
    .addColumn('private_key', types.bytes)
    .addColumn('signature', 'text')
    .addColumn('created_at', types.big, required)
    .execute()
}
