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
      'address at which browsers reach the control plane, with its prefix, such as https://jobs.example.com; needed for the sign-in by oidc and azuread',
  },
  HTTPS: { kind: 'boolean', default: '0', meaning: 'the control plane does TLS itself' },
  HTTPS_CERT: { kind: 'text', default: null, meaning: 'file with the certificate chain (PEM), needed with HTTPS' },
  HTTPS_KEY: { kind: 'text', default: null, meaning: 'file with the key of the certificate (PEM), needed with HTTPS' },
  TRUST_PROXY: {
    kind: 'text',
    default: '0',
    meaning:
      'whose X-Forwarded-For, -Proto and -Host count: 0 = there is no proxy; 1 = one proxy is in front, 2 = two are one behind the other; or their addresses and networks (10.0.0.5, 10.1.0.0/16) with commas between them',
  },
  WEB: { kind: 'boolean', default: '1', meaning: 'serve the web console; 0 = only the REST interface' },
  PERSISTENT_PATH: { kind: 'text', default: './persistent', meaning: 'folder that holds everything below' },
  FORMS_FOLDER_PATH: { kind: 'text', default: below('forms'), meaning: 'folder with the form files' },
  CONFIG_PATH: {
    kind: 'text',
    default: below('config.yaml'),
    meaning:
      'file with the roles, the directories and providers for the sign-in, and constants for forms; credentials.yaml is in the same folder',
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
  FORM_FUNCTIONS_PATH: {
    kind: 'text',
    default: below('functions.js'),
    meaning: 'file with your own functions, which expressions of forms call as fnc.name',
  },
  REST_ALLOWED_HOSTS: {
    kind: 'text',
    default: null,
    meaning:
      'hosts, addresses and networks that forms may ask (api.example.com, *.example.com, 10.0.0.0/8), with commas between them; forms may ask no others. Without it: every public address',
  },
  REST_DENIED_HOSTS: {
    kind: 'text',
    default: null,
    meaning: 'hosts, addresses and networks that forms may never ask; wins over REST_ALLOWED_HOSTS',
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
    meaning: 'name of the credential of type ssh; its key is used to log in on these hosts',
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
  VAULT_TOKEN: {
    kind: 'text',
    default: null,
    secret: true,
    meaning: 'token for Vault; use either this or VAULT_ROLE_ID',
  },
  VAULT_ROLE_ID: { kind: 'text', default: null, meaning: 'AppRole with which the control plane logs in to Vault' },
  VAULT_SECRET_ID: { kind: 'text', default: null, secret: true, meaning: 'secret id of VAULT_ROLE_ID' },
  VAULT_APPROLE_MOUNT: { kind: 'text', default: 'approle', meaning: 'mount of the AppRole logins in Vault' },
  VAULT_NAMESPACE: { kind: 'text', default: null, meaning: 'namespace of Vault Enterprise' },
  VAULT_KV_MOUNT: {
    kind: 'text',
    default: null,
    meaning: 'mount of the secrets in Vault (KV version 2), if it has more than one part',
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
    meaning: 'how long a secret of Vault is kept in memory before it is read again; 0 = not at all',
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
      'secret that signs access tokens, at least 16 characters; without it the control plane makes one and keeps it in the persistent folder; required with PostgreSQL',
  },
  ENCRYPTION_SECRET: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'secret that encrypts stored credentials, at least 16 characters; without it the control plane makes one and keeps it in the persistent folder; required with PostgreSQL',
  },
  ACCESS_TOKEN_SECRET_PREVIOUS: {
    kind: 'text',
    default: null,
    secret: true,
    meaning: 'the former ACCESS_TOKEN_SECRET: tokens that it signed stay valid until they expire',
  },
  ENCRYPTION_SECRET_PREVIOUS: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'the former ENCRYPTION_SECRET: it still opens what it encrypted, until holdfast secret rotate has encrypted everything again',
  },
  ACCESS_TOKEN_EXPIRATION: { kind: 'text', default: '30m', meaning: 'how long an access token is valid' },
  ACCESS_TOKEN_REFRESH_EXPIRATION: {
    kind: 'text',
    default: '24h',
    meaning: 'how long a refresh token is valid; a session ends when it is not used for so long',
  },
  SESSION_MAX_AGE: {
    kind: 'text',
    default: '30d',
    meaning: 'longest life of a session, however often it is used; then the user has to sign in again',
  },
  AUTH_RATE_LIMIT: {
    kind: 'integer',
    default: '120',
    maximum: 1_000_000,
    meaning:
      'requests a minute of one address to each route that works with passwords and tokens, and 25 times as many without a token to all others; 0 = no limit',
  },
  API_TOKEN_MAX_DAYS: {
    kind: 'integer',
    default: '90',
    minimum: 1,
    maximum: 3650,
    meaning: 'longest life of an API token, in days',
  },
  ADMIN_USERNAME: { kind: 'text', default: 'admin', meaning: 'name of the account that is made at the first start' },
  ADMIN_PASSWORD: {
    kind: 'text',
    default: null,
    secret: true,
    meaning:
      'password of that account, at least 12 characters; without it the control plane makes one and keeps it in <persistent>/initial-admin-password; it is printed only on a terminal',
  },
  LAUNCH_VALIDATION: {
    kind: 'text',
    default: 'enforce',
    meaning:
      'how values of a launch are checked: enforce (the values are checked, and the extra variables are built from them), log (problems are only logged, and the job runs as it was sent) or off; anything else means enforce; a form can only make this stricter',
  },
  FORMS_LOCALE: {
    kind: 'text',
    default: null,
    meaning:
      'locale in which scripts of forms write dates and numbers and sort texts, such as de-DE, unless they name another one; by default that of the machine. Their time zone is that of the machine (TZ)',
  },
  LAUNCH_UNKNOWN_FIELDS: {
    kind: 'choice',
    default: 'refuse',
    choices: ['refuse', 'warn', 'ignore'],
    meaning:
      'what happens with values that belong to no field of the form, if values are checked: refuse (422 with the nearest name), warn (a line in the log) or ignore',
  },
  JOBS_LIST_SIZE: {
    kind: 'integer',
    default: '1000',
    minimum: 10,
    maximum: 10_000,
    meaning: 'number of jobs in a list if the client does not ask for a number',
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
    meaning: 'space for all uploads of one user, also those of kept jobs; 0: no limit',
  },
  UPLOAD_TOTAL_MAX_GB: {
    kind: 'integer',
    default: '0',
    meaning: 'space for the uploads of all users; 0: the free space of the disk, less 64 MB',
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
    meaning: 'stored output of one job; a longer output ends with a warning line, and the playbook goes on',
  },
  JOB_EVENTS_MAX_MB: {
    kind: 'integer',
    default: '512',
    minimum: 1,
    meaning: 'stored events of one job; after that there is a warning line in the output, and the playbook goes on',
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
    meaning: 'the audit trail also has records of requests that read jobs, outputs, events, field values and downloads',
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
      'hosts, addresses and networks to which webhooks may go, as in REST_ALLOWED_HOSTS; they go to no others. Without it: every public address',
  },
  WEBHOOK_DENIED_HOSTS: {
    kind: 'text',
    default: null,
    meaning: 'hosts, addresses and networks to which webhooks never go; wins over WEBHOOK_ALLOWED_HOSTS',
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
    meaning: 'how long a job waits for a runner that is full, is stopping or is not connected',
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
    meaning: 'when a runner has been silent for so long, its jobs become abandoned',
  },
  RTE_HEARTBEAT_SECONDS: {
    kind: 'integer',
    default: '20',
    minimum: 1,
    maximum: 300,
    meaning: 'how often control plane and runners send a sign of life; a connection ends after two missed ones',
  },
  LOG_LEVEL: {
    kind: 'choice',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    meaning: 'level of the least important lines that are logged',
  },
  LOG_LEVEL_FILE: {
    kind: 'text',
    default: null,
    meaning: 'file with one of these levels, which wins over LOG_LEVEL; it is read at the start and at each reload',
  },
  LOG_FORMAT: {
    kind: 'choice',
    choices: ['text', 'json'],
    default: null,
    meaning: 'form of the log lines; text on a terminal, else json',
  },
} as const satisfies SettingTable
