import { type Kysely, sql } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** The jobs, and what belongs to them except for what they write. */
export async function createJobs(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createJobTable(database, types)
  await createJobSecretTable(database, types)
  await createJobTransitionTable(database, types)
  await createJobStageTable(database, types)
  await createPastRunTable(database, types)
  await createJobFileTable(database, types)
  await createAwaitedApprovalTable(database, types)
}

async function createJobTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('job'), types)
    .addColumn('run_id', 'text', required)
    .addColumn('form', 'text', required)
    .addColumn('target', 'text', required)
    .addColumn('job_type', 'text', required)
    .addColumn('status', 'text', required)
    .addColumn('status_reason', 'text')
    .addColumn('detail', 'text')
    .addColumn('start_time', types.big, required)
    .addColumn('end_time', types.big)
    .addColumn('user_id', types.big)
    .addColumn('user_name', 'text', required)
    .addColumn('user_type', 'text', required)
    .addColumn('runner_id', types.big)
    .addColumn('runner_name', 'text')
    .addColumn('older_copy', 'text')
    .addColumn('runner_key', 'text')
    .addColumn('dispatch', 'text', required)
    .addColumn('wait_until', types.big)
    .addColumn('parent_id', types.big)
    .addColumn('step', 'text')
    .addColumn('approval', 'text')
    .addColumn('abort_requested', 'integer', required)
    .addColumn('abort_requested_by', 'text')
    .addColumn('abandoned_at', types.big)
    .addColumn('held_epoch', types.big)
    .addColumn('extravars', 'text', required)
    .addColumn('credentials', 'text', required)
    .addColumn('raw_form_data', 'text')
    .addColumn('password_fields', 'text')
    .addColumn('playbook', 'text', required)
    .addColumn('approved_manifest', 'text')
    .addColumn('adopted_at', types.big)
    .addColumn('schedule_id', types.big)
    .addColumn('schedule_name', 'text')
    .addColumn('time_limit_ms', types.big)
    .addColumn('ran_ms', types.big, (column) => column.notNull().defaultTo(0))
    .addColumn('counted_at', types.big)
    .addColumn('concurrency_group', 'text')
    .addColumn('concurrency_limit', 'integer')
    .addColumn('has_place', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('notifications', 'text')
    .execute()
  await database.schema
    .createIndex('job_concurrency_group')
    .on('job')
    .columns(['concurrency_group', 'dispatch', 'id'])
    .execute()
  await database.schema.createIndex('job_dispatch').on('job').columns(['dispatch', 'runner_id', 'id']).execute()
  // For the numbers that the metrics count at every scrape.
  await database.schema
    .createIndex('job_end')
    .on('job')
    .column('end_time')
    .where(sql<boolean>`end_time is not null`)
    .execute()
  await database.schema.createIndex('job_form').on('job').columns(['form', 'id']).execute()
  await database.schema.createIndex('job_owner').on('job').columns(['user_id', 'id']).execute()
  // Of two separate indexes the database could use only one, and would have to read all rows that it finds.
  await database.schema.createIndex('job_owner_runner').on('job').columns(['user_id', 'runner_name', 'id']).execute()
  await database.schema.createIndex('job_parent').on('job').column('parent_id').execute()
  await database.schema.createIndex('job_run').on('job').column('run_id').execute()
  await database.schema.createIndex('job_runner').on('job').columns(['runner_name', 'id']).execute()
  await database.schema.createIndex('job_status').on('job').columns(['status', 'id']).execute()
  await database.schema.createIndex('job_user').on('job').columns(['user_type', 'user_name', 'id']).execute()
  await database.schema
    .createIndex('job_user_runner')
    .on('job')
    .columns(['user_type', 'user_name', 'runner_name', 'id'])
    .execute()
}

async function createJobSecretTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_secret')
    .addColumn('job_id', types.big, (column) => column.primaryKey().references('job.id').onDelete('cascade'))
    .addColumn('sealed', types.bytes, required)
    .addColumn('names', 'text', required)
    .execute()
}

async function createJobTransitionTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_transition')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('time', types.big, required)
    .addColumn('from_status', 'text', required)
    .addColumn('to_status', 'text', required)
    .addColumn('reason', 'text')
    .execute()
  await database.schema.createIndex('job_transition_job').on('job_transition').column('job_id').execute()
}

async function createJobStageTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('job_stage'), types)
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('state', 'text', required)
    .addColumn('since', types.big, required)
    .addColumn('until', types.big)
    .execute()
  await database.schema.createIndex('job_stage_job').on('job_stage').columns(['job_id', 'state']).execute()
}

async function createPastRunTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('past_run')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('how', 'text', required)
    .addColumn('deleted_at', types.big, required)
    .execute()
  await database.schema.createIndex('past_run_deleted').on('past_run').column('deleted_at').execute()
}

async function createJobFileTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_file')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('field', 'text', required)
    .addColumn('upload_id', types.big, (column) => column.notNull().references('upload.id'))
    .addPrimaryKeyConstraint('job_file_key', ['job_id', 'field'])
    .execute()
  await database.schema.createIndex('job_file_upload').on('job_file').column('upload_id').execute()
}

async function createAwaitedApprovalTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('awaited_approval')
    .addColumn('role', 'text', required)
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('allow_self', 'integer', required)
    .addColumn('user_id', types.big)
    .addColumn('user_name', 'text', required)
    .addColumn('user_type', 'text', required)
    .addPrimaryKeyConstraint('awaited_approval_key', ['role', 'job_id'])
    .execute()
  await database.schema.createIndex('awaited_approval_job').on('awaited_approval').column('job_id').execute()
}
