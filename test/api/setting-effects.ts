import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SOCKET_PATH } from '@holdfast/protocol'
import type { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'
import { SERVICE_CLOCK_ORIGIN } from '../../control-plane/src/store/migrations/001-initial/service.js'
import { haveWorked } from '../support/ages.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import { waitFor } from '../support/wait.js'
import { putJob } from './job-rows.js'
import { addRunner } from './runner-row.js'
import type { TestServer } from './server.js'
import { upload } from './upload-client.js'

/** What a user sees of a setting: with its default, and with another value. */
export interface Effect {
  /** The other value; paths begin in the folder of the server. */
  readonly given: string
  readonly look: (server: TestServer, isChanged: boolean) => Promise<unknown>
  readonly usual: unknown
  readonly changed: unknown
}

/** A test of whole programs that sees the setting: a file below test/, and its name as it stands there. */
export interface SeenElsewhere {
  readonly file: string
  readonly title: string
}

type SettingName = keyof typeof CONTROL_PLANE_SETTINGS

const GIB = 1024 ** 3
const DAY = 24 * 3_600_000

const asAdmin = (server: TestServer, method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })

const launch = (server: TestServer, formName: string, more: object = { rawFormData: {} }) =>
  asAdmin(server, 'POST', '/job', { formName, ...more })

const statusOf = async (answer: Promise<{ readonly status: number }>) => (await answer).status

/** Seconds between the two times of a token. */
function lifeOf(token: string): number {
  const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    number
  >
  return Number(exp) - Number(iat)
}

/** Whether somebody may begin to upload so many bytes. */
const mayUpload = (bytes: number) => async (server: TestServer) => {
  try {
    await (await server.parts.uploads.uploads.begin({ id: 1 }, { file: bytes, body: bytes })).discard()
    return 'taken'
  } catch (error) {
    return (error as { code: string }).code
  }
}

/** A record that is still on its way would count as one that was left behind hours ago: all are waited for. */
async function moveClock(server: TestServer, ms: number): Promise<void> {
  await server.parts.audit.trail.allStored()
  await server.pass(ms)
}

/** Name of the account that was made at the first start. */
const adminOf = (server: TestServer) => String(server.parts.auth.firstAdmin?.username)

async function newestAudit(server: TestServer): Promise<Record<string, unknown>> {
  const { records } = (await asAdmin(server, 'GET', '/audit')).body as { records: Record<string, unknown>[] }
  return records[0] ?? {}
}

/** Both servers have the files of both places; each shows those of the place that it was given. */
export const FILES = {
  'forms/here.yml':
    '[{name: open, type: ansible, roles: [default], playbook: x.yml, fields: [{name: colour, type: text}, {name: file, type: file}]}]',
  'elsewhere/forms/there.yml': `
- {name: open, type: ansible, roles: [default], playbook: x.yml, fields: [{name: colour, type: text}, {name: file, type: file}]}
- {name: other, type: ansible, roles: [default], playbook: x.yml, varsFiles: [town.yml], fields: []}
`,
  'vars/town.yml': 'town: usual\n',
  'elsewhere/vars/town.yml': 'town: changed\n',
  'playbooks/x.yml': '- hosts: all\n',
  'elsewhere/playbooks/other.yml': '- hosts: others\n',
  'elsewhere/config.yaml':
    'roles:\n  - {name: admin, groups: [local/admins]}\n  - {name: crew, groups: [local/crew]}\n  - {name: default, groups: []}\n',
}

/** A job as far as its files matter. */
const JOB = { form: 'open', playbook: '{"playbook":"x.yml"}', parent_id: null, job_type: 'multistep' as const }

/** Whether a playbook folder of 1.5 MB can be sent. */
async function manifestOfLarge(server: TestServer): Promise<string> {
  for (const folder of ['playbooks', 'elsewhere/playbooks']) {
    writeFileSync(join(server.folder, folder, 'large.bin'), '0'.repeat(1_500_000))
  }
  try {
    await server.parts.runners.approvedFiles.manifest(JOB)
    return 'made'
  } catch (error) {
    return (error as { code: string }).code
  }
}

