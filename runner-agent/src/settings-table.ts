import type { SettingTable } from '@holdfast/protocol'
import { hostname } from 'node:os'

/** Every setting of the agent: environment variable, and `--kebab-case` flag of `run`. */
export const RUNNER_AGENT_SETTINGS = {
  RTE_MODE: {
    kind: 'choice',
    choices: ['outbound', 'inbound'],
    default: 'outbound',
    meaning:
      'outbound: the agent dials the control plane; inbound: the control plane dials the agent (docs/runners.md)',
  },
  RTE_INBOUND_HOST: {
    kind: 'text',
    default: '0.0.0.0',
    meaning: 'address that the control plane dials, with RTE_MODE=inbound',
  },
  RTE_INBOUND_PORT: {
    kind: 'integer',
    default: '8002',
    maximum: 65_535,
    meaning: 'port that the control plane dials, with RTE_MODE=inbound; 0: any free',
  },
  APP_URL: {
    kind: 'text',
    default: null,
    meaning: "the control plane's address, http:// or https://; required with RTE_MODE=outbound",
  },
  APP_TLS_VERIFY: {
    kind: 'boolean',
    default: '1',
    meaning: '1: the certificate of the control plane must be valid; 0: every certificate is accepted',
  },
  HTTPS_PROXY: {
    kind: 'text',
    default: null,
    meaning: 'proxy to an https:// control plane; playbooks see this variable, too',
  },
  NO_PROXY: { kind: 'text', default: null, meaning: 'hosts and .domains that are reached without the proxy; *: all' },
  RTE_NAME: {
    kind: 'text',
    default: () =>
      hostname()
        .replace(/[^A-Za-z0-9._-]/g, '-')
        .slice(0, 63),
    meaning: "the runner's name, which forms use in runner:; without it the host's name",
  },
  RTE_JOIN_TOKEN: {
    kind: 'text',
    default: null,
    secret: true,
    meaning: 'join token: it approves the first request of the runner at once',
  },
  RTE_SERVICE_FINGERPRINT: {
    kind: 'text',
    default: null,
    meaning: "fingerprint of the control plane's key, SHA256:…: no other one is obeyed; a new join token names it, too",
  },
  RTE_STATE_PATH: {
    kind: 'text',
    default: './rte-state',
    meaning: 'folder for the identity keys, the spool and the cache of files',
  },
  RTE_MAX_JOBS: {
    kind: 'integer',
    default: '10',
    meaning: 'number of playbooks at the same time, 0: no limit; a number set by an admin wins',
  },
  RTE_DRAIN_SECONDS: { kind: 'integer', default: '25', meaning: 'how long a stop waits for running playbooks' },
  RTE_ON_STOP: {
    kind: 'choice',
    choices: ['detach', 'terminate'],
    default: 'detach',
    meaning:
      'what happens with playbooks that still run after RTE_DRAIN_SECONDS: detach lets them go on, and the next agent finds them; terminate ends them',
  },
  RTE_FILES: {
    kind: 'choice',
    choices: ['transfer', 'local'],
    default: 'transfer',
    meaning: 'transfer: the control plane sends playbook folders; local: run from ANSIBLE_PATH on this host',
  },
  RTE_FILES_UMASK: {
    kind: 'text',
    default: '000',
    meaning:
      'permission bits that sent playbook files and folders lose on this host, in octal, from 000 to 077; without it they have those of the playbook folder',
  },
  ANSIBLE_PATH: { kind: 'text', default: null, meaning: 'the playbook folder; required with RTE_FILES=local' },
  RTE_PASS_ENVIRONMENT: {
    kind: 'text',
    default: null,
    meaning: "more environment variables that playbooks see, such as AWS_*,KUBECONFIG; *: all but Holdfast's own",
  },
  RTE_PYTHON: {
    kind: 'text',
    default: null,
    meaning: 'the Python (3.8 or later) that starts playbooks; without it the one of ansible-playbook, or python3',
  },
  RTE_GALAXY: {
    kind: 'choice',
    choices: ['off', 'on'],
    default: 'off',
    meaning: 'on: before a play, the roles and collections of a requirements.yml in the playbook folder are installed',
  },
  RTE_GALAXY_MINUTES: { kind: 'integer', default: '10', meaning: 'how long such an installation may take' },
  RTE_EXECUTION: {
    kind: 'choice',
    choices: ['host', 'podman'],
    default: 'host',
    meaning: 'where playbooks run: on this host, or in containers of podman (docs/execution-environments.md)',
  },
  RTE_EXECUTION_IMAGE: {
    kind: 'text',
    default: null,
    meaning: 'image of these containers; executionImage of a form wins over it',
  },
  RTE_EXECUTION_OPTIONS: {
    kind: 'text',
    default: null,
    meaning: 'more options of podman run, with spaces between, such as --network=host --volume=/srv/keys:/keys:ro',
  },
  RTE_ISOLATION: {
    kind: 'choice',
    choices: ['none', 'user'],
    default: 'none',
    meaning: "none: playbooks run as the agent's user; user: each job runs as a user of its own (docs/isolation.md)",
  },
  RTE_ISOLATION_USERS: {
    kind: 'text',
    default: null,
    meaning: 'users for jobs, such as holdfast-job-1..10; required with RTE_ISOLATION=user, used by nothing else',
  },
  RTE_ISOLATION_SUDO: {
    kind: 'boolean',
    default: '0',
    meaning: '1: sudo and other set-user-id programs work on this host in jobs with users of their own',
  },
  RTE_ISOLATION_HOME: {
    kind: 'text',
    default: null,
    meaning: 'a folder whose content is copied into the home of each such job: .ssh, .ansible.cfg',
  },
  RTE_CACHE_MB: {
    kind: 'integer',
    default: '1024',
    meaning: 'size of the cache of received files; the files that were not used for longest are removed first',
  },
  RTE_SPOOL_MAX_MB: {
    kind: 'integer',
    default: '2048',
    meaning: 'when more output than this waits for the control plane, the runner takes no new jobs',
  },
  RTE_KEEP_ENDED_MINUTES: {
    kind: 'integer',
    default: '60',
    meaning:
      'how long the output of a job is kept after the control plane has stored it, while RTE_SPOOL_MAX_MB and the disk have room; a database that lost its last commits gets it again; 0: not at all',
  },
  PORT: {
    kind: 'integer',
    default: '8001',
    maximum: 65_535,
    meaning: 'port of /live, /ready and /metrics; 0: any free',
  },
  LISTEN_HOST: { kind: 'text', default: '127.0.0.1', meaning: 'address of /live, /ready and /metrics' },
  LOG_LEVEL: {
    kind: 'choice',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    meaning: 'how much is logged: fatal, error, warn, info, debug, trace or silent',
  },
  LOG_FORMAT: {
    kind: 'choice',
    choices: ['text', 'json'],
    default: () => (process.stdout.isTTY ? 'text' : 'json'),
    meaning: 'form of the log; without it text on a terminal, else json',
  },
} as const satisfies SettingTable
