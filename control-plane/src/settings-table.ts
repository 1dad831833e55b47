import { join } from 'node:path'
import type { SettingTable, SettingValue } from '@holdfast/protocol'

type SoFar = Readonly<Record<string, SettingValue>>

const below = (name: string) => (soFar: SoFar) => join(String(soFar.PERSISTENT_PATH), name)

/** Every setting of the control plane, in the order in which `--help` lists them. */
export const CONTROL_PLANE_SETTINGS = {
  PORT: { kind: 'integer', default: '8000', maximum: 65_535, meaning: 'port to listen on' },
  LISTEN_HOST: { kind: 'text', default: '127.0.0.1', meaning: 'address to listen on' },
  BASE_URL: { kind: 'text', default: '/', meaning: 'prefix of every path' },
  PUBLIC_URL: {
    kind: 'text',
    default: null,
    meaning:
      'address at which browsers reach the service, with its prefix, such as https://jobs.example.com; needed to sign in by oidc and azuread',
  },
  HTTPS: { kind: 'boolean', default: '0', meaning: 'do TLS by itself' },
  HTTPS_CERT: { kind: 'text', default: null, meaning: 'file with the certificate chain (PEM), needed with HTTPS' },
  HTTPS_KEY: { kind: 'text', default: null, meaning: 'file with the key of the certificate (PEM), needed with HTTPS' },
  TRUST_PROXY: { kind: 'boolean', default: '0', meaning: 'believe X-Forwarded-* headers' },
  WEB: { kind: 'boolean', default: '1', meaning: 'serve the web console; 0 = only the REST interface' },
  PERSISTENT_PATH: { kind: 'text', default: './persistent', meaning: 'folder that holds everything below' },
  FORMS_FOLDER_PATH: { kind: 'text', default: below('forms'), meaning: 'folder with the form files' },
  CONFIG_PATH: {
    kind: 'text',
    default: below('config.yaml'),
    meaning: 'file with the roles, where users sign in from, and constants for forms; credentials.yaml lies beside it',
  },
  VARS_FILES_PATH: {
    kind: 'text',
    default: below('vars'),
    meaning: 'folder with the files that forms name in varsFiles',
  },
  FORM_FILES_PATH: {
    kind: 'text',
    default: below('files'),
    meaning: 'folder with the files that forms read while they are filled in (fnReadYamlFile, fnReadJsonFile, fnLs)',
  },
  REST_ALLOWED_HOSTS: {
    kind: 'text',
    default: null,
    meaning:
      'hosts, addresses and networks that forms may ask (api.example.com, *.example.com, 10.0.0.0/8), with commas between them; only these. Without it: every public address',
  },
  REST_DENIED_HOSTS: {
    kind: 'text',
    default: null,
    meaning: 'the same for those that forms never ask; goes before REST_ALLOWED_HOSTS',
  },
  FORM_SSH_HOSTS: {
    kind: 'text',
    default: null,
    meaning:
      'hosts, addresses and networks on which forms may run commands by ssh (fnSsh), as in REST_ALLOWED_HOSTS. Without it: none',
  },
  FORM_SSH_CREDENTIAL: {
    kind: 'text',
    default: null,
    meaning: 'name of the credential of type ssh whose key logs in there',
  },
  FORM_SSH_KNOWN_HOSTS: {
    kind: 'text',
    default: below('known_hosts'),
    meaning: 'file with the keys of these hosts, as ssh-keyscan prints them; an unknown host is refused',
  },
  SOURCE_TIMEOUT_SECONDS: {
    kind: 'integer',
    default: '20',
    minimum: 1,
    maximum: 60,
    meaning: 'how long a source of a form may take for one answer',
  },
  VAULT_ADDR: {
    kind: 'text',
    default: null,
    meaning: 'address of HashiCorp Vault, such as https://vault.example.com:8200; credentials may name secrets of it',
  },
  VAULT_TOKEN: { kind: 'text', default: null, secret: true, meaning: 'token for Vault; or VAULT_ROLE_ID' },
  VAULT_ROLE_ID: { kind: 'text', default: null, meaning: 'AppRole with which the service logs in to Vault' },
  VAULT_SECRET_ID: { kind: 'text', default: null, secret: true, meaning: 'secret id of VAULT_ROLE_ID' },
  VAULT_APPROLE_MOUNT: { kind: 'text', default: 'approle', meaning: 'where Vault has its AppRole logins' },
  VAULT_NAMESPACE: { kind: 'text', default: null, meaning: 'namespace of Vault Enterprise' },
  VAULT_KV_MOUNT: {
    kind: 'text',
    default: null,
    meaning: 'where Vault has its secrets (KV version 2), when that is more than the first part of their path',
  },
  VAULT_CACERT: {
    kind: 'text',
    default: null,
    meaning: 'file with the authorities (PEM) that are trusted for Vault, instead of those of the system',
  },
  VAULT_CACHE_SECONDS: {
    kind: 'integer',
    default: '30',
    maximum: 3600,
    meaning: 'how long a secret of Vault is used again before it is read anew; 0 = never',
  },
  WORKFLOWS_PATH: { kind: 'text', default: below('workflows'), meaning: 'folder with the workflow files' },
  ANSIBLE_PATH: { kind: 'text', default: below('playbooks'), meaning: 'folder with the playbooks' },
  UPLOAD_PATH: { kind: 'text', default: below('uploads'), meaning: 'folder with the files that users uploaded' },
  DATABASE_URL: {
    kind: 'text',
    default: (soFar) => `sqlite:${join(String(soFar.PERSISTENT_PATH), 'holdfast.db')}`,
    secret: true,
    meaning: 'database: sqlite:<file>, or postgres://user:password@host:5432/database?sslmode=… for several nodes',
  },
  ACCESS_TOKEN_SECRET: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'signs access tokens, at least 16 characters; without it one is made and kept in the persistent folder; required with PostgreSQL',
  },
  ENCRYPTION_SECRET: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'encrypts stored credentials, at least 16 characters; without it one is made and kept in the persistent folder; required with PostgreSQL',
  },
  ACCESS_TOKEN_SECRET_PREVIOUS: {
    kind: 'text',
    default: null,
    secret: true,
    meaning: 'the ACCESS_TOKEN_SECRET before: tokens that it signed stay good until they expire',
  },
  ENCRYPTION_SECRET_PREVIOUS: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'the ENCRYPTION_SECRET before: what it encrypted can be opened, until holdfast secret rotate has encrypted it anew',
  },
  ACCESS_TOKEN_EXPIRATION: { kind: 'text', default: '30m', meaning: 'how long an access token is good' },
  ACCESS_TOKEN_REFRESH_EXPIRATION: {
    kind: 'text',
    default: '24h',
    meaning: 'how long a refresh token is good; a session ends when it is not used that long',
  },
  SESSION_MAX_AGE: {
    kind: 'text',
    default: '30d',
    meaning: 'how long a session lasts at most, however often it is used; then one has to sign in again',
  },
  AUTH_RATE_LIMIT: {
    kind: 'integer',
    default: '120',
    maximum: 1_000_000,
    meaning: 'requests a minute of one address to each route that works with passwords and tokens; 0 = no limit',
  },
  API_TOKEN_MAX_DAYS: {
    kind: 'integer',
    default: '90',
    minimum: 1,
    maximum: 3650,
    meaning: 'how long an API token may be good',
  },
  ADMIN_USERNAME: { kind: 'text', default: 'admin', meaning: 'name of the account that is made at first start' },
  ADMIN_PASSWORD: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'its password, at least 12 characters; without it one is generated and kept in <persistent>/initial-admin-password; it is shown at a terminal only',
  },
  LAUNCH_VALIDATION: {
    kind: 'text',
    default: 'enforce',
    meaning:
      'how values of a launch are checked: enforce (checked, and the extra variables built from them), log (checked and said, but run as sent) or off; anything else means enforce; a form can only ask for more',
  },
  FORMS_LOCALE: {
    kind: 'text',
    default: null,
    meaning:
      'locale in which scripts of forms write dates and numbers and sort texts when they name none, such as de-DE; default that of the machine. Their time zone is that of the machine (TZ)',
  },
  LAUNCH_UNKNOWN_FIELDS: {
    kind: 'choice',
    default: 'refuse',
    choices: ['refuse', 'warn', 'ignore'],
    meaning:
      'what becomes of a launch with values that belong to no field of the form, where values are checked: refuse (422 with the nearest name), warn (said in the log) or ignore',
  },
  JOBS_LIST_SIZE: {
    kind: 'integer',
    default: '1000',
    minimum: 10,
    maximum: 10_000,
    meaning: 'jobs that a list holds when the client does not say',
  },
  MASK_EXTRAVARS_REGEX: {
    kind: 'text',
    default: 'password|secret(?!ar)|token(?!i[sz][aei]|s?[_-]?count)',
    meaning:
      'extra variables whose name matches are shown as ********, if they are texts; upper and lower case are the same',
  },
  UPLOAD_MAX_GB: { kind: 'integer', default: '10', meaning: 'largest file that can be uploaded, 0: no limit' },
  UPLOAD_USER_MAX_GB: {
    kind: 'integer',
    default: '100',
    meaning: 'what the uploads of one user may take together, those of kept jobs too; 0: no limit',
  },
  UPLOAD_TOTAL_MAX_GB: {
    kind: 'integer',
    default: '0',
    meaning: 'what the uploads of all users may take together; 0: what the disk has, less 64 MB',
  },
  EVENT_STREAMS_PER_SESSION: {
    kind: 'integer',
    default: '20',
    maximum: 100_000,
    meaning:
      'event streams (GET /events) that one session may have open; a user may have five times as many; 0 = no limit',
  },
  API_BODY_LIMIT_MB: {
    kind: 'integer',
    default: '2',
    minimum: 1,
    maximum: 1024,
    meaning:
      'largest body of a launch; other requests may have 512 KiB, those without a token 16 KiB; all at most 50,000 values and names',
  },
  PROCESS_MAX_BUFFER_MB: {
    kind: 'integer',
    default: '50',
    minimum: 1,
    meaning: 'stored output of one job; past it comes one warning line and the playbook goes on',
  },
  JOB_EVENTS_MAX_MB: {
    kind: 'integer',
    default: '512',
    minimum: 1,
    meaning: 'stored events of one job; past it comes one warning line and the playbook goes on',
  },
  JOB_EVENTS_MAX: {
    kind: 'integer',
    default: '2000000',
    minimum: 1,
    meaning: 'the same as a number of events',
  },
  JOB_RETENTION_DAYS: {
    kind: 'integer',
    default: '0',
    maximum: 36_500,
    meaning: 'how long jobs are kept after their end, with their output, events and uploads; 0 = for ever',
  },
  AUDIT_RETENTION_DAYS: {
    kind: 'integer',
    default: '0',
    maximum: 36_500,
    meaning: 'how long the audit trail is kept; 0 = for ever',
  },
  AUDIT_READS: {
    kind: 'boolean',
    default: '0',
    meaning: 'keep records of requests that read jobs, outputs, events, field values and downloads, too',
  },
  AUDIT_FILE: {
    kind: 'text',
    default: null,
    meaning: 'file to which the audit trail is written as lines of JSON, with the hash of each record',
  },
  AUDIT_SYSLOG: {
    kind: 'text',
    default: null,
    meaning: 'syslog receiver of the audit trail: udp://host:514, tcp://host:601 or tls://host:6514',
  },
  WEBHOOK_ALLOWED_HOSTS: {
    kind: 'text',
    default: null,
    meaning:
      'hosts, addresses and networks to which webhooks may go, as in REST_ALLOWED_HOSTS; only these. Without it: every public address',
  },
  WEBHOOK_DENIED_HOSTS: {
    kind: 'text',
    default: null,
    meaning: 'the same for those to which webhooks never go; goes before WEBHOOK_ALLOWED_HOSTS',
  },
  SMTP_HOST: { kind: 'text', default: null, meaning: 'mail server for notifications; without it no mails are sent' },
  SMTP_PORT: { kind: 'integer', default: '587', minimum: 1, maximum: 65_535, meaning: 'port of the mail server' },
  SMTP_TLS: {
    kind: 'choice',
    default: 'starttls',
    choices: ['starttls', 'tls', 'none'],
    meaning: 'encryption to the mail server: after the greeting, from the first byte (port 465), or none',
  },
  SMTP_USER: { kind: 'text', default: null, meaning: 'name to sign in to the mail server; without it nobody signs in' },
  SMTP_PASSWORD: { kind: 'text', default: null, secret: true, meaning: 'the password of SMTP_USER' },
  MAIL_FROM: { kind: 'text', default: null, meaning: 'address that mails come from; needed with SMTP_HOST' },
  NOTIFICATION_RUNNER_LOST_SECONDS: {
    kind: 'integer',
    default: '120',
    minimum: 1,
    maximum: 86_400,
    meaning: 'how long a runner may be away before notifications call it lost',
  },
  NOTIFICATION_RETENTION_DAYS: {
    kind: 'integer',
    default: '30',
    maximum: 36_500,
    meaning: 'how long the log of notifications is kept; 0 = for ever',
  },
  METRICS_TOKEN: {
    kind: 'text',
    default: null,
    secret: true,
    meaning: 'bearer token of /api/v2/metrics; without it only admins may read them',
  },
  RTE_QUEUE_MINUTES: {
    kind: 'integer',
    default: '60',
    minimum: 1,
    meaning: 'how long a job waits for a runner that is full, draining or not connected',
  },
  RTE_FILES_MAX_MB: {
    kind: 'integer',
    default: '512',
    minimum: 1,
    meaning: 'largest playbook folder sent to a runner',
  },
  RTE_LOST_SECONDS: {
    kind: 'integer',
    default: '120',
    minimum: 1,
    meaning: 'silence of a runner after which its jobs are shown as abandoned',
  },
  RTE_HEARTBEAT_SECONDS: {
    kind: 'integer',
    default: '20',
    minimum: 1,
    maximum: 300,
    meaning: 'how often control plane and runners say that they are there; two missed end a connection',
  },
  LOG_LEVEL: {
    kind: 'choice',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    meaning: 'least important lines that are logged',
  },
  LOG_FORMAT: {
    kind: 'choice',
    choices: ['text', 'json'],
    default: null,
    meaning: 'form of the log lines; text on a terminal, else json',
  },
} as const satisfies SettingTable