/** The status of a second event stream of one session. */
async function secondStream(server: TestServer): Promise<number> {
  const { token } = await server.signIn(adminOf(server))
  const end = new AbortController()
  const open = () =>
    fetch(`${server.url}/api/v2/events`, { headers: { authorization: `Bearer ${token}` }, signal: end.signal })
  await open()
  const { status } = await open()
  end.abort()
  return status
}

/** How long a job waits for a runner that is away, compared with 5,000 minutes. */
async function patienceOf(server: TestServer): Promise<string> {
  await addRunner(server, 'away', { isDefault: true })
  const answer = await launch(server, 'open')
  const until = await waitFor('the job to be told what it waits for', async () => {
    const query = server.store.read.selectFrom('job').select('wait_until').where('id', '=', Number(answer.body.id))
    return (await query.executeTakeFirst())?.wait_until
  })
  return until - SERVICE_CLOCK_ORIGIN > 5000 * 60_000 ? 'long' : 'short'
}

/** What is hidden of a job's extra variables when it is read. */
async function maskedOf(server: TestServer): Promise<unknown> {
  const id = await putJob(server, { extravars: '{"colour":"red","db_password":"x"}', user_name: 'admin' })
  const { colour, db_password } = (await asAdmin(server, 'GET', `/job/${id}`)).body.extravars as Record<string, string>
  return { colour, db_password }
}

const VAULT_SETTINGS: SeenElsewhere = {
  file: 'unit/credentials/hashicorp-vault.test.ts',
  title: 'settings name the server and one of two ways to log in',
}

