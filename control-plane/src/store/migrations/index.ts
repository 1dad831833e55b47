import { type Kysely, type Migration, Migrator, sql } from 'kysely'
import { ConflictError } from '../../errors.js'
import type { Database } from '../schema.js'
import * as initial from './001-initial.js'
import * as passwordFields from './002-password-fields.js'
import * as accounts from './003-accounts.js'
import * as credentials from './004-credentials.js'
import * as uploads from './005-uploads.js'
import * as approvals from './006-approvals.js'
import * as jobList from './007-job-list.js'
import * as sequences from './008-sequences.js'
import * as writeMarks from './009-write-marks.js'
import * as nodes from './010-nodes.js'
import * as signIn from './011-sign-in.js'
import * as jobSecrets from './012-job-secrets.js'
import * as accountOwnership from './013-account-ownership.js'
import * as sessions from './014-sessions.js'
import * as approvalAndAudit from './015-approval-and-audit.js'
import * as serviceKey from './016-service-key.js'
import * as uploadClaims from './017-upload-claims.js'
import * as runnerLimits from './018-runner-limits.js'
import * as runnerIsolation from './019-runner-isolation.js'
import * as accountNames from './020-account-names.js'
import * as jobsByKey from './021-jobs-by-key.js'
import * as olderCopies from './021-older-copies.js'
import * as orphans from './022-orphans.js'
import * as serviceClock from './023-service-clock.js'
import * as jobConnection from './024-job-connection.js'
import * as jobsThatRan from './029-jobs-that-ran.js'
import * as userTypes from './034-user-types.js'
import * as jobDetails from './035-job-details.js'
import * as schedules from './037-schedules.js'
import * as credentialOptions from './039-credential-options.js'
import * as jobLimits from './041-job-limits.js'
import * as outputMarks from './043-output-marks.js'
import * as notifications from './044-notifications.js'
import * as runnerAddresses from './045-runner-addresses.js'
import * as runnerAddressNames from './046-runner-address-names.js'
import * as databaseId from './048-database-id.js'
import * as jobStages from './049-job-stages.js'

/** Every step from an empty database to the present tables, in order. A released step never changes. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-initial': initial,
  '002-password-fields': passwordFields,
  '003-accounts': accounts,
  '004-credentials': credentials,
  '005-uploads': uploads,
  '006-approvals': approvals,
  '007-job-list': jobList,
  '008-sequences': sequences,
  '009-write-marks': writeMarks,
  '010-nodes': nodes,
  '011-sign-in': signIn,
  '012-job-secrets': jobSecrets,
  '013-account-ownership': accountOwnership,
  '014-sessions': sessions,
  '015-approval-and-audit': approvalAndAudit,
  '016-service-key': serviceKey,
  '017-upload-claims': uploadClaims,
  '018-runner-limits': runnerLimits,
  '019-runner-isolation': runnerIsolation,
  '020-account-names': accountNames,
  '021-jobs-by-key': jobsByKey,
  '021-older-copies': olderCopies,
  '022-orphans': orphans,
  '023-service-clock': serviceClock,
  '024-job-connection': jobConnection,
  '029-jobs-that-ran': jobsThatRan,
  '034-user-types': userTypes,
  '035-job-details': jobDetails,
  '037-schedules': schedules,
  '039-credential-options': credentialOptions,
  '041-job-limits': jobLimits,
  '043-output-marks': outputMarks,
  '044-notifications': notifications,
  '045-runner-addresses': runnerAddresses,
  '046-runner-address-names': runnerAddressNames,
  '048-database-id': databaseId,
  '049-job-stages': jobStages,
}

/** The table in which Kysely stores the steps that were done. */
const STEPS_TABLE = 'kysely_migration'

/**
 * Brings the tables up to date. Does nothing if they are. A step that was released late is done afterwards, because
 * steps of one release do not build on each other.
 * @throws Error naming the step that failed
 */
export async function migrate(database: Kysely<Database>, steps = MIGRATIONS): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve({ ...steps }) },
    migrationTableName: STEPS_TABLE,
    // Steps that were written at the same time may be done in another order than that of their numbers.
    allowUnorderedMigrations: true,
  })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'before the first step'
  throw new Error(`the database could not be brought up to date (${failed})`, { cause: error })
}

/**
 * The steps with these names, to make the tables of an earlier release.
 * @throws ConflictError `newer_tables` when this release does not know one of them
 */
export function migrationsNamed(names: readonly string[]): Readonly<Record<string, Migration>> {
  const entries = names.map((name) => {
    const step = MIGRATIONS[name]
    if (step) return [name, step] as const
    throw new ConflictError('newer_tables', `The tables are those of a newer release (${name}): install that one first`)
  })
  return Object.fromEntries(entries)
}

/** What happens to the tables when a database is opened. */
export type Tables = 'brought up to date' | 'taken as they are'

/** Compares the tables with those that this release needs: missing, of an older release, or right. */
export type SchemaState = 'not provisioned' | 'not upgraded' | 'good'

/** @throws the error of the database when it cannot be read */
export async function schemaState(database: Kysely<Database>): Promise<SchemaState> {
  let done: ReadonlySet<string>
  try {
    const { rows } = await sql<{ name: string }>`select name from ${sql.table(STEPS_TABLE)}`.execute(database)
    done = new Set(rows.map((row) => row.name))
  } catch (error) {
    // The two databases have different errors for a missing table. So the database is asked for its tables.
    const tables = await database.introspection.getTables({ withInternalKyselyTables: true })
    if (tables.some((table) => table.name === STEPS_TABLE)) throw error
    return 'not provisioned'
  }
  return Object.keys(MIGRATIONS).every((name) => done.has(name)) ? 'good' : 'not upgraded'
}