/** Every setting of the control plane, and how a user sees that it has another value. The compiler asks for each. */
export const SETTING_EFFECTS: Readonly<Record<SettingName, Effect | SeenElsewhere>> = {
  PORT: { file: 'cli/serve.test.ts', title: 'options win over the environment' },
  LISTEN_HOST: {
    given: '127.0.0.2',
    look: async (server) => new URL(server.url).hostname,
    usual: '127.0.0.1',
    changed: '127.0.0.2',
  },
  BASE_URL: {
    given: '/tools/holdfast',
    look: async (server) => new URL(server.url).pathname,
    usual: '/',
    changed: '/tools/holdfast',
  },
  PUBLIC_URL: { file: 'api/accounts/sign-in-openid.test.ts', title: 'set PUBLIC_URL' },
  HTTPS: { file: 'e2e/tls.test.ts', title: 'a runner joins over TLS, below a base URL' },
  HTTPS_CERT: { file: 'e2e/tls.test.ts', title: 'a wrong certificate ends the start with a sentence' },
  HTTPS_KEY: { file: 'e2e/tls.test.ts', title: 'a wrong certificate ends the start with a sentence' },
  WEB: {
    given: '0',
    look: async (server) => (await fetch(`${server.url}/jobs`)).status,
    usual: 200,
    changed: 404,
  },
  TRUST_PROXY: {
    given: '1',
    look: async (server) => {
      const json = { username: 'nobody', password: 'a wrong password' }
      await server.call('POST', '/auth/login', { json, headers: { 'x-forwarded-for': '203.0.113.9' } })
      return String((await newestAudit(server)).address).startsWith('203.')
    },
    usual: false,
    changed: true,
  },
  PERSISTENT_PATH: { file: 'cli/serve.test.ts', title: 'only the admin can read a generated admin password' },
  FORMS_FOLDER_PATH: {
    given: 'elsewhere/forms',
    look: async (server) => (await server.parts.forms.forms.all()).map(({ name }) => name).sort(),
    usual: ['open'],
    changed: ['open', 'other'],
  },
  CONFIG_PATH: {
    given: 'elsewhere/config.yaml',
    look: async (server) => {
      const { token } = await server.addUser('cleo', ['crew'])
      return ((await server.call('GET', '/profile', { token })).body.roles as string[]).includes('crew')
    },
    usual: false,
    changed: true,
  },
  VARS_FILES_PATH: {
    given: 'elsewhere/vars',
    look: async (server) => {
      await server.writeForm('town.yml', '{name: town, type: ansible, playbook: x.yml, varsFiles: [town.yml]}')
      const forms = await server.parts.forms.forms.all()
      const form = forms.find(({ name }) => ['town', 'other'].includes(name))
      return form && (await server.parts.forms.forms.contextOf(form)).constants.town
    },
    usual: 'usual',
    changed: 'changed',
  },
  FORM_FILES_PATH: { file: 'api/forms/source-rules.test.ts', title: 'FORM_FILES_PATH' },
  FORM_FUNCTIONS_PATH: { file: 'api/forms/own-functions.test.ts', title: 'FORM_FUNCTIONS_PATH' },
  REST_ALLOWED_HOSTS: { file: 'api/forms/source-rules.test.ts', title: 'REST_ALLOWED_HOSTS' },
  REST_DENIED_HOSTS: { file: 'api/forms/source-rules.test.ts', title: 'REST_DENIED_HOSTS' },
  FORM_SSH_HOSTS: { file: 'api/forms/ssh-sources.test.ts', title: 'FORM_SSH_HOSTS' },
  FORM_SSH_CREDENTIAL: { file: 'api/forms/ssh-sources.test.ts', title: 'FORM_SSH_CREDENTIAL' },
  FORM_SSH_KNOWN_HOSTS: { file: 'api/forms/ssh-sources.test.ts', title: 'FORM_SSH_KNOWN_HOSTS' },
  SOURCE_TIMEOUT_SECONDS: { file: 'api/forms/source-rules.test.ts', title: 'SOURCE_TIMEOUT_SECONDS' },
  VAULT_ADDR: VAULT_SETTINGS,
  VAULT_TOKEN: VAULT_SETTINGS,
  VAULT_ROLE_ID: VAULT_SETTINGS,
  VAULT_SECRET_ID: VAULT_SETTINGS,
  VAULT_APPROLE_MOUNT: VAULT_SETTINGS,
  VAULT_NAMESPACE: VAULT_SETTINGS,
  VAULT_KV_MOUNT: VAULT_SETTINGS,
  VAULT_CACERT: VAULT_SETTINGS,
  VAULT_CACHE_SECONDS: VAULT_SETTINGS,
  WORKFLOWS_PATH: {
    given: 'elsewhere/workflows',
    look: async (server) => existsSync(join(server.folder, 'elsewhere/workflows')),
    usual: false,
    changed: true,
  },
  ANSIBLE_PATH: {
    given: 'elsewhere/playbooks',
    look: async (server) => (await server.parts.runners.approvedFiles.manifest(JOB)).json.includes('other.yml'),
    usual: false,
    changed: true,
  },
  RTE_FILES_MAX_MB: { given: '1', look: manifestOfLarge, usual: 'made', changed: 'playbook_files' },
  UPLOAD_PATH: {
    given: 'elsewhere/uploads',
    look: async (server) => String((await upload(server, 'a.txt', 'content')).destination).includes('elsewhere'),
    usual: false,
    changed: true,
  },
  DATABASE_URL: { file: 'e2e/postgres.test.ts', title: 'kill -9 of the database server' },
  ACCESS_TOKEN_SECRET: {
    given: 'quite another secret',
    look: async (server) => server.parts.auth.accessTokens.all()[0],
    usual: 'a secret that is only used in tests',
    changed: 'quite another secret',
  },
  ENCRYPTION_SECRET: {
    given: 'quite another secret',
    look: async (server) => server.parts.credentials.encryption.all()[0],
    usual: 'another secret that is only used in tests',
    changed: 'quite another secret',
  },
  ACCESS_TOKEN_SECRET_PREVIOUS: {
    given: 'the secret of before',
    look: async (server) => server.parts.auth.accessTokens.all()[1],
    usual: undefined,
    changed: 'the secret of before',
  },
  ENCRYPTION_SECRET_PREVIOUS: {
    given: 'the secret of before',
    look: async (server) => server.parts.credentials.encryption.all()[1],
    usual: undefined,
    changed: 'the secret of before',
  },
  ACCESS_TOKEN_EXPIRATION: {
    given: '5m',
    look: async (server) => lifeOf((await server.signIn(adminOf(server))).token),
    usual: 1800,
    changed: 300,
  },
  ACCESS_TOKEN_REFRESH_EXPIRATION: {
    given: '2h',
    look: async (server) => lifeOf((await server.signIn(adminOf(server))).refreshtoken),
    usual: 24 * 3600,
    changed: 7200,
  },
  SESSION_MAX_AGE: {
    given: '3h',
    // A refresh token is good no longer than its session.
    look: async (server) => {
      const { refreshtoken } = await server.signIn(adminOf(server))
      await moveClock(server, 90 * 60_000)
      const answer = await server.call('POST', '/token', { json: { refreshtoken } })
      return lifeOf(String(answer.body.refreshtoken))
    },
    usual: 24 * 3600,
    changed: 5400,
  },
  AUTH_RATE_LIMIT: { file: 'api/accounts/rate-limit.test.ts', title: 'AUTH_RATE_LIMIT' },
  API_TOKEN_MAX_DAYS: {
    given: '10',
    look: (server) => statusOf(asAdmin(server, 'POST', '/profile/tokens', { name: 'long', expiryDays: 20 })),
    usual: 200,
    changed: 400,
  },
  ADMIN_USERNAME: { given: 'root', look: async (server) => adminOf(server), usual: 'admin', changed: 'root' },
  ADMIN_PASSWORD: { file: 'cli/serve.test.ts', title: "ADMIN_PASSWORD: 'short'" },
  LAUNCH_VALIDATION: { given: 'off', look: (server) => statusOf(launch(server, 'open', {})), usual: 422, changed: 200 },
  LAUNCH_UNKNOWN_FIELDS: {
    file: 'api/interface/contract-words.test.ts',
    title: 'are named in the answer if they are not refused',
  },
  FORMS_LOCALE: {
    file: 'api/interface/contract-words.test.ts',
    title: 'scripts of forms write numbers as FORMS_LOCALE says',
  },
  JOBS_LIST_SIZE: {
    given: '10',
    look: async (server) => {
      for (let count = 0; count < 12; count += 1) await putJob(server)
      return ((await asAdmin(server, 'GET', '/job')).body.records as unknown[]).length > 10
    },
    usual: true,
    changed: false,
  },
  MASK_EXTRAVARS_REGEX: {
    given: 'colour',
    look: maskedOf,
    usual: { colour: 'red', db_password: '********' },
    changed: { colour: '********', db_password: 'x' },
  },
  UPLOAD_MAX_GB: { given: '4', look: mayUpload(5 * GIB), usual: 'taken', changed: 'upload_too_large' },
  UPLOAD_USER_MAX_GB: { given: '3', look: mayUpload(3.5 * GIB), usual: 'taken', changed: 'upload_quota' },
  UPLOAD_TOTAL_MAX_GB: { given: '2', look: mayUpload(2.5 * GIB), usual: 'taken', changed: 'upload_quota_of_all' },
  EVENT_STREAMS_PER_SESSION: { given: '1', look: secondStream, usual: 200, changed: 429 },
  API_BODY_LIMIT_MB: {
    given: '1',
    look: (server) => statusOf(launch(server, 'open', { rawFormData: {}, extravars: { text: 'x'.repeat(1_500_000) } })),
    usual: 200,
    changed: 413,
  },
  PROCESS_MAX_BUFFER_MB: { file: 'attacks/runner-hostile.test.ts', title: 'of output: the job ends with what is kept' },
  JOB_EVENTS_MAX_MB: { file: 'attacks/runner-hostile.test.ts', title: 'of events, in bytes: whole lines are kept' },
  JOB_EVENTS_MAX: { file: 'attacks/runner-hostile.test.ts', title: 'of events, in number' },
  JOB_RETENTION_DAYS: {
    given: '1',
    look: async (server) => {
      const id = await putJob(server, { user_name: 'admin', end_time: server.clock.now() - 3 * DAY })
      await haveWorked(server.store, 3 * DAY)
      await server.parts.jobs.retention.sweep()
      return statusOf(asAdmin(server, 'GET', `/job/${id}`))
    },
    usual: 200,
    changed: 404,
  },
  AUDIT_RETENTION_DAYS: {
    given: '1',
    look: async (server) => {
      const records = () =>
        server.store.read
          .selectFrom('audit')
          .select('id')
          .where('time', '<', server.clock.now() - DAY)
          .execute()
      await moveClock(server, 3 * DAY)
      await server.parts.audit.retention.sweep()
      return (await records()).length > 0
    },
    usual: true,
    changed: false,
  },
  AUDIT_READS: {
    given: '1',
    look: async (server) => {
      await asAdmin(server, 'GET', `/job/${await putJob(server)}`)
      return String((await newestAudit(server)).action).endsWith('.read')
    },
    usual: false,
    changed: true,
  },
  AUDIT_FILE: {
    given: 'elsewhere/audit.log',
    look: async (server, isChanged) => {
      const path = join(server.folder, 'elsewhere/audit.log')
      if (!isChanged) return existsSync(path)
      return waitFor('a record in the file', () => existsSync(path) && readFileSync(path, 'utf8').includes('"action"'))
    },
    usual: false,
    changed: true,
  },
  AUDIT_SYSLOG: { file: 'cli/admin-commands.test.ts', title: 'AUDIT_SYSLOG' },
  WEBHOOK_ALLOWED_HOSTS: { file: 'api/notifications/notifications.test.ts', title: 'WEBHOOK_ALLOWED_HOSTS' },
  WEBHOOK_DENIED_HOSTS: { file: 'api/notifications/notifications.test.ts', title: 'WEBHOOK_DENIED_HOSTS' },
  SMTP_HOST: { file: 'api/notifications/notification-mails.test.ts', title: 'SMTP_HOST' },
  SMTP_PORT: { file: 'api/notifications/notification-mails.test.ts', title: 'SMTP_PORT' },
  SMTP_TLS: { file: 'api/notifications/notification-mails.test.ts', title: 'SMTP_TLS' },
  SMTP_USER: { file: 'api/notifications/notification-mails.test.ts', title: 'SMTP_USER' },
  SMTP_PASSWORD: { file: 'api/notifications/notification-mails.test.ts', title: 'SMTP_PASSWORD' },
  MAIL_FROM: { file: 'api/notifications/notification-mails.test.ts', title: 'MAIL_FROM' },
  NOTIFICATION_RUNNER_LOST_SECONDS: {
    file: 'api/notifications/notifications.test.ts',
    title: 'NOTIFICATION_RUNNER_LOST_SECONDS',
  },
  NOTIFICATION_RETENTION_DAYS: {
    file: 'api/notifications/notifications.test.ts',
    title: 'NOTIFICATION_RETENTION_DAYS',
  },
  METRICS_TOKEN: {
    given: 'metrics-token-of-a-test',
    look: (server) => statusOf(server.call('GET', '/metrics', { token: 'metrics-token-of-a-test' })),
    usual: 401,
    changed: 200,
  },
  RTE_QUEUE_MINUTES: { given: '6000', look: patienceOf, usual: 'short', changed: 'long' },
  RTE_LOST_SECONDS: { file: 'chaos/abandoned.test.ts', title: 'a runner that is silent for RTE_LOST_SECONDS' },
  RTE_HEARTBEAT_SECONDS: {
    given: '33',
    look: async (server) => {
      const url = new URL(server.url)
      const path = url.pathname === '/' ? '' : url.pathname
      const agent = await RawAgent.greet(`ws://${url.host}${path}${SOCKET_PATH}`, newIdentity('heartbeat'))
      const { heartbeat_ms } = await agent.next('welcome')
      await agent.leave()
      return heartbeat_ms
    },
    usual: 20_000,
    changed: 33_000,
  },
  LOG_LEVEL: { file: 'e2e/secrets.test.ts', title: "LOG_LEVEL: 'trace'" },
  LOG_LEVEL_FILE: { file: 'cli/serve.test.ts', title: 'LOG_LEVEL_FILE' },
  LOG_FORMAT: { file: 'cli/serve.test.ts', title: 'LOG_FORMAT' },
}
