// Made from openapi.json by npm run client.
import * as v from 'valibot'
import type { NoParameters, Operation, RequestOptions } from './operation.js'

/** A value that this version of the client does not know. */
export type AnotherWord = string & Record<never, never>

export interface ApiToken {
  /** Names the token; it is no secret */
  sid: string
  name: string | null
  created_at: string
  expires_at: string
  last_used_at: string | null
  /** What it may be used for: read, launch (which includes all about jobs), admin; null: everything that its owner may do */
  scopes?: ('read' | 'launch' | 'admin' | AnotherWord)[] | null
}

export interface ApiTokenList {
  count: number
  records: ApiToken[]
}

export interface AppConfig {
  defaultLanguage: string
  defaultTheme: string | null
  defaultThemeColor: string | null
  /** The time zone of times without one */
  logTz: string
  chatEnabled: boolean
}

export interface Appearance {
  theme: string
  name: string
  announcement: string
  environment: string
}

export interface Attention {
  /** Jobs that wait for an approval that the caller may give */
  approvals: number
  /** Runners that ask to join; null: only for admins */
  runner_requests: number | null
  /** Approved runners that are turned on and not connected; null: only for admins */
  lost_runners: number | null
  /** Jobs of runners that the database does not know, and about which nobody has decided; null: only for admins */
  unknown_jobs: number | null
  /** Forms, workflows and parts of them that are not in force; null: only for admins */
  broken_forms: number | null
}

export interface AuditList {
  count: number
  records: AuditRecord[]
  /** Id of the database: if it is another one than before, ids may belong to other records now */
  database?: string
}

export interface AuditRecord {
  id: number
  time: string
  /** null: nobody who is known */
  user: string | null
  user_type: string | null
  /** The account; names may be given again */
  user_id?: number | null
  address: string
  /** Such as job.abort; every operation here names its own */
  action: string
  object: {
    kind: string
    id: string | null
    name: string | null
  }
  /** Status of the answer; null: the control plane ended before it answered */
  status: number | null
  request_id: string
  /** Place in the chain; null: not chained yet */
  position: number | null
  /** SHA-256 over the record and the hash of the one before */
  hash: string | null
  /** Special requests, such as force */
  detail: string | null
}

export interface AuditVerification {
  ok: boolean
  /** What is wrong first */
  problem: string | null
  /** Position of the oldest record; those before were removed by AUDIT_RETENTION_DAYS */
  first: number
  /** The newest record of the chain. Keep it elsewhere, and give it to a later call */
  head: {
    position: number
    hash: string
  }
  /** Newer records that are not chained yet */
  unchained: number
}

/** items: the categories below it, in the same shape */
export interface CategoryOfForms {
  name: string
  icon: string
  items?: unknown[]
}

export interface Credential {
  /** Null for a credential of credentials.yaml */
  id: number | null
  name: string
  type: 'userpass' | 'ssh' | 'vault' | 'database' | 'token' | 'certificate' | AnotherWord
  user: string | null
  /** Always ******** */
  password: string
  host: string | null
  port: number | null
  description: string
  /** What databases and client certificates need more; null takes one away */
  options?: {
    /** The kind of the database */
    db_type?: 'postgres' | 'mysql' | 'mssql' | 'oracle' | 'mongodb' | AnotherWord | null
    /** The name of the database */
    db_name?: string | null
    /** Connect with TLS, and check the certificate */
    secure?: boolean | null
    /** The certificates (PEM) that are trusted instead of those of the system */
    ca?: string | null
    /** The client certificate (PEM) of type certificate */
    certificate?: string | null
  }
  /** Those of the file are changed in the file */
  source: 'database' | 'file' | AnotherWord
  /** True when credentials.yaml has a credential of the same name, which wins */
  overridden: boolean
}

export interface CredentialList {
  count: number
  records: Credential[]
  /** Entries of credentials.yaml that were left out */
  errors: {
    file: string
    line: number | null
    reason: string
  }[]
}

/** success: what is good; failed is empty, since a start without it ends */
export interface DatabaseSchema {
  success: string[]
  failed: string[]
}

/** Refused or failed */
export interface ErrorAnswer {
  /** One sentence for people */
  error: string
  /** A stable word for programs */
  code?: string
  details?: Record<string, unknown>
}

export interface FormConfig {
  forms: ShownForm[]
  /** What forms refer to as $(name) */
  constants: Record<string, unknown>
  categories?: CategoryOfForms[]
  roles?: Record<string, unknown>[]
  errors: string[]
  warnings: string[]
}

export interface FormEvaluation {
  fields: Record<
    string,
    {
      shown: boolean
      required: boolean
      /** What counts now; a password has none */
      value?: unknown
      choices?: unknown[]
      errors: {
        type: string
        description: string
      }[]
      /** Why it could not be evaluated */
      waiting?: string
      /** Its source, or that of a field that it needs, has not answered yet. Evaluate again to get the answer */
      asking?: boolean
    }
  >
  /** Errors of rows by field, as in the details of a refused launch */
  rows: Record<string, unknown[]>
  /** The steps of a wizard */
  steps: Record<
    string,
    {
      shown: boolean
      waiting?: string
      errors: {
        type: string
        description: string
      }[]
      fields: Record<
        string,
        {
          shown: boolean
          required: boolean
          /** What counts now; a password has none */
          value?: unknown
          choices?: unknown[]
          errors: {
            type: string
            description: string
          }[]
          /** Why it could not be evaluated */
          waiting?: string
          /** Its source, or that of a field that it needs, has not answered yet. Evaluate again to get the answer */
          asking?: boolean
        }
      >
    }
  >
  /** The rows of `showRows` that are there */
  shownRows?: {
    /** Names and indexes that lead to a row: ["disks", 0]. In a wizard, the step comes first */
    row: (string | number)[]
    fields: Record<
      string,
      {
        shown: boolean
        required: boolean
        /** What counts now; a password has none */
        value?: unknown
        choices?: unknown[]
        errors: {
          type: string
          description: string
        }[]
        /** Why it could not be evaluated */
        waiting?: string
        /** Its source, or that of a field that it needs, has not answered yet. Evaluate again to get the answer */
        asking?: boolean
      }
    >
  }[]
  runs: {
    /** The runner, or that of the first step or node */
    runner: string | null
    /** Why a launch with these values would be refused, or why its job or a child job would fail at once */
    problem: string | null
    /** The code with which the launch would be refused. Null: a job would be made */
    refused: string | null
    /** What the playbook would get, with masks in place of secrets */
    extravars: Record<string, unknown>
  }
}

export interface FormList {
  count: number
  records: ListedForm[]
  /** For admins: what each form needs from outside, such as databases; only forms that need something */
  needs?: {
    form: string
    needs: {
      /** database, rest, files, jq, dns, ssh, credentials, own functions, vars files, other system, missing */
      feature: string
      /** The fields that need it; none: the whole form */
      fields: string[]
      /** Databases, functions, credentials, files or systems that the form names for it */
      names: string[]
    }[]
  }[]
  /** For admins: forms and workflows that were left out, and why */
  errors?: {
    file: string
    line: number | null
    form: string | null
    reason: string
  }[]
  /** For admins: what of the playbook folder cannot travel to runners. Jobs that name it are refused */
  files_left_out?: {
    path: string
    reason: string
  }[]
}

export interface Job {
  id: number
  form: string
  /** The form, or the step or node of a subjob */
  target: string
  job_type: string
  status: JobStatus
  /** Why it failed, was aborted or abandoned */
  status_reason: string | null
  /** What the status does not say, such as missing events */
  detail: string | null
  start: string
  end: string | null
  user: string
  user_type: string
  runner: string | null
  parent_id: number | null
  step: string | null
  approval: {
    title: string | null
    /** With the markup (HTML) of its author. Values are text: they are escaped */
    message: string | null
    /** Who may give it, beside admins; default means everyone */
    roles: string[]
    notifications: string[]
    /** Whoever launched the job may give it, too */
    allowSelf: boolean
    state: 'waiting' | 'approved' | 'rejected' | AnotherWord
    decided_by: string | null
    decided_by_type: string | null
    decided_at: string | null
    /** The form and the files that the approval is about */
    subject: {
      /** Hash of the manifest of the playbook folder; null: it could not be read */
      manifest_sha256: string | null
      /** Of the form with its subforms, constants and workflows; null: the form was gone */
      form_sha256: string | null
    }
    /** It was given although the form or the files had changed since it was asked for */
    forced: boolean
  } | null
  abort_requested: boolean
  /** Stays when the real outcome arrives later */
  abandoned_at: string | null
  /** Random name of the run of the job; it is unique even if a restored database has given the number again */
  run_id?: string
  /** When the job was adopted: it was made from what its runner had, because the database did not know it */
  adopted_at?: string | null
  /** The runner of the job is connected and has it: an abandoned job then still runs */
  connected?: boolean
  /** The schedule that started it; null: a person or its parent job started it */
  schedule?: {
    id: number
    name: string
  } | null
  can?: JobActions
  /** When a runner took it for the first time; of a parent job, when it began with its steps. Null: it has not begun, or it ended before that. Its status is running already while it waits */
  began?: string | null
  place?: {
    state: 'queued' | 'offered' | 'claimed' | 'running' | 'waiting' | 'lost' | AnotherWord
    since: string
    /** The earliest time at which it fails because it waited too long; time counts only while a control plane works */
    until: string | null
    /** Jobs that wait for the same runner and come first */
    before: number | null
    runner: {
      name: string
      online: boolean
      last_seen: string | null
    } | null
    tasks: {
      /** Of the outline */
      id: number
      task: string | null
      /** The first of those that are at it */
      hosts: string[]
      /** How many hosts are at it */
      count: number
      /** By the clock of the runner */
      since: string
    }[]
    /** The group in which it waits for a place, as its form says under concurrency */
    group?: {
      name: string
      /** How many jobs of the group may run at once */
      limit: number
      /** The jobs that have a place in it */
      running: number[]
      /** Jobs that wait for a place in it and come first */
      before: number
    } | null
  } | null
  /** Where it will run after its approval. Null: it waits for none */
  runs_on?:
    | {
        /** Null: there is no default runner */
        runner: string | null
        /** No runner is named. Each step or node gets the runner that is the default one when it starts; runner is the default one of now */
        by_default: boolean
        /** The steps or nodes that run there. A job with one playbook has none */
        nodes: string[]
      }[]
    | null
  /** null: it may run for ever */
  time_limit?: {
    /** timeout of its form: it is aborted after this time */
    seconds: number
    /** Counted every few seconds while a connected runner has it */
    used_seconds: number
  } | null
  /** Null: no playbook runs now, or there is no earlier run to estimate from */
  estimate?: {
    /** From 0 to 1. It never falls while the job runs */
    progress: number
    /** By the median of earlier runs. 0: it already takes longer than they did */
    left_seconds: number
    /** What is left by the quickest of them */
    shortest_seconds: number
    /** What is left by the slowest of them */
    longest_seconds: number
    /** The number of earlier runs of the form that the estimate uses, five at most */
    runs: number
  } | null
  /** Every move of the status, oldest first */
  history?: {
    time: string
    from: 'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord
    to: 'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord
    reason: string | null
  }[]
  /** Where it was, as place says it, in order of time. claimed: from then on its runner had it. lost: the runner was not connected, from the last sign of life that was stored, for a second or longer, and at most 200 times. */
  stages?: {
    state: 'queued' | 'offered' | 'claimed' | 'running' | 'waiting' | 'lost' | AnotherWord
    since: string
    until: string | null
  }[]
  streams?: {
    output: {
      bytes: number
      /** Number of line ends */
      lines: number
      /** Goes up when the output begins anew */
      generation: number
    }
    events: {
      count: number
    }
  }
  /** null for a job that consists of other jobs */
  integrity?: {
    /** verified: the stored streams have the length and SHA-256 that the runner recorded; null: this was not compared */
    state: 'growing' | 'verified' | 'incomplete' | AnotherWord | null
    output_sha256: string | null
    events_sha256: string | null
    verified_at: string | null
  } | null
  extravars: Record<string, unknown>
  /** The same object as extravars */
  payload: Record<string, unknown>
  /** Names of the credentials */
  credentials: Record<string, unknown>
  subjobs: number[]
  /** HTML with colours, or plain text with text=true */
  output: string
}

/** By action: true, or the code of the refusal. abort_abandoned is the abort with abandoned=true, of an abandoned job */
export interface JobActions {
  abort?: boolean | string
  abort_abandoned?: boolean | string
  approve?: boolean | string
  reject?: boolean | string
  relaunch?: boolean | string
  delete?: boolean | string
}

export interface JobComparison {
  job: {
    id: number
    form: string
    target: string
    status:
      'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord
    start: string
    end: string | null
    user: string
    user_type: string
    runner: string | null
  }
  with: {
    id: number
    form: string
    target: string
    status:
      'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord
    start: string
    end: string | null
    user: string
    user_type: string
    runner: string | null
  }
  /** The extra variables that differ, masked before they were compared; count may be more than the records */
  extravars: {
    count: number
    records: {
      /** The keys that lead to it */
      path: string[]
      /** added: only the job has it */
      change: 'added' | 'removed' | 'changed' | AnotherWord
      value: unknown
      with_value: unknown
    }[]
  }
  /** Where the result of a task at a host differs, for tasks and hosts that both had; count may be more than the records */
  results: {
    count: number
    records: {
      /** Its id in the outline of the job */
      task: number
      name: string | null
      host: string
      /** In the job */
      outcome:
        | 'none'
        | 'running'
        | 'ok'
        | 'changed'
        | 'failed'
        | 'ignored'
        | 'rescued'
        | 'skipped'
        | 'unreachable'
        | AnotherWord
      /** In the other job */
      with_outcome:
        | 'none'
        | 'running'
        | 'ok'
        | 'changed'
        | 'failed'
        | 'ignored'
        | 'rescued'
        | 'skipped'
        | 'unreachable'
        | AnotherWord
    }[]
  }
  /** All tasks of the job with how long each took, then those that only the other job had; count may be more than the records */
  tasks: {
    count: number
    records: {
      /** In the outline of the job; null: only the other job had it */
      id: number | null
      /** In the outline of the other job; null: only the job had it */
      with_id: number | null
      name: string | null
      role: string | null
      play: string | null
      seconds: number | null
      with_seconds: number | null
      /** At how many hosts its result differs */
      changed: number
    }[]
  }
  /** Hosts that only one of the jobs had, 2000 at most; added: only the job */
  hosts: {
    added: string[]
    removed: string[]
  }
  /** Of jobs that consist of other jobs */
  steps: {
    identifier: string
    status:
      | 'waiting'
      | 'running'
      | 'approve'
      | 'success'
      | 'failed'
      | 'aborted'
      | 'skipped'
      | 'do not run'
      | AnotherWord
      | null
    with_status:
      | 'waiting'
      | 'running'
      | 'approve'
      | 'success'
      | 'failed'
      | 'aborted'
      | 'skipped'
      | 'do not run'
      | AnotherWord
      | null
    /** The job of the step or node */
    job: number | null
    /** The same of the other job */
    with_job: number | null
    seconds: number | null
    with_seconds: number | null
  }[]
  /** false: a run had more hosts and tasks than are kept */
  complete: boolean
}

export interface JobEvent {
  /** 1, 2, 3 … within the job */
  order: number
  type: string
  play: string | null
  task: string | null
  host: string | null
  /** Seconds */
  duration: number | null
  time: string
  result: unknown
}

export interface JobEventList {
  count: number
  records: JobEventRecord[]
}

export interface JobEventRecord {
  /** 1, 2, 3 … within the job */
  order: number
  type: string
  play: string | null
  task: string | null
  host: string | null
  /** Seconds */
  duration: number | null
  time: string
  /** The id of its task in the outline */
  task_id?: number | null
  /** The id of its play in the outline */
  play_id?: number | null
  action?: string | null
  role?: string | null
  path?: string | null
  /** The byte of the output at which its output begins */
  from?: number | null
  /** The byte at which it ends */
  to?: number | null
  /** Number of line ends before its output */
  line?: number | null
  changed?: boolean
  ignored?: boolean
  rescued?: boolean
  /** Ansible leaves this event out of its recap */
  uncounted?: boolean
  /** The item of a loop; a long one is the beginning of its JSON */
  item?: unknown
}

export interface JobFailures {
  /** May be more than the records */
  count: number
  records: {
    /** In the outline of the job */
    task_id: number | null
    play: string | null
    task: string | null
    role: string | null
    path: string | null
    action: string | null
    outcome: 'failed' | 'unreachable' | AnotherWord
    /** The line of the result that says what went wrong */
    message: string | null
    /** Of the event of the first of these results */
    order: number
    /** At which the task failed so; the first hundred */
    hosts: string[]
    /** Number of these hosts */
    count: number
    /** Number of all hosts of the task */
    task_hosts: number | null
    /** The byte of the output at which the first of them begins */
    from: number | null
    /** Number of line ends before it */
    line: number | null
  }[]
}

export interface JobList {
  count: number
  records: JobRecord[]
}

export interface JobMatrix {
  hosts: string[]
  /** Ids of the outline */
  tasks: number[]
  /** A row for each task with a letter for each host: . none, > running, o ok, c changed, f failed, i ignored, r rescued, s skipped, u unreachable */
  cells: string[]
  /** false: the run had more hosts and tasks than are kept */
  complete: boolean
}

export interface JobNodeList {
  count: number
  records: JobNodeRecord[]
}

export interface JobNodeRecord {
  identifier: string
  /** The playbook, the other workflow, or what the approval asks */
  name: string
  type: 'step' | 'job_template' | 'workflow_job_template' | 'workflow_approval_template' | AnotherWord
  /** The nodes that follow, by when */
  links: {
    success: string[]
    failure: string[]
    always: string[]
  }
  /** It starts when all links into it have fired, and not already with the first one */
  all_parents: boolean
  status: 'waiting' | 'running' | 'approve' | 'success' | 'failed' | 'aborted' | 'skipped' | 'do not run' | AnotherWord
  /** Why it failed, was skipped or did not run */
  reason: string | null
  start: string | null
  end: string | null
  /** Its job; null: it has none, or none any more */
  job: number | null
  /** When its job began, as the job itself says it. Null: it waits, or has no job */
  began?: string | null
}

export interface JobOutline {
  count: number
  records: {
    /** 1, 2, 3 … in the order in which plays and tasks began */
    id: number
    kind: 'play' | 'task' | 'handler' | AnotherWord
    /** The id of its play */
    play: number | null
    name: string | null
    role: string | null
    path: string | null
    /** Of the event with which it began */
    order: number
    /** The byte of the output at which its output begins */
    from?: number | null
    /** The byte at which it ends; null: at the end of the output */
    to?: number | null
    /** Number of line ends before its output */
    line?: number | null
    /** By the clock of the runner */
    started: string
    /** Time of its last result; null while more results may come */
    ended: string | null
    ok: number
    changed: number
    failed: number
    skipped: number
    unreachable: number
    ignored: number
    /** Hosts that began it or have a result */
    hosts: number
  }[]
  /** The order of the last event that is included: ask with after=last for changes */
  last: number
  /** false: the run had more plays, tasks and hosts than are kept */
  complete: boolean
  /** All hosts of the run, with hosts=true */
  hosts?: {
    host: string
    /** By the clock of the runner */
    started: string
    /** How long it was at tasks */
    busy_ms: number
    /** From and until when it was at tasks, in milliseconds after started. If there were many pauses, short ones are left out */
    spans: number[][]
    /** It is at a task since then; null: it is at none */
    since: string | null
    ok: number
    changed: number
    failed: number
    skipped: number
    unreachable: number
    ignored: number
  }[]
  recap?: {
    order: number
    from: number | null
    line: number | null
  } | null
}

export interface JobRecord {
  id: number
  form: string
  /** The form, or the step or node of a subjob */
  target: string
  job_type: string
  status: JobStatus
  /** Why it failed, was aborted or abandoned */
  status_reason: string | null
  /** What the status does not say, such as missing events */
  detail: string | null
  start: string
  end: string | null
  user: string
  user_type: string
  runner: string | null
  parent_id: number | null
  step: string | null
  approval: {
    title: string | null
    /** With the markup (HTML) of its author. Values are text: they are escaped */
    message: string | null
    /** Who may give it, beside admins; default means everyone */
    roles: string[]
    notifications: string[]
    /** Whoever launched the job may give it, too */
    allowSelf: boolean
    state: 'waiting' | 'approved' | 'rejected' | AnotherWord
    decided_by: string | null
    decided_by_type: string | null
    decided_at: string | null
    /** The form and the files that the approval is about */
    subject: {
      /** Hash of the manifest of the playbook folder; null: it could not be read */
      manifest_sha256: string | null
      /** Of the form with its subforms, constants and workflows; null: the form was gone */
      form_sha256: string | null
    }
    /** It was given although the form or the files had changed since it was asked for */
    forced: boolean
  } | null
  abort_requested: boolean
  /** Stays when the real outcome arrives later */
  abandoned_at: string | null
  /** Random name of the run of the job; it is unique even if a restored database has given the number again */
  run_id?: string
  /** When the job was adopted: it was made from what its runner had, because the database did not know it */
  adopted_at?: string | null
  /** The runner of the job is connected and has it: an abandoned job then still runs */
  connected?: boolean
  /** The schedule that started it; null: a person or its parent job started it */
  schedule?: {
    id: number
    name: string
  } | null
  /** When a runner took it for the first time; of a parent job, when it began with its steps. Null: it has not begun, or it ended before that. Its status is running already while it waits */
  began?: string | null
  place?: {
    state: 'queued' | 'offered' | 'claimed' | 'running' | 'waiting' | 'lost' | AnotherWord
    since: string
    /** The earliest time at which it fails because it waited too long; time counts only while a control plane works */
    until: string | null
    /** Jobs that wait for the same runner and come first */
    before: number | null
    runner: {
      name: string
      online: boolean
      last_seen: string | null
    } | null
    tasks: {
      /** Of the outline */
      id: number
      task: string | null
      /** The first of those that are at it */
      hosts: string[]
      /** How many hosts are at it */
      count: number
      /** By the clock of the runner */
      since: string
    }[]
    /** The group in which it waits for a place, as its form says under concurrency */
    group?: {
      name: string
      /** How many jobs of the group may run at once */
      limit: number
      /** The jobs that have a place in it */
      running: number[]
      /** Jobs that wait for a place in it and come first */
      before: number
    } | null
  } | null
  /** Null: no playbook runs now, or there is no earlier run to estimate from */
  estimate?: {
    /** From 0 to 1. It never falls while the job runs */
    progress: number
    /** By the median of earlier runs. 0: it already takes longer than they did */
    left_seconds: number
    /** What is left by the quickest of them */
    shortest_seconds: number
    /** What is left by the slowest of them */
    longest_seconds: number
    /** The number of earlier runs of the form that the estimate uses, five at most */
    runs: number
  } | null
}

export type JobStatus =
  'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord

export interface JoinToken {
  id: number
  name: string | null
  created_at: string
  created_by: string
  expires_at: string
  used_at: string | null
  /** Name of the runner that joined by it */
  used_by: string | null
}

export interface JoinTokenList {
  count: number
  records: JoinToken[]
}

export interface Launch {
  formName: string
  extravars?: Record<string, unknown> | null
  /** Another name for extravars */
  payload?: Record<string, unknown> | null
  /** Values of the fields by name; in a wizard, an object of values by step */
  rawFormData?: Record<string, unknown> | null
  /** Names of credentials by variables and credential fields of the form. They replace those that the form names. A variable for which the form takes no credential is refused with 422. With LAUNCH_VALIDATION=enforce an unknown credential is, too, and the value of a field wins over this */
  credentials?: Record<string, unknown> | null
  /** By file field: the answer to its upload. The key of a field is its name; in a wizard step `step.field` (or its name, when only one step has such a field); in a row of a list `list[0].field`. A row may have the answer to its upload as the value of its file field instead */
  files?: Record<string, unknown> | null
}

export interface Launched {
  /** Of the new job */
  id: number
  /** Present only when values were sent that belong to no field (LAUNCH_UNKNOWN_FIELDS=warn or ignore) */
  unknown_fields?: string[]
}

/** Also the properties that only pages use */
export interface ListedForm {
  name: string
  type: string
  description: string | null
  categories: string[]
  fields: unknown[]
}

export interface LockState {
  locked: boolean
  /** <type>/<username> */
  holder: string | null
  since: string | null
  /** When it is free if the holder stays silent */
  until: string | null
  mine: boolean
  /** The same as not locked, for pages of the product family */
  free?: boolean
  /** While it is held: whether the caller holds it */
  match?: boolean
  /** While it is held: who holds it, and since when (YYYY-MM-DD HH:mm:ss, UTC) */
  lock?: {
    username: string
    type: string
    created: string
  }
  message?: string
}

export interface Logo {
  /** As a data URL */
  logo: string | null
  isDefault: boolean
}

export interface LogoutUrl {
  logoutUrl: string | null
}

export interface MadeNotificationTarget {
  id: number
  name: string
  kind: string
  url: string
  events: string[]
  enabled: boolean
  created_at: string
  created_by: string
  /** Present if the control plane made the secret; it is never shown again */
  secret?: string
}

export interface Message {
  message: string
}

export interface NewApiToken {
  /** Names the token; it is no secret */
  sid: string
  name: string | null
  created_at: string
  expires_at: string
  last_used_at: string | null
  /** What it may be used for: read, launch (which includes all about jobs), admin; null: everything that its owner may do */
  scopes?: ('read' | 'launch' | 'admin' | AnotherWord)[] | null
  /** The bearer of requests; shown only now */
  token: string
}

export interface NewJoinToken {
  id: number
  token: string
  expires_at: string
}

export interface NewNotificationTarget {
  name: string
  /** What it gets: webhook: the event as JSON, signed with the secret */
  kind?: 'webhook' | AnotherWord
  /** http or https, without user and password */
  url: string
  /** What it is told of */
  events: ('job.ended' | 'job.approval' | 'runner.request' | 'runner.lost' | 'runner.back' | AnotherWord)[]
  /** Signs what is sent; it is never shown again */
  secret?: string
  /** False: it is told of nothing */
  enabled?: boolean
}

export interface NewRunnerAddress {
  /** Host and port where an agent with RTE_MODE=inbound listens, such as http://runner.example:8002 */
  address: string
  /** The name that the runner there must have; a runner with another name is turned away */
  name?: string | null
  /** Fingerprint of the only key that may answer there; the runner still waits for its approval */
  fingerprint?: string | null
}

export interface NewSchedule {
  /** For people; need not be unique */
  name: string
  /** Name of the form that is launched */
  form: string
  /** Five parts: minute, hour, day of the month, month, day of the week. Null: it starts once */
  cron?: string | null
  /** The one start. Null: it starts as cron says */
  at?: string | null
  /** Time zone of cron, such as Europe/Berlin; default UTC */
  time_zone?: string
  /** For starts at whose time no control plane worked: run (start once afterwards) or skip (the default) */
  missed?: 'run' | 'skip' | AnotherWord
  /** Nothing is started */
  paused?: boolean
  /** The field values; never a password */
  values?: Record<string, unknown>
  /** Names of credentials, as for a launch */
  credentials?: Record<string, string>
  /** Runs the playbook in verbose mode */
  verbose?: boolean
}

export interface NextRuns {
  next_runs: string[]
}

export interface Notification {
  id: number
  /** The id that the receiver sees, the same in each attempt */
  delivery: string
  channel: 'webhook' | 'mail' | AnotherWord
  /** Name of the target, or the mail address */
  recipient: string
  event: string
  event_at: string
  job_id: number | null
  state: 'waiting' | 'sent' | 'failed' | AnotherWord
  attempts: number
  /** Null: there is none */
  next_attempt: string | null
  /** Why the last attempt failed */
  problem: string | null
  created_at: string
  /** When it arrived or was given up */
  ended_at: string | null
}

export interface NotificationList {
  count: number
  records: Notification[]
}

export interface NotificationTarget {
  id: number
  name: string
  kind: string
  url: string
  events: string[]
  enabled: boolean
  created_at: string
  created_by: string
}

export interface NotificationTargetChange {
  /** http or https, without user and password */
  url?: string
  /** Signs what is sent; it is never shown again */
  secret?: string
  /** What it is told of */
  events?: ('job.ended' | 'job.approval' | 'runner.request' | 'runner.lost' | 'runner.back' | AnotherWord)[]
  /** False: it is told of nothing */
  enabled?: boolean
}

export interface NotificationTargetList {
  count: number
  records: NotificationTarget[]
}

export interface OutputHits {
  count: number
  /** The output was searched to its end */
  complete: boolean
  /** By hit: the number of line ends before it, and its byte */
  hits: number[][]
  /** Search on with from=next */
  next: number | null
}

export interface OutputIndex {
  bytes: number
  /** Number of line ends */
  lines: number
  /** Bytes between two points */
  step: number
  generation: number
  /** As the header X-Run-Id of the output */
  run_id?: string
  /** For each multiple of step: the byte, and the number of line ends before it */
  points: number[][]
}

export interface OwnSession {
  id: string
  /** A sign-in, or an API token */
  kind: 'login' | 'api' | AnotherWord
  /** Of an API token: what it is for */
  name: string | null
  /** From where the sign-in came */
  network: string | null
  created_at: string
  expires_at: string
  last_used_at: string | null
  /** The session of this request */
  current: boolean
}

export interface OwnSessionList {
  count: number
  records: OwnSession[]
}

export interface Profile {
  username: string
  id: number
  type: string
  email?: string
  groups: string[]
  /** At least so many groups of the last sign-in were not kept, because they were too many or too long; no role names them */
  groupsLeftOut?: number
  roles: string[]
  /** Roles that name this user, but count for a deleted account of the same name until an admin accepts the name */
  rolesWithheld?: string[]
  options: Record<string, boolean>
  /** Present when the user has to change the password before doing anything else */
  passwordMustChange?: boolean
}

export interface Reencryption {
  message: string
  /** Values that are now encrypted with the new secret */
  reencrypted: number
  /** Values that cannot be decrypted with any known secret; they stay as they are */
  unreadable: number
}

export interface Relaunched {
  message: string
  /** Of the new job */
  id: number
}

export interface Role {
  name: string
  /** Everybody has this role, so no accounts are listed */
  everyone: boolean
  /** Whose members have it, such as local/ops */
  groups: string[]
  /** Who has it by name, such as ldap/jdoe */
  users: string[]
  options: Record<string, boolean>
  /** The runners on which its members may launch; null: not limited by this role */
  runners: string[] | null
  /** Patterns of the credentials that its members may choose; null: not limited by this role */
  credentials: string[] | null
  /** What API tokens of its members may be used for; null: not limited by this role */
  scopes: string[] | null
  /** The accounts that have it now, at most 200 */
  accounts: {
    id: number
    username: string
    type: string
    enabled: boolean
  }[]
  /** How many accounts have it now; 0 for a role that everybody has */
  account_count: number
}

export interface RoleList {
  count: number
  records: Role[]
}

export interface Runner {
  id: number
  name: string
  state: 'waiting' | 'approved' | 'denied' | 'revoked' | AnotherWord
  online: boolean
  enabled: boolean
  is_default: boolean
  /** Who dials: outbound is the agent, inbound is the control plane */
  mode: string
  fingerprint: string
  host: string
  ip: string
  version: string
  contract: number
  ansible_version: string | null
  /** How it keeps jobs apart: none, user, or user (not available) */
  isolation?: string
  /** Playbooks at the same time, 0 = no limit: the number that an admin set, or else that of the agent */
  max_jobs: number
  /** What the agent says */
  agent_max_jobs: number
  running_jobs: number
  draining: boolean
  /** Its clock minus ours */
  clock_skew_ms: number
  spool_bytes: number
  requested_at: string
  approved_at: string | null
  approved_by: string | null
  last_seen: string
  description: string
  /** Who marked the request, so that it stays listed when the runner that asks has left */
  kept_by?: string | null
  /** Another process that used the same identity was refused; its address, if that is known */
  clone: {
    seen_at: string
    host: string | null
    ip: string | null
  } | null
}

export interface RunnerAddress {
  id: number
  address: string
  /** The name that the runner there must have; null: any name */
  name?: string | null
  /** Fingerprint of the only key that may answer there; null: any key */
  fingerprint: string | null
  created_at: string
  created_by: string
  /** The node that dials it */
  node: string | null
  /** Why the last try failed; null: it did not */
  problem: string | null
}

export interface RunnerAddressList {
  count: number
  records: RunnerAddress[]
}

/** Properties that are left out stay as they are. With max_jobs null the number of the agent counts */
export interface RunnerChanges {
  /** The name of the runner in forms and roles; its agent need not be started with the same name */
  name?: string
  enabled?: boolean
  is_default?: boolean
  description?: string
  max_jobs?: number | null
  /** Whether a waiting request stays in the list when its runner has disconnected; otherwise it is removed a minute later */
  keep?: boolean
}

export interface RunnerList {
  count: number
  records: Runner[]
}

export interface RunnerOrphan {
  runner_id: number
  runner: string
  /** Names the job: its number on the runner may be that of another job here */
  run_id: string
  /** The number that the job has on its runner */
  number: number
  /** Why it is not adopted automatically: it was claimed from a control plane with another key, its run belongs to another runner here, its agent is too old to describe it, or its claim cannot be read */
  reason: 'other_service' | 'other_runner' | 'no_description' | AnotherWord
  /** Fingerprint of the control plane that it belongs to */
  service: string | null
  /** Its playbook has ended */
  ended: boolean
  output_bytes: number
  events_bytes: number
  form: string | null
  user: string | null
  user_type: string | null
  /** By the runner's clock */
  claimed_at: string | null
  /** When its runner named it last */
  reported_at: string
  /** What the runner is told as soon as it is connected */
  decision: 'adopt' | 'end' | 'forget' | AnotherWord | null
  decided_by: string | null
}

export interface RunnerOrphanChoice {
  run_id: string
}

export interface RunnerOrphanList {
  count: number
  records: RunnerOrphan[]
}

export interface Schedule {
  id: number
  /** For people; need not be unique */
  name: string
  /** Name of the form that is launched */
  form: string
  /** Five parts: minute, hour, day of the month, month, day of the week. Null: it starts once */
  cron: string | null
  /** The one start. Null: it starts as cron says */
  at: string | null
  /** Time zone of cron, such as Europe/Berlin; default UTC */
  time_zone: string
  /** For starts at whose time no control plane worked: run (start once afterwards) or skip (the default) */
  missed: 'run' | 'skip' | AnotherWord
  /** Nothing is started */
  paused: boolean
  /** The field values; never a password */
  values: Record<string, unknown>
  /** Names of credentials, as for a launch */
  credentials: Record<string, string>
  /** Runs the playbook in verbose mode */
  verbose: boolean
  /** Who made it: its launches have the rights of this account */
  user: string
  user_type: string
  /** Null: it starts nothing any more, or it is paused */
  next_run: string | null
  /** Up to five */
  next_runs: string[]
  /** The last start, or the last one that was refused */
  last_run: string | null
  /** The last job that it started */
  last_job: number | null
  /** Of the last job; null: there is none, or not any more */
  last_status?:
    'running' | 'approve' | 'success' | 'failed' | 'warning' | 'aborted' | 'rejected' | 'abandoned' | AnotherWord | null
  /** Why the last start made no job */
  last_problem: string | null
  created_at: string
}

export interface ScheduleChange {
  /** For people; need not be unique */
  name?: string
  /** Name of the form that is launched */
  form?: string
  /** Five parts: minute, hour, day of the month, month, day of the week. Null: it starts once */
  cron?: string | null
  /** The one start. Null: it starts as cron says */
  at?: string | null
  /** Time zone of cron, such as Europe/Berlin; default UTC */
  time_zone?: string
  /** For starts at whose time no control plane worked: run (start once afterwards) or skip (the default) */
  missed?: 'run' | 'skip' | AnotherWord
  /** Nothing is started */
  paused?: boolean
  /** The field values; never a password */
  values?: Record<string, unknown>
  /** Names of credentials, as for a launch */
  credentials?: Record<string, string>
  /** Runs the playbook in verbose mode */
  verbose?: boolean
}

export interface ScheduleList {
  count: number
  records: Schedule[]
}

export interface SentOn {
  location: string
}

export interface ServiceKey {
  /** Of the key with which the control plane proves its identity to runners */
  fingerprint: string
  created_at: string
  /** Fingerprints of the former keys, the newest first: a runner that trusts one of them trusts the new key, too */
  previous: string[]
}

export interface ServiceKeyRotation {
  /** Rotate only if this is the key now, so that a repeated request rotates once */
  fingerprint?: string
  /** The old key does not sign the new one, so an admin has to tell each runner the new fingerprint */
  break_succession?: boolean
}

export interface ServiceSetting {
  /** As in the environment, such as JOB_RETENTION_DAYS */
  name: string
  /** The value that counts; null: none. A secret is always ******** */
  value: string | null
  secret: boolean
  /** False: nobody gave a value, so this is the default */
  given: boolean
  meaning: string
}

export interface ServiceSettingList {
  count: number
  records: ServiceSetting[]
}

export interface ShownForm {
  name: string
  categories: string[]
}

export interface SignInKinds {
  /** POST /auth/login also takes names and passwords of a directory */
  ldapEnabled: boolean
  /** GET /auth/azuread begins a sign-in at Entra ID */
  azureAdEnabled: boolean
  /** GET /auth/oidc begins a sign-in at a provider of OpenID Connect */
  oidcEnabled: boolean
  /** PUBLIC_URL: a browser has to begin the sign-in at this address, because the provider sends it back there */
  publicUrl?: string
  /** What admins want everybody to read, also before the sign-in. Left out: there is nothing */
  announcement?: string
}

export interface SignedIn {
  username: string
  /** Present when the user has to change the password before doing anything else */
  passwordMustChange?: boolean
}

export interface SignedOut {
  message: string
  /** For users of oidc or azuread: the address at which the session at the provider is ended */
  logoutUrl?: string
}

export interface TestMail {
  to: string
}

export interface Tokens {
  /** The bearer of requests */
  token: string
  /** Good once, for the next pair */
  refreshtoken: string
  /** Present when the user has to change the password before doing anything else */
  passwordMustChange?: boolean
}

/** Pass it unchanged in `files` of a launch, under the key of the file field */
export interface Upload {
  /** Name of the part */
  fieldname: string
  /** Name of the uploaded file */
  originalname: string
  encoding: string
  mimetype: string
  /** Folder on the server */
  destination: string
  /** Stored name */
  filename: string
  /** Destination and stored name */
  path: string
  /** Bytes */
  size: number
}

export interface User {
  id: number
  username: string
  type: string
  email: string | null
  groups: string[]
  enabled: boolean
  /** The user has to change the password at the next sign-in */
  password_must_change?: boolean
  created: string
  /** Id of the deleted account that had this name, 0 when its id is not known; null: there was none, or the name was accepted */
  name_had_by?: number | null
  /** Roles that name this user, but count for the deleted account until an admin accepts the name for this one */
  roles_withheld?: string[]
}

export interface UserList {
  count: number
  records: User[]
}

export interface UserSession {
  id: string
  /** A sign-in, or an API token */
  kind: 'login' | 'api' | AnotherWord
  /** Of an API token: what it is for */
  name: string | null
  /** From where the sign-in came */
  network: string | null
  created_at: string
  expires_at: string
  last_used_at: string | null
  user_id: number
  user: string
  user_type: string
}

export interface UserSessionList {
  count: number
  records: UserSession[]
}

export interface WholeForm {
  /** The one form, with its subforms */
  forms: ShownForm[]
  /** What forms refer to as $(name) */
  constants: Record<string, unknown>
  categories?: CategoryOfForms[]
  roles?: Record<string, unknown>[]
  errors: string[]
  warnings: string[]
}

export const databaseSchemaSchema: v.GenericSchema<unknown, DatabaseSchema> = v.looseObject({
  success: v.array(v.string()),
  failed: v.array(v.string()),
})

export const appConfigSchema: v.GenericSchema<unknown, AppConfig> = v.looseObject({
  defaultLanguage: v.string(),
  defaultTheme: v.nullable(v.string()),
  defaultThemeColor: v.nullable(v.string()),
  logTz: v.string(),
  chatEnabled: v.boolean(),
})

export const logoSchema: v.GenericSchema<unknown, Logo> = v.looseObject({
  logo: v.nullable(v.string()),
  isDefault: v.boolean(),
})

export const logoutUrlSchema: v.GenericSchema<unknown, LogoutUrl> = v.looseObject({ logoutUrl: v.nullable(v.string()) })

export const signedOutSchema: v.GenericSchema<unknown, SignedOut> = v.looseObject({
  message: v.string(),
  logoutUrl: v.optional(v.string()),
})

export const auditRecordSchema: v.GenericSchema<unknown, AuditRecord> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  time: v.string(),
  user: v.nullable(v.string()),
  user_type: v.nullable(v.string()),
  user_id: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  address: v.string(),
  action: v.string(),
  object: v.looseObject({ kind: v.string(), id: v.nullable(v.string()), name: v.nullable(v.string()) }),
  status: v.nullable(v.pipe(v.number(), v.safeInteger())),
  request_id: v.string(),
  position: v.nullable(v.pipe(v.number(), v.safeInteger())),
  hash: v.nullable(v.string()),
  detail: v.nullable(v.string()),
})

export const auditListSchema: v.GenericSchema<unknown, AuditList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(auditRecordSchema),
  database: v.optional(v.string()),
})

export const auditVerificationSchema: v.GenericSchema<unknown, AuditVerification> = v.looseObject({
  ok: v.boolean(),
  problem: v.nullable(v.string()),
  first: v.pipe(v.number(), v.safeInteger()),
  head: v.looseObject({ position: v.pipe(v.number(), v.safeInteger()), hash: v.string() }),
  unchained: v.pipe(v.number(), v.safeInteger()),
})

export const appearanceSchema: v.GenericSchema<unknown, Appearance> = v.looseObject({
  theme: v.string(),
  name: v.string(),
  announcement: v.string(),
  environment: v.string(),
})

export const notificationTargetSchema: v.GenericSchema<unknown, NotificationTarget> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  name: v.string(),
  kind: v.string(),
  url: v.string(),
  events: v.array(v.string()),
  enabled: v.boolean(),
  created_at: v.string(),
  created_by: v.string(),
})

export const notificationTargetListSchema: v.GenericSchema<unknown, NotificationTargetList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(notificationTargetSchema),
})

export const madeNotificationTargetSchema: v.GenericSchema<unknown, MadeNotificationTarget> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  name: v.string(),
  kind: v.string(),
  url: v.string(),
  events: v.array(v.string()),
  enabled: v.boolean(),
  created_at: v.string(),
  created_by: v.string(),
  secret: v.optional(v.string()),
})

export const messageSchema: v.GenericSchema<unknown, Message> = v.looseObject({ message: v.string() })

export const notificationSchema: v.GenericSchema<unknown, Notification> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  delivery: v.string(),
  channel: v.string(),
  recipient: v.string(),
  event: v.string(),
  event_at: v.string(),
  job_id: v.nullable(v.pipe(v.number(), v.safeInteger())),
  state: v.string(),
  attempts: v.pipe(v.number(), v.safeInteger()),
  next_attempt: v.nullable(v.string()),
  problem: v.nullable(v.string()),
  created_at: v.string(),
  ended_at: v.nullable(v.string()),
})

export const notificationListSchema: v.GenericSchema<unknown, NotificationList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(notificationSchema),
})

export const serviceSettingSchema: v.GenericSchema<unknown, ServiceSetting> = v.looseObject({
  name: v.string(),
  value: v.nullable(v.string()),
  secret: v.boolean(),
  given: v.boolean(),
  meaning: v.string(),
})

export const serviceSettingListSchema: v.GenericSchema<unknown, ServiceSettingList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(serviceSettingSchema),
})

export const tokensSchema: v.GenericSchema<unknown, Tokens> = v.looseObject({
  token: v.string(),
  refreshtoken: v.string(),
  passwordMustChange: v.optional(v.boolean()),
})

export const signedInSchema: v.GenericSchema<unknown, SignedIn> = v.looseObject({
  username: v.string(),
  passwordMustChange: v.optional(v.boolean()),
})

export const signInKindsSchema: v.GenericSchema<unknown, SignInKinds> = v.looseObject({
  ldapEnabled: v.boolean(),
  azureAdEnabled: v.boolean(),
  oidcEnabled: v.boolean(),
  publicUrl: v.optional(v.string()),
  announcement: v.optional(v.string()),
})

export const profileSchema: v.GenericSchema<unknown, Profile> = v.looseObject({
  username: v.string(),
  id: v.pipe(v.number(), v.safeInteger()),
  type: v.string(),
  email: v.optional(v.string()),
  groups: v.array(v.string()),
  groupsLeftOut: v.optional(v.pipe(v.number(), v.safeInteger())),
  roles: v.array(v.string()),
  rolesWithheld: v.optional(v.array(v.string())),
  options: v.record(v.string(), v.boolean()),
  passwordMustChange: v.optional(v.boolean()),
})

export const apiTokenSchema: v.GenericSchema<unknown, ApiToken> = v.looseObject({
  sid: v.string(),
  name: v.nullable(v.string()),
  created_at: v.string(),
  expires_at: v.string(),
  last_used_at: v.nullable(v.string()),
  scopes: v.optional(v.nullable(v.array(v.string()))),
})

export const apiTokenListSchema: v.GenericSchema<unknown, ApiTokenList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(apiTokenSchema),
})

export const newApiTokenSchema: v.GenericSchema<unknown, NewApiToken> = v.looseObject({
  sid: v.string(),
  name: v.nullable(v.string()),
  created_at: v.string(),
  expires_at: v.string(),
  last_used_at: v.nullable(v.string()),
  scopes: v.optional(v.nullable(v.array(v.string()))),
  token: v.string(),
})

export const userSchema: v.GenericSchema<unknown, User> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  username: v.string(),
  type: v.string(),
  email: v.nullable(v.string()),
  groups: v.array(v.string()),
  enabled: v.boolean(),
  password_must_change: v.optional(v.boolean()),
  created: v.string(),
  name_had_by: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  roles_withheld: v.optional(v.array(v.string())),
})

export const userListSchema: v.GenericSchema<unknown, UserList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(userSchema),
})

export const roleSchema: v.GenericSchema<unknown, Role> = v.looseObject({
  name: v.string(),
  everyone: v.boolean(),
  groups: v.array(v.string()),
  users: v.array(v.string()),
  options: v.record(v.string(), v.boolean()),
  runners: v.nullable(v.array(v.string())),
  credentials: v.nullable(v.array(v.string())),
  scopes: v.nullable(v.array(v.string())),
  accounts: v.array(
    v.looseObject({
      id: v.pipe(v.number(), v.safeInteger()),
      username: v.string(),
      type: v.string(),
      enabled: v.boolean(),
    }),
  ),
  account_count: v.pipe(v.number(), v.safeInteger()),
})

export const roleListSchema: v.GenericSchema<unknown, RoleList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(roleSchema),
})

export const reencryptionSchema: v.GenericSchema<unknown, Reencryption> = v.looseObject({
  message: v.string(),
  reencrypted: v.pipe(v.number(), v.safeInteger()),
  unreadable: v.pipe(v.number(), v.safeInteger()),
})

export const ownSessionSchema: v.GenericSchema<unknown, OwnSession> = v.looseObject({
  id: v.string(),
  kind: v.string(),
  name: v.nullable(v.string()),
  network: v.nullable(v.string()),
  created_at: v.string(),
  expires_at: v.string(),
  last_used_at: v.nullable(v.string()),
  current: v.boolean(),
})

export const ownSessionListSchema: v.GenericSchema<unknown, OwnSessionList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(ownSessionSchema),
})

export const userSessionSchema: v.GenericSchema<unknown, UserSession> = v.looseObject({
  id: v.string(),
  kind: v.string(),
  name: v.nullable(v.string()),
  network: v.nullable(v.string()),
  created_at: v.string(),
  expires_at: v.string(),
  last_used_at: v.nullable(v.string()),
  user_id: v.pipe(v.number(), v.safeInteger()),
  user: v.string(),
  user_type: v.string(),
})

export const userSessionListSchema: v.GenericSchema<unknown, UserSessionList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(userSessionSchema),
})

export const credentialSchema: v.GenericSchema<unknown, Credential> = v.looseObject({
  id: v.nullable(v.pipe(v.number(), v.safeInteger())),
  name: v.string(),
  type: v.string(),
  user: v.nullable(v.string()),
  password: v.string(),
  host: v.nullable(v.string()),
  port: v.nullable(v.pipe(v.number(), v.safeInteger())),
  description: v.string(),
  options: v.optional(
    v.looseObject({
      db_type: v.optional(v.nullable(v.string())),
      db_name: v.optional(v.nullable(v.string())),
      secure: v.optional(v.nullable(v.boolean())),
      ca: v.optional(v.nullable(v.string())),
      certificate: v.optional(v.nullable(v.string())),
    }),
  ),
  source: v.string(),
  overridden: v.boolean(),
})

export const credentialListSchema: v.GenericSchema<unknown, CredentialList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(credentialSchema),
  errors: v.array(
    v.looseObject({ file: v.string(), line: v.nullable(v.pipe(v.number(), v.safeInteger())), reason: v.string() }),
  ),
})

export const serviceKeySchema: v.GenericSchema<unknown, ServiceKey> = v.looseObject({
  fingerprint: v.string(),
  created_at: v.string(),
  previous: v.array(v.string()),
})

export const attentionSchema: v.GenericSchema<unknown, Attention> = v.looseObject({
  approvals: v.pipe(v.number(), v.safeInteger()),
  runner_requests: v.nullable(v.pipe(v.number(), v.safeInteger())),
  lost_runners: v.nullable(v.pipe(v.number(), v.safeInteger())),
  unknown_jobs: v.nullable(v.pipe(v.number(), v.safeInteger())),
  broken_forms: v.nullable(v.pipe(v.number(), v.safeInteger())),
})

export const listedFormSchema: v.GenericSchema<unknown, ListedForm> = v.looseObject({
  name: v.string(),
  type: v.string(),
  description: v.nullable(v.string()),
  categories: v.array(v.string()),
  fields: v.array(v.unknown()),
})

export const formListSchema: v.GenericSchema<unknown, FormList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(listedFormSchema),
  needs: v.optional(
    v.array(
      v.looseObject({
        form: v.string(),
        needs: v.array(v.looseObject({ feature: v.string(), fields: v.array(v.string()), names: v.array(v.string()) })),
      }),
    ),
  ),
  errors: v.optional(
    v.array(
      v.looseObject({
        file: v.string(),
        line: v.nullable(v.pipe(v.number(), v.safeInteger())),
        form: v.nullable(v.string()),
        reason: v.string(),
      }),
    ),
  ),
  files_left_out: v.optional(v.array(v.looseObject({ path: v.string(), reason: v.string() }))),
})

export const formEvaluationSchema: v.GenericSchema<unknown, FormEvaluation> = v.looseObject({
  fields: v.record(
    v.string(),
    v.looseObject({
      shown: v.boolean(),
      required: v.boolean(),
      value: v.optional(v.unknown()),
      choices: v.optional(v.array(v.unknown())),
      errors: v.array(v.looseObject({ type: v.string(), description: v.string() })),
      waiting: v.optional(v.string()),
      asking: v.optional(v.boolean()),
    }),
  ),
  rows: v.record(v.string(), v.array(v.unknown())),
  steps: v.record(
    v.string(),
    v.looseObject({
      shown: v.boolean(),
      waiting: v.optional(v.string()),
      errors: v.array(v.looseObject({ type: v.string(), description: v.string() })),
      fields: v.record(
        v.string(),
        v.looseObject({
          shown: v.boolean(),
          required: v.boolean(),
          value: v.optional(v.unknown()),
          choices: v.optional(v.array(v.unknown())),
          errors: v.array(v.looseObject({ type: v.string(), description: v.string() })),
          waiting: v.optional(v.string()),
          asking: v.optional(v.boolean()),
        }),
      ),
    }),
  ),
  shownRows: v.optional(
    v.array(
      v.looseObject({
        row: v.array(v.union([v.string(), v.pipe(v.number(), v.safeInteger())])),
        fields: v.record(
          v.string(),
          v.looseObject({
            shown: v.boolean(),
            required: v.boolean(),
            value: v.optional(v.unknown()),
            choices: v.optional(v.array(v.unknown())),
            errors: v.array(v.looseObject({ type: v.string(), description: v.string() })),
            waiting: v.optional(v.string()),
            asking: v.optional(v.boolean()),
          }),
        ),
      }),
    ),
  ),
  runs: v.looseObject({
    runner: v.nullable(v.string()),
    problem: v.nullable(v.string()),
    refused: v.nullable(v.string()),
    extravars: v.record(v.string(), v.unknown()),
  }),
})

export const shownFormSchema: v.GenericSchema<unknown, ShownForm> = v.looseObject({
  name: v.string(),
  categories: v.array(v.string()),
})

export const categoryOfFormsSchema: v.GenericSchema<unknown, CategoryOfForms> = v.looseObject({
  name: v.string(),
  icon: v.string(),
  items: v.optional(v.array(v.unknown())),
})

export const formConfigSchema: v.GenericSchema<unknown, FormConfig> = v.looseObject({
  forms: v.array(shownFormSchema),
  constants: v.record(v.string(), v.unknown()),
  categories: v.optional(v.array(categoryOfFormsSchema)),
  roles: v.optional(v.array(v.record(v.string(), v.unknown()))),
  errors: v.array(v.string()),
  warnings: v.array(v.string()),
})

export const wholeFormSchema: v.GenericSchema<unknown, WholeForm> = v.looseObject({
  forms: v.array(shownFormSchema),
  constants: v.record(v.string(), v.unknown()),
  categories: v.optional(v.array(categoryOfFormsSchema)),
  roles: v.optional(v.array(v.record(v.string(), v.unknown()))),
  errors: v.array(v.string()),
  warnings: v.array(v.string()),
})

export const lockStateSchema: v.GenericSchema<unknown, LockState> = v.looseObject({
  locked: v.boolean(),
  holder: v.nullable(v.string()),
  since: v.nullable(v.string()),
  until: v.nullable(v.string()),
  mine: v.boolean(),
  free: v.optional(v.boolean()),
  match: v.optional(v.boolean()),
  lock: v.optional(v.looseObject({ username: v.string(), type: v.string(), created: v.string() })),
  message: v.optional(v.string()),
})

export const relaunchedSchema: v.GenericSchema<unknown, Relaunched> = v.looseObject({
  message: v.string(),
  id: v.pipe(v.number(), v.safeInteger()),
})

export const launchedSchema: v.GenericSchema<unknown, Launched> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  unknown_fields: v.optional(v.array(v.string())),
})

export const jobStatusSchema: v.GenericSchema<unknown, JobStatus> = v.string()

export const jobRecordSchema: v.GenericSchema<unknown, JobRecord> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  form: v.string(),
  target: v.string(),
  job_type: v.string(),
  status: jobStatusSchema,
  status_reason: v.nullable(v.string()),
  detail: v.nullable(v.string()),
  start: v.string(),
  end: v.nullable(v.string()),
  user: v.string(),
  user_type: v.string(),
  runner: v.nullable(v.string()),
  parent_id: v.nullable(v.pipe(v.number(), v.safeInteger())),
  step: v.nullable(v.string()),
  approval: v.nullable(
    v.looseObject({
      title: v.nullable(v.string()),
      message: v.nullable(v.string()),
      roles: v.array(v.string()),
      notifications: v.array(v.string()),
      allowSelf: v.boolean(),
      state: v.string(),
      decided_by: v.nullable(v.string()),
      decided_by_type: v.nullable(v.string()),
      decided_at: v.nullable(v.string()),
      subject: v.looseObject({ manifest_sha256: v.nullable(v.string()), form_sha256: v.nullable(v.string()) }),
      forced: v.boolean(),
    }),
  ),
  abort_requested: v.boolean(),
  abandoned_at: v.nullable(v.string()),
  run_id: v.optional(v.string()),
  adopted_at: v.optional(v.nullable(v.string())),
  connected: v.optional(v.boolean()),
  schedule: v.optional(v.nullable(v.looseObject({ id: v.pipe(v.number(), v.safeInteger()), name: v.string() }))),
  began: v.optional(v.nullable(v.string())),
  place: v.optional(
    v.nullable(
      v.looseObject({
        state: v.string(),
        since: v.string(),
        until: v.nullable(v.string()),
        before: v.nullable(v.pipe(v.number(), v.safeInteger())),
        runner: v.nullable(v.looseObject({ name: v.string(), online: v.boolean(), last_seen: v.nullable(v.string()) })),
        tasks: v.array(
          v.looseObject({
            id: v.pipe(v.number(), v.safeInteger()),
            task: v.nullable(v.string()),
            hosts: v.array(v.string()),
            count: v.pipe(v.number(), v.safeInteger()),
            since: v.string(),
          }),
        ),
        group: v.optional(
          v.nullable(
            v.looseObject({
              name: v.string(),
              limit: v.pipe(v.number(), v.safeInteger()),
              running: v.array(v.pipe(v.number(), v.safeInteger())),
              before: v.pipe(v.number(), v.safeInteger()),
            }),
          ),
        ),
      }),
    ),
  ),
  estimate: v.optional(
    v.nullable(
      v.looseObject({
        progress: v.number(),
        left_seconds: v.pipe(v.number(), v.safeInteger()),
        shortest_seconds: v.pipe(v.number(), v.safeInteger()),
        longest_seconds: v.pipe(v.number(), v.safeInteger()),
        runs: v.pipe(v.number(), v.safeInteger()),
      }),
    ),
  ),
})

export const jobListSchema: v.GenericSchema<unknown, JobList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(jobRecordSchema),
})

export const jobActionsSchema: v.GenericSchema<unknown, JobActions> = v.looseObject({
  abort: v.optional(v.union([v.boolean(), v.string()])),
  abort_abandoned: v.optional(v.union([v.boolean(), v.string()])),
  approve: v.optional(v.union([v.boolean(), v.string()])),
  reject: v.optional(v.union([v.boolean(), v.string()])),
  relaunch: v.optional(v.union([v.boolean(), v.string()])),
  delete: v.optional(v.union([v.boolean(), v.string()])),
})

export const jobSchema: v.GenericSchema<unknown, Job> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  form: v.string(),
  target: v.string(),
  job_type: v.string(),
  status: jobStatusSchema,
  status_reason: v.nullable(v.string()),
  detail: v.nullable(v.string()),
  start: v.string(),
  end: v.nullable(v.string()),
  user: v.string(),
  user_type: v.string(),
  runner: v.nullable(v.string()),
  parent_id: v.nullable(v.pipe(v.number(), v.safeInteger())),
  step: v.nullable(v.string()),
  approval: v.nullable(
    v.looseObject({
      title: v.nullable(v.string()),
      message: v.nullable(v.string()),
      roles: v.array(v.string()),
      notifications: v.array(v.string()),
      allowSelf: v.boolean(),
      state: v.string(),
      decided_by: v.nullable(v.string()),
      decided_by_type: v.nullable(v.string()),
      decided_at: v.nullable(v.string()),
      subject: v.looseObject({ manifest_sha256: v.nullable(v.string()), form_sha256: v.nullable(v.string()) }),
      forced: v.boolean(),
    }),
  ),
  abort_requested: v.boolean(),
  abandoned_at: v.nullable(v.string()),
  run_id: v.optional(v.string()),
  adopted_at: v.optional(v.nullable(v.string())),
  connected: v.optional(v.boolean()),
  schedule: v.optional(v.nullable(v.looseObject({ id: v.pipe(v.number(), v.safeInteger()), name: v.string() }))),
  can: v.optional(jobActionsSchema),
  began: v.optional(v.nullable(v.string())),
  place: v.optional(
    v.nullable(
      v.looseObject({
        state: v.string(),
        since: v.string(),
        until: v.nullable(v.string()),
        before: v.nullable(v.pipe(v.number(), v.safeInteger())),
        runner: v.nullable(v.looseObject({ name: v.string(), online: v.boolean(), last_seen: v.nullable(v.string()) })),
        tasks: v.array(
          v.looseObject({
            id: v.pipe(v.number(), v.safeInteger()),
            task: v.nullable(v.string()),
            hosts: v.array(v.string()),
            count: v.pipe(v.number(), v.safeInteger()),
            since: v.string(),
          }),
        ),
        group: v.optional(
          v.nullable(
            v.looseObject({
              name: v.string(),
              limit: v.pipe(v.number(), v.safeInteger()),
              running: v.array(v.pipe(v.number(), v.safeInteger())),
              before: v.pipe(v.number(), v.safeInteger()),
            }),
          ),
        ),
      }),
    ),
  ),
  runs_on: v.optional(
    v.nullable(
      v.array(v.looseObject({ runner: v.nullable(v.string()), by_default: v.boolean(), nodes: v.array(v.string()) })),
    ),
  ),
  time_limit: v.optional(
    v.nullable(v.looseObject({ seconds: v.number(), used_seconds: v.pipe(v.number(), v.safeInteger()) })),
  ),
  estimate: v.optional(
    v.nullable(
      v.looseObject({
        progress: v.number(),
        left_seconds: v.pipe(v.number(), v.safeInteger()),
        shortest_seconds: v.pipe(v.number(), v.safeInteger()),
        longest_seconds: v.pipe(v.number(), v.safeInteger()),
        runs: v.pipe(v.number(), v.safeInteger()),
      }),
    ),
  ),
  history: v.optional(
    v.array(v.looseObject({ time: v.string(), from: v.string(), to: v.string(), reason: v.nullable(v.string()) })),
  ),
  stages: v.optional(v.array(v.looseObject({ state: v.string(), since: v.string(), until: v.nullable(v.string()) }))),
  streams: v.optional(
    v.looseObject({
      output: v.looseObject({
        bytes: v.pipe(v.number(), v.safeInteger()),
        lines: v.pipe(v.number(), v.safeInteger()),
        generation: v.pipe(v.number(), v.safeInteger()),
      }),
      events: v.looseObject({ count: v.pipe(v.number(), v.safeInteger()) }),
    }),
  ),
  integrity: v.optional(
    v.nullable(
      v.looseObject({
        state: v.nullable(v.string()),
        output_sha256: v.nullable(v.string()),
        events_sha256: v.nullable(v.string()),
        verified_at: v.nullable(v.string()),
      }),
    ),
  ),
  extravars: v.record(v.string(), v.unknown()),
  payload: v.record(v.string(), v.unknown()),
  credentials: v.record(v.string(), v.unknown()),
  subjobs: v.array(v.pipe(v.number(), v.safeInteger())),
  output: v.string(),
})

export const jobEventRecordSchema: v.GenericSchema<unknown, JobEventRecord> = v.looseObject({
  order: v.pipe(v.number(), v.safeInteger()),
  type: v.string(),
  play: v.nullable(v.string()),
  task: v.nullable(v.string()),
  host: v.nullable(v.string()),
  duration: v.nullable(v.number()),
  time: v.string(),
  task_id: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  play_id: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  action: v.optional(v.nullable(v.string())),
  role: v.optional(v.nullable(v.string())),
  path: v.optional(v.nullable(v.string())),
  from: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  to: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  line: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
  changed: v.optional(v.boolean()),
  ignored: v.optional(v.boolean()),
  rescued: v.optional(v.boolean()),
  uncounted: v.optional(v.boolean()),
  item: v.optional(v.unknown()),
})

export const jobEventListSchema: v.GenericSchema<unknown, JobEventList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(jobEventRecordSchema),
})

export const jobEventSchema: v.GenericSchema<unknown, JobEvent> = v.looseObject({
  order: v.pipe(v.number(), v.safeInteger()),
  type: v.string(),
  play: v.nullable(v.string()),
  task: v.nullable(v.string()),
  host: v.nullable(v.string()),
  duration: v.nullable(v.number()),
  time: v.string(),
  result: v.unknown(),
})

export const jobOutlineSchema: v.GenericSchema<unknown, JobOutline> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(
    v.looseObject({
      id: v.pipe(v.number(), v.safeInteger()),
      kind: v.string(),
      play: v.nullable(v.pipe(v.number(), v.safeInteger())),
      name: v.nullable(v.string()),
      role: v.nullable(v.string()),
      path: v.nullable(v.string()),
      order: v.pipe(v.number(), v.safeInteger()),
      from: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
      to: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
      line: v.optional(v.nullable(v.pipe(v.number(), v.safeInteger()))),
      started: v.string(),
      ended: v.nullable(v.string()),
      ok: v.pipe(v.number(), v.safeInteger()),
      changed: v.pipe(v.number(), v.safeInteger()),
      failed: v.pipe(v.number(), v.safeInteger()),
      skipped: v.pipe(v.number(), v.safeInteger()),
      unreachable: v.pipe(v.number(), v.safeInteger()),
      ignored: v.pipe(v.number(), v.safeInteger()),
      hosts: v.pipe(v.number(), v.safeInteger()),
    }),
  ),
  last: v.pipe(v.number(), v.safeInteger()),
  complete: v.boolean(),
  hosts: v.optional(
    v.array(
      v.looseObject({
        host: v.string(),
        started: v.string(),
        busy_ms: v.pipe(v.number(), v.safeInteger()),
        spans: v.array(v.array(v.pipe(v.number(), v.safeInteger()))),
        since: v.nullable(v.string()),
        ok: v.pipe(v.number(), v.safeInteger()),
        changed: v.pipe(v.number(), v.safeInteger()),
        failed: v.pipe(v.number(), v.safeInteger()),
        skipped: v.pipe(v.number(), v.safeInteger()),
        unreachable: v.pipe(v.number(), v.safeInteger()),
        ignored: v.pipe(v.number(), v.safeInteger()),
      }),
    ),
  ),
  recap: v.optional(
    v.nullable(
      v.looseObject({
        order: v.pipe(v.number(), v.safeInteger()),
        from: v.nullable(v.pipe(v.number(), v.safeInteger())),
        line: v.nullable(v.pipe(v.number(), v.safeInteger())),
      }),
    ),
  ),
})

export const jobMatrixSchema: v.GenericSchema<unknown, JobMatrix> = v.looseObject({
  hosts: v.array(v.string()),
  tasks: v.array(v.pipe(v.number(), v.safeInteger())),
  cells: v.array(v.string()),
  complete: v.boolean(),
})

export const outputHitsSchema: v.GenericSchema<unknown, OutputHits> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  complete: v.boolean(),
  hits: v.array(v.array(v.pipe(v.number(), v.safeInteger()))),
  next: v.nullable(v.pipe(v.number(), v.safeInteger())),
})

export const jobFailuresSchema: v.GenericSchema<unknown, JobFailures> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(
    v.looseObject({
      task_id: v.nullable(v.pipe(v.number(), v.safeInteger())),
      play: v.nullable(v.string()),
      task: v.nullable(v.string()),
      role: v.nullable(v.string()),
      path: v.nullable(v.string()),
      action: v.nullable(v.string()),
      outcome: v.string(),
      message: v.nullable(v.string()),
      order: v.pipe(v.number(), v.safeInteger()),
      hosts: v.array(v.string()),
      count: v.pipe(v.number(), v.safeInteger()),
      task_hosts: v.nullable(v.pipe(v.number(), v.safeInteger())),
      from: v.nullable(v.pipe(v.number(), v.safeInteger())),
      line: v.nullable(v.pipe(v.number(), v.safeInteger())),
    }),
  ),
})

export const outputIndexSchema: v.GenericSchema<unknown, OutputIndex> = v.looseObject({
  bytes: v.pipe(v.number(), v.safeInteger()),
  lines: v.pipe(v.number(), v.safeInteger()),
  step: v.pipe(v.number(), v.safeInteger()),
  generation: v.pipe(v.number(), v.safeInteger()),
  run_id: v.optional(v.string()),
  points: v.array(v.array(v.pipe(v.number(), v.safeInteger()))),
})

export const jobNodeRecordSchema: v.GenericSchema<unknown, JobNodeRecord> = v.looseObject({
  identifier: v.string(),
  name: v.string(),
  type: v.string(),
  links: v.looseObject({ success: v.array(v.string()), failure: v.array(v.string()), always: v.array(v.string()) }),
  all_parents: v.boolean(),
  status: v.string(),
  reason: v.nullable(v.string()),
  start: v.nullable(v.string()),
  end: v.nullable(v.string()),
  job: v.nullable(v.pipe(v.number(), v.safeInteger())),
  began: v.optional(v.nullable(v.string())),
})

export const jobNodeListSchema: v.GenericSchema<unknown, JobNodeList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(jobNodeRecordSchema),
})

export const jobComparisonSchema: v.GenericSchema<unknown, JobComparison> = v.looseObject({
  job: v.looseObject({
    id: v.pipe(v.number(), v.safeInteger()),
    form: v.string(),
    target: v.string(),
    status: v.string(),
    start: v.string(),
    end: v.nullable(v.string()),
    user: v.string(),
    user_type: v.string(),
    runner: v.nullable(v.string()),
  }),
  with: v.looseObject({
    id: v.pipe(v.number(), v.safeInteger()),
    form: v.string(),
    target: v.string(),
    status: v.string(),
    start: v.string(),
    end: v.nullable(v.string()),
    user: v.string(),
    user_type: v.string(),
    runner: v.nullable(v.string()),
  }),
  extravars: v.looseObject({
    count: v.pipe(v.number(), v.safeInteger()),
    records: v.array(
      v.looseObject({ path: v.array(v.string()), change: v.string(), value: v.unknown(), with_value: v.unknown() }),
    ),
  }),
  results: v.looseObject({
    count: v.pipe(v.number(), v.safeInteger()),
    records: v.array(
      v.looseObject({
        task: v.pipe(v.number(), v.safeInteger()),
        name: v.nullable(v.string()),
        host: v.string(),
        outcome: v.string(),
        with_outcome: v.string(),
      }),
    ),
  }),
  tasks: v.looseObject({
    count: v.pipe(v.number(), v.safeInteger()),
    records: v.array(
      v.looseObject({
        id: v.nullable(v.pipe(v.number(), v.safeInteger())),
        with_id: v.nullable(v.pipe(v.number(), v.safeInteger())),
        name: v.nullable(v.string()),
        role: v.nullable(v.string()),
        play: v.nullable(v.string()),
        seconds: v.nullable(v.number()),
        with_seconds: v.nullable(v.number()),
        changed: v.pipe(v.number(), v.safeInteger()),
      }),
    ),
  }),
  hosts: v.looseObject({ added: v.array(v.string()), removed: v.array(v.string()) }),
  steps: v.array(
    v.looseObject({
      identifier: v.string(),
      status: v.nullable(v.string()),
      with_status: v.nullable(v.string()),
      job: v.nullable(v.pipe(v.number(), v.safeInteger())),
      with_job: v.nullable(v.pipe(v.number(), v.safeInteger())),
      seconds: v.nullable(v.number()),
      with_seconds: v.nullable(v.number()),
    }),
  ),
  complete: v.boolean(),
})

export const scheduleSchema: v.GenericSchema<unknown, Schedule> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  name: v.string(),
  form: v.string(),
  cron: v.nullable(v.string()),
  at: v.nullable(v.string()),
  time_zone: v.string(),
  missed: v.string(),
  paused: v.boolean(),
  values: v.record(v.string(), v.unknown()),
  credentials: v.record(v.string(), v.string()),
  verbose: v.boolean(),
  user: v.string(),
  user_type: v.string(),
  next_run: v.nullable(v.string()),
  next_runs: v.array(v.string()),
  last_run: v.nullable(v.string()),
  last_job: v.nullable(v.pipe(v.number(), v.safeInteger())),
  last_status: v.optional(v.nullable(v.string())),
  last_problem: v.nullable(v.string()),
  created_at: v.string(),
})

export const scheduleListSchema: v.GenericSchema<unknown, ScheduleList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(scheduleSchema),
})

export const nextRunsSchema: v.GenericSchema<unknown, NextRuns> = v.looseObject({ next_runs: v.array(v.string()) })

export const uploadSchema: v.GenericSchema<unknown, Upload> = v.looseObject({
  fieldname: v.string(),
  originalname: v.string(),
  encoding: v.string(),
  mimetype: v.string(),
  destination: v.string(),
  filename: v.string(),
  path: v.string(),
  size: v.pipe(v.number(), v.safeInteger()),
})

export const joinTokenSchema: v.GenericSchema<unknown, JoinToken> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  name: v.nullable(v.string()),
  created_at: v.string(),
  created_by: v.string(),
  expires_at: v.string(),
  used_at: v.nullable(v.string()),
  used_by: v.nullable(v.string()),
})

export const joinTokenListSchema: v.GenericSchema<unknown, JoinTokenList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(joinTokenSchema),
})

export const newJoinTokenSchema: v.GenericSchema<unknown, NewJoinToken> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  token: v.string(),
  expires_at: v.string(),
})

export const runnerAddressSchema: v.GenericSchema<unknown, RunnerAddress> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  address: v.string(),
  name: v.optional(v.nullable(v.string())),
  fingerprint: v.nullable(v.string()),
  created_at: v.string(),
  created_by: v.string(),
  node: v.nullable(v.string()),
  problem: v.nullable(v.string()),
})

export const runnerAddressListSchema: v.GenericSchema<unknown, RunnerAddressList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(runnerAddressSchema),
})

export const runnerSchema: v.GenericSchema<unknown, Runner> = v.looseObject({
  id: v.pipe(v.number(), v.safeInteger()),
  name: v.string(),
  state: v.string(),
  online: v.boolean(),
  enabled: v.boolean(),
  is_default: v.boolean(),
  mode: v.string(),
  fingerprint: v.string(),
  host: v.string(),
  ip: v.string(),
  version: v.string(),
  contract: v.pipe(v.number(), v.safeInteger()),
  ansible_version: v.nullable(v.string()),
  isolation: v.optional(v.string()),
  max_jobs: v.pipe(v.number(), v.safeInteger()),
  agent_max_jobs: v.pipe(v.number(), v.safeInteger()),
  running_jobs: v.pipe(v.number(), v.safeInteger()),
  draining: v.boolean(),
  clock_skew_ms: v.pipe(v.number(), v.safeInteger()),
  spool_bytes: v.pipe(v.number(), v.safeInteger()),
  requested_at: v.string(),
  approved_at: v.nullable(v.string()),
  approved_by: v.nullable(v.string()),
  last_seen: v.string(),
  description: v.string(),
  kept_by: v.optional(v.nullable(v.string())),
  clone: v.nullable(v.looseObject({ seen_at: v.string(), host: v.nullable(v.string()), ip: v.nullable(v.string()) })),
})

export const runnerListSchema: v.GenericSchema<unknown, RunnerList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(runnerSchema),
})

export const runnerOrphanSchema: v.GenericSchema<unknown, RunnerOrphan> = v.looseObject({
  runner_id: v.pipe(v.number(), v.safeInteger()),
  runner: v.string(),
  run_id: v.string(),
  number: v.pipe(v.number(), v.safeInteger()),
  reason: v.string(),
  service: v.nullable(v.string()),
  ended: v.boolean(),
  output_bytes: v.pipe(v.number(), v.safeInteger()),
  events_bytes: v.pipe(v.number(), v.safeInteger()),
  form: v.nullable(v.string()),
  user: v.nullable(v.string()),
  user_type: v.nullable(v.string()),
  claimed_at: v.nullable(v.string()),
  reported_at: v.string(),
  decision: v.nullable(v.string()),
  decided_by: v.nullable(v.string()),
})

export const runnerOrphanListSchema: v.GenericSchema<unknown, RunnerOrphanList> = v.looseObject({
  count: v.pipe(v.number(), v.safeInteger()),
  records: v.array(runnerOrphanSchema),
})

export const errorSchema: v.GenericSchema<unknown, ErrorAnswer> = v.looseObject({
  error: v.string(),
  code: v.optional(v.string()),
  details: v.optional(v.record(v.string(), v.unknown())),
})

/** The operations of the interface, each by the name that the document gives it. */
export interface Operations {
  /** Whether the process is alive */
  getLive(
    request?: NoParameters,
    options?: RequestOptions,
  ): Promise<{
    status: 'live' | AnotherWord
  }>
  /** Whether it can serve requests */
  getReady(
    request?: NoParameters,
    options?: RequestOptions,
  ): Promise<{
    status: 'ready' | AnotherWord
    /** What an admin should know although requests are served */
    warnings?: string[]
  }>
  /** The version of the service and of its interface */
  getVersion(
    request?: NoParameters,
    options?: RequestOptions,
  ): Promise<{
    version: string
    api: string
  }>
  /** Whether the database is ready */
  getSchema(request?: NoParameters, options?: RequestOptions): Promise<DatabaseSchema>
  /** How a page begins */
  getAppConfig(request?: NoParameters, options?: RequestOptions): Promise<AppConfig>
  /** The logo: pages show their own */
  getLogo(request?: NoParameters, options?: RequestOptions): Promise<Logo>
  /** Where the session at the provider of oidc is ended; ends nothing here */
  getLogoutAddress(request?: NoParameters, options?: RequestOptions): Promise<LogoutUrl>
  /** End the session; an API token revokes itself */
  logout(request?: NoParameters, options?: RequestOptions): Promise<SignedOut>
  /** Metrics for Prometheus; the bearer is METRICS_TOKEN or the token of an admin */
  getMetrics(request?: NoParameters, options?: RequestOptions): Promise<Response>
  /** Who changed what, newest first (admin) */
  listAudit(
    request?: {
      /** 100 when left out, at most 1000 */
      records?: number
      /** Only older records than the one of this id: the header Link of the page before has it */
      before?: number
      /** Only what this user did */
      user?: string
      user_type?: 'local' | 'ldap' | 'azuread' | 'oidc' | AnotherWord
      /** Only this action */
      action?: string
    },
    options?: RequestOptions,
  ): Promise<AuditList>
  /** Check that the audit trail was not changed (admin)
   *
   * Reads every record. With position and hash it also checks that the chain still has that record. An earlier call gave it as the head of the chain. This finds a chain that somebody with access to the database has made again. */
  verifyAudit(
    request?: {
      /** Of a head that was noted before; needs hash */
      position?: number
      /** Of a head that was noted before */
      hash?: string
    },
    options?: RequestOptions,
  ): Promise<AuditVerification>
  /** What the header shows */
  getAppearance(request?: NoParameters, options?: RequestOptions): Promise<Appearance>
  /** Change the given texts in the header of the pages (admin) */
  changeAppearance(
    request: {
      body: {
        theme?: string
        name?: string
        announcement?: string
        environment?: string
      }
    },
    options?: RequestOptions,
  ): Promise<Appearance>
  /** The targets: web addresses that get notifications of events (admin) */
  listNotificationTargets(request?: NoParameters, options?: RequestOptions): Promise<NotificationTargetList>
  /** Tell a web address of events (admin) */
  createNotificationTarget(
    request: {
      body: NewNotificationTarget
    },
    options?: RequestOptions,
  ): Promise<MadeNotificationTarget>
  /** Change the given properties of a target (admin); without a secret the stored one stays */
  changeNotificationTarget(
    request: {
      /** A whole number */
      id: number
      body: NotificationTargetChange
    },
    options?: RequestOptions,
  ): Promise<NotificationTarget>
  /** Remove a target, and give up the notifications that wait for it (admin) */
  deleteNotificationTarget(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Send the event `test` to a target at once, and say what came of it (admin) */
  testNotificationTarget(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Notification>
  /** The notifications that were or will be sent, the newest first (admin) */
  listNotifications(
    request?: {
      state?: 'waiting' | 'sent' | 'failed' | AnotherWord
      /** Only those about this job */
      job?: number
      /** Only those to this target */
      target?: number
      /** 1 to 1000; 100 if left out */
      records?: number
    },
    options?: RequestOptions,
  ): Promise<NotificationList>
  /** Send a notification again, also one that was sent or given up (admin) */
  retryNotification(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Notification>
  /** Send a test mail at once, and answer with the result (admin) */
  sendTestMail(
    request: {
      body: TestMail
    },
    options?: RequestOptions,
  ): Promise<Notification>
  /** The settings that this control plane runs with (admin); secrets are never shown */
  listServiceSettings(request?: NoParameters, options?: RequestOptions): Promise<ServiceSettingList>
  /** Server-sent events: hello, then changed with the name of what changed
   *
   * `hello` comes at once, with `retry: 3000`. Its data has `version`. Its
   * id names the database: another id than before says that a database was restored, and numbers may have been given again. `changed` has the data {"name": …}, where the name is jobs,
   * appearance, designer or runners; it comes at most once a second for each name. Every 15 seconds there is a comment line. What
   * changed while the stream was down is not sent again: read again what is shown, after each `changed` and each reconnect.
   * A session has at most EVENT_STREAMS_PER_SESSION streams (429); a stream ends within a second of its session. */
  watchEvents(request?: NoParameters, options?: RequestOptions): Promise<Response>
  /** Sign in with HTTP Basic or with a JSON body: a local user, or else a user of the directory */
  login(
    request: {
      /** If given, token is an API token for so many days (at most API_TOKEN_MAX_DAYS), if the user may have one */
      expiryDays?: number | string
      /** What that API token is for */
      name?: string
      body: {
        username: string
        password: string
        /** If given, token is an API token for so many days (at most API_TOKEN_MAX_DAYS), if the user may have one */
        expiryDays?: number | string
        /** What that API token is for */
        name?: string
      }
    },
    options?: RequestOptions,
  ): Promise<Tokens>
  /** A new pair of tokens for a refresh token, which works once */
  refreshTokens(
    request: {
      body: {
        refreshtoken: string
      }
    },
    options?: RequestOptions,
  ): Promise<Tokens>
  /** Sign this browser in, by a cookie
   *
   * For pages of this service only: the answer has no token, the browser gets a cookie that no script can read. The request
   * has to say that a page asks (X-Holdfast-Page: 1) and, as browsers do by themselves, that it is of the same origin
   * (Sec-Fetch-Site or Origin). Programs use POST /auth/login. */
  beginBrowserSession(
    request: {
      body: {
        username: string
        password: string
      }
    },
    options?: RequestOptions,
  ): Promise<SignedIn>
  /** Sign this browser out; ends the session of the request, whatever kind it is of */
  endBrowserSession(request?: NoParameters, options?: RequestOptions): Promise<SignedOut>
  /** The kinds of users that can sign in besides local ones */
  getSignInKinds(request?: NoParameters, options?: RequestOptions): Promise<SignInKinds>
  /** The page that asks whether the command line may be signed in */
  askSignIn(
    request: {
      /** Which sign-in of this browser */
      sign_in: string
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** Exchange a code for tokens: the browser brought the code back to the program that opened it; works once */
  exchangeSignInCode(
    request: {
      body: {
        code: string
        /** Whose SHA-256 was the challenge */
        verifier: string
      }
    },
    options?: RequestOptions,
  ): Promise<Tokens>
  /** The signed-in user */
  getProfile(request?: NoParameters, options?: RequestOptions): Promise<Profile>
  /** Change the password of the caller; ends all sessions and API tokens of the caller, also this session */
  changePassword(
    request: {
      body: {
        password: string
        currentPassword: string
      }
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** The own API tokens, newest first */
  listApiTokens(request?: NoParameters, options?: RequestOptions): Promise<ApiTokenList>
  /** Make an API token, which is shown only once (needs the role option allowApiTokens; not possible with an API token) */
  createApiToken(
    request?: {
      body?: {
        /** What it is for */
        name?: string
        /** Default 30; at most API_TOKEN_MAX_DAYS */
        expiryDays?: number
        /** What it may be used for; by default everything that the roles allow. launch includes read, and admin includes everything */
        scopes?: ('read' | 'launch' | 'admin' | AnotherWord)[]
      } | null
    },
    options?: RequestOptions,
  ): Promise<NewApiToken>
  /** Revoke an own API token */
  revokeApiToken(
    request: {
      sid: string
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** All users (admin) */
  listUsers(request?: NoParameters, options?: RequestOptions): Promise<UserList>
  /** Add a local user (admin) */
  createUser(
    request: {
      body: {
        username: string
        /** At least 12 characters; never returned */
        password: string
        groups?: string[]
        email?: string | null
        enabled?: boolean
        /** The user has to change the password first */
        passwordMustChange?: boolean
      }
    },
    options?: RequestOptions,
  ): Promise<User>
  /** One user (admin) */
  getUser(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<User>
  /** Change the given properties of a user (admin); blocking or a new password ends the sessions and API tokens
   *
   * For a user who is not local, only enabled can be changed */
  changeUser(
    request: {
      /** A whole number */
      id: number
      body: {
        username?: string
        /** At least 12 characters; never returned */
        password?: string
        groups?: string[]
        email?: string | null
        enabled?: boolean
        /** The user has to change the password first */
        passwordMustChange?: boolean
      }
    },
    options?: RequestOptions,
  ): Promise<User>
  /** Delete a user (admin) */
  deleteUser(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Let the roles that name this user count for this account, although a deleted account had the same name (admin) */
  acceptUserName(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<User>
  /** The roles of config.yaml, and which accounts have them (admin) */
  listRoles(request?: NoParameters, options?: RequestOptions): Promise<RoleList>
  /** Encrypt all stored secrets with a new secret (admin)
   *
   * If ENCRYPTION_SECRET is a setting, no new secret is made: everything is encrypted with that of the setting. May be repeated after a failure. */
  rotateEncryptionSecret(request?: NoParameters, options?: RequestOptions): Promise<Reencryption>
  /** Sign access tokens with a new secret from now on; existing tokens stay valid until they expire (admin) */
  rotateAccessTokenSecret(request?: NoParameters, options?: RequestOptions): Promise<Message>
  /** The open sessions of the caller, the newest first */
  listOwnSessions(request?: NoParameters, options?: RequestOptions): Promise<OwnSessionList>
  /** End an own sign-in, its event streams too */
  endOwnSession(
    request: {
      id: string
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Open sessions and valid API tokens of all users, the newest first (admin) */
  listSessions(
    request?: {
      /** Only those of this user */
      user_id?: number
    },
    options?: RequestOptions,
  ): Promise<UserSessionList>
  /** End a session or an API token of any user (admin) */
  endSession(
    request: {
      id: string
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** All credentials (admin) */
  listCredentials(request?: NoParameters, options?: RequestOptions): Promise<CredentialList>
  /** Add a credential (admin) */
  createCredential(
    request: {
      body: {
        /** 1 to 200 characters without comma; forms call it so */
        name: string
        /** userpass when left out */
        type?: 'userpass' | 'ssh' | 'vault' | 'database' | 'token' | 'certificate' | AnotherWord
        user?: string | null
        /** The secret: a password, the private key of type ssh, the password of type vault, a token. Never returned */
        password: string
        host?: string | null
        port?: number | null
        description?: string
        /** What databases and client certificates need more; null takes one away */
        options?: {
          /** The kind of the database */
          db_type?: 'postgres' | 'mysql' | 'mssql' | 'oracle' | 'mongodb' | AnotherWord | null
          /** The name of the database */
          db_name?: string | null
          /** Connect with TLS, and check the certificate */
          secure?: boolean | null
          /** The certificates (PEM) that are trusted instead of those of the system */
          ca?: string | null
          /** The client certificate (PEM) of type certificate */
          certificate?: string | null
        }
      }
    },
    options?: RequestOptions,
  ): Promise<Credential>
  /** One credential (admin) */
  getCredential(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Credential>
  /** Change the given properties of a credential (admin); without a password the stored one stays */
  changeCredential(
    request: {
      /** A whole number */
      id: number
      body: {
        /** 1 to 200 characters without comma; forms call it so */
        name?: string
        /** userpass when left out */
        type?: 'userpass' | 'ssh' | 'vault' | 'database' | 'token' | 'certificate' | AnotherWord
        user?: string | null
        /** The secret: a password, the private key of type ssh, the password of type vault, a token. Never returned */
        password?: string
        host?: string | null
        port?: number | null
        description?: string
        /** What databases and client certificates need more; null takes one away */
        options?: {
          /** The kind of the database */
          db_type?: 'postgres' | 'mysql' | 'mssql' | 'oracle' | 'mongodb' | AnotherWord | null
          /** The name of the database */
          db_name?: string | null
          /** Connect with TLS, and check the certificate */
          secure?: boolean | null
          /** The certificates (PEM) that are trusted instead of those of the system */
          ca?: string | null
          /** The client certificate (PEM) of type certificate */
          certificate?: string | null
        }
      }
    },
    options?: RequestOptions,
  ): Promise<Credential>
  /** Delete a credential (admin); waiting jobs that need it will fail */
  deleteCredential(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** The key with which the control plane proves its identity to runners (admin) */
  getServiceKey(request?: NoParameters, options?: RequestOptions): Promise<ServiceKey>
  /** Replace the key; runners that trust the old key trust the new one, too (admin) */
  rotateServiceKey(
    request: {
      body: ServiceKeyRotation
    },
    options?: RequestOptions,
  ): Promise<ServiceKey>
  /** How much waits for the caller */
  getAttention(request?: NoParameters, options?: RequestOptions): Promise<Attention>
  /** The forms that the caller may launch */
  listForms(
    request?: {
      /** false leaves the fields out: they are then empty */
      fields?: boolean
    },
    options?: RequestOptions,
  ): Promise<FormList>
  /** One form with its fields */
  getListedForm(
    request: {
      name: string
    },
    options?: RequestOptions,
  ): Promise<ListedForm>
  /** What the answer to a launch with these values would be, without a launch */
  evaluateForm(
    request: {
      name: string
      body: {
        rawFormData?: Record<string, unknown> | null
        extravars?: Record<string, unknown> | null
        credentials?: Record<string, unknown> | null
        /** As in a launch */
        files?: Record<string, unknown> | null
        /** Seconds to wait for the sources that the form asks; default 1 */
        wait?: number | null
        /** Rows of lists whose fields the answer shows, too */
        showRows?: (string | number)[][] | null
        /** The field that was changed last */
        changed?: string | null
      }
    },
    options?: RequestOptions,
  ): Promise<FormEvaluation>
  /** What the expression of a field of a form gives; its text is that of the form */
  evaluateExpression(
    request: {
      body: {
        formName?: string | null
        subformName?: string | null
        fieldName?: string | null
        /** The values for the placeholders of the field; constants and the user come from the control plane */
        values?: Record<string, unknown> | null
      }
    },
    options?: RequestOptions,
  ): Promise<unknown>
  /** What the query of a field of a form gives; its text is that of the form */
  runQuery(
    request: {
      body: {
        formName?: string | null
        subformName?: string | null
        fieldName?: string | null
        /** The values for the placeholders of the field; constants and the user come from the control plane */
        values?: Record<string, unknown> | null
      }
    },
    options?: RequestOptions,
  ): Promise<unknown>
  /** The forms that the caller may launch, in brief, with the categories and constants */
  getFormList(request?: NoParameters, options?: RequestOptions): Promise<FormConfig>
  /** One form that the caller may launch, with its subforms and constants */
  getForm(
    request?: {
      /** Of the form */
      name?: string
    },
    options?: RequestOptions,
  ): Promise<WholeForm>
  /** All forms as their files have them, with categories, roles and constants (admin) */
  getConfig(request?: NoParameters, options?: RequestOptions): Promise<FormConfig>
  /** Who holds the designer lock */
  getLock(request?: NoParameters, options?: RequestOptions): Promise<LockState>
  /** Take or keep the designer lock (admin); it is free again after 10 minutes of silence */
  takeLock(request?: NoParameters, options?: RequestOptions): Promise<LockState>
  /** Release the designer lock (admin) */
  releaseLock(request?: NoParameters, options?: RequestOptions): Promise<Message>
  /** The field values that a job was launched with
   *
   * For your own job, or any with the role option manageAllJobs or as an admin; it takes the role option allowJobRelaunch and a form that is there and does not say allowRelaunch: false. Without passwords, and without uploads but those of rows; ******** stands where a password was a part of a value. Nothing else is hidden. 404 when none were kept. */
  getJobRawformdata(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Record<string, unknown>>
  /** Run an ended job again, as it ran or with changes
   *
   * For your own job, or any with the role option manageAllJobs or as an admin; it takes the role option allowJobRelaunch and a form that is there and does not say allowRelaunch: false. The new job is yours. It goes the way of every launch: form, roles and LAUNCH_VALIDATION count as they are now. Without a body it runs as it ran: where launches are checked from the kept field values, else with the same variables. values are laid over the kept field values, a step of a wizard field by field; null or empty means none, and ******** in place of a value that is not shown is refused. Passwords are not kept: those that the job had must come in values (422, missing). Uploads are used again. An abandoned job can be run again although it may still be at work; the message says so. */
  relaunchJob(
    request: {
      /** true: the new job runs in verbose mode, which takes the role option allowVerboseMode */
      verbose?: boolean
      /** A whole number */
      id: number
      body?: {
        /** Field values that replace the kept ones; empty: the same values */
        values?: Record<string, unknown> | null
        /** By file field, as in a launch: the answer to another upload, or null for no file. The uploads of all other fields are used again. Rows that values has bring their files themselves */
        files?: Record<string, unknown> | null
      } | null
    },
    options?: RequestOptions,
  ): Promise<Relaunched>
  /** Launch a form
   *
   * Under LAUNCH_VALIDATION=enforce the values of rawFormData are checked against the fields of the form, and the extra variables are built from them; of extravars only __verbose__ counts. A field that is not named in rawFormData gets its default; one that is null or empty has no value. Refused values answer 422 with details: missing, invalid, waiting, validationErrors, rowErrors, uploads. Nothing is created then. */
  launchJob(
    request: {
      body: Launch
    },
    options?: RequestOptions,
  ): Promise<Launched>
  /** List jobs, newest first
   *
   * If there may be more jobs, the header Link has the address of the next page (rel="next", RFC 8288), relative to that of the request. With If-None-Match and the ETag of an earlier answer, a list that has not changed is answered with 304 and without a body. */
  listJobs(
    request?: {
      /** Most jobs to answer: JOBS_LIST_SIZE when left out, at most 5000 or JOBS_LIST_SIZE if that is higher */
      records?: number
      /** Only the jobs of this user */
      user?: string
      /** Kind of that user: local when left out */
      user_type?: 'local' | 'ldap' | 'azuread' | 'oidc' | AnotherWord
      /** Only the jobs that ran on this runner */
      runner?: string
      /** true for only the jobs that wait for an approval which the caller may give */
      waiting?: boolean
      /** Only jobs with a lower id: the header Link of the page before has it */
      before?: number
      /** Only jobs with one of these, with commas: running,approve,success,failed,warning,aborted,rejected,abandoned */
      status?: string
      /** true for only the jobs of status running that no runner has yet, false for all but these */
      queued?: boolean
      /** Only jobs of the form with this name */
      form?: string
      /** Only jobs with this text in form, target, user, runner or reason, or with this number */
      q?: string
      /** false leaves out the jobs that belong to a parent job */
      parts?: boolean
      /** true to be told where the newest jobs are that have not ended, 20 at most, and what is left of them */
      place?: boolean
      /** Only jobs that started then or later, ISO 8601 */
      from?: string
      /** Only jobs that started before, ISO 8601 */
      to?: string
    },
    options?: RequestOptions,
  ): Promise<JobList>
  /** One job with its output
   *
   * With output=false the answer also has can, began, place, runs_on, estimate, history, stages, streams and integrity, which the page of a job shows. */
  getJob(
    request: {
      /** true for plain text, else HTML */
      text?: boolean
      /** false leaves the output out: it is then empty */
      output?: boolean
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Job>
  /** Delete an ended job */
  deleteJob(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Abort a running job
   *
   * An abandoned job is aborted only with abandoned=true. The request is stored until its runner is connected, which then ends the job. If the job has ended by itself before that, its real outcome counts. */
  abortJob(
    request: {
      /** true: also a job that is abandoned; its runner hears of it when it is there */
      abandoned?: boolean
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** How many jobs wait for an approval that the caller may give */
  getJobApprovals(request?: NoParameters, options?: RequestOptions): Promise<number>
  /** Approve a job that waits for it
   *
   * The caller needs a role that the approval names, or is an admin. For a job of the caller the approval also needs allowSelf, unless the caller is an admin. The job fails with the reason if its runner does not exist any more or is turned off, if its owner may not use the runner any more, or if the account of its owner was deleted or blocked. 409 changed_since_asked: the playbook folder or the form has changed since the approval was asked for; details has the hashes of both. With force the job runs what is there now. */
  approveJob(
    request: {
      /** true: approve what is there now, although it has changed */
      force?: boolean
      /** A whole number */
      id: number
      body?: {
        /** Approve what is there now, although it has changed */
        force?: boolean
      } | null
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Refuse the approval of a job, which then never runs
   *
   * The caller needs a role that the approval names, is an admin, or owns the job. */
  rejectJob(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Structured events of a playbook job
   *
   * With after=order one follows them. The header X-Run-Id names the run of which they are: a restored database may give the number of a job again. */
  getJobEvents(
    request: {
      /** Only events with a higher order */
      after?: number
      /** Only events with a lower order */
      before?: number
      /** Most events to answer; all when left out */
      limit?: number
      /** desc: the newest first */
      order?: 'asc' | 'desc' | AnotherWord
      /** Only events of this host */
      host?: string
      /** Only events of tasks of this name */
      task?: string
      /** Only events of this type */
      type?: string
      /** Only results of tasks at hosts with this outcome */
      status?: 'ok' | 'changed' | 'failed' | 'ignored' | 'rescued' | 'skipped' | 'unreachable' | AnotherWord
      /** Only events that printed something from this byte of the output on */
      from?: number
      /** Only events that printed something before this byte of the output */
      to?: number
      /** As status, with one or several of these, with commas: ok,changed,failed,ignored,rescued,skipped,unreachable */
      outcome?: string
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobEventList>
  /** One event with its whole result */
  getJobEvent(
    request: {
      /** A whole number */
      id: number
      /** A whole number */
      order: number
    },
    options?: RequestOptions,
  ): Promise<JobEvent>
  /** Output as a file */
  downloadJobOutput(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** The plays and tasks of a playbook job, in the order in which they began
   *
   * The header X-Run-Id names the run of which they are. */
  getJobOutline(
    request: {
      /** Only what events after this order changed */
      after?: number
      /** true: also the times in which each host was at tasks */
      hosts?: boolean
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobOutline>
  /** What came of each task at each host */
  getJobMatrix(
    request: {
      /** Only these hosts, with commas */
      hosts?: string
      /** Only the tasks with these ids, with commas */
      tasks?: string
      /** Only tasks and hosts with one of these, with commas: running,ok,changed,failed,ignored,rescued,skipped,unreachable */
      outcome?: string
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobMatrix>
  /** Where a text stands in the output
   *
   * A search takes a second at most; next says where to go on. A user may have two searches at the same time (429). */
  getJobOutputSearch(
    request: {
      /** Literal text */
      q: string
      /** true: large and small letters are different */
      case?: boolean
      /** The byte from which on; 0 when left out */
      from?: number
      /** Most hits of the answer: 1000 when left out, at most 10000 */
      limit?: number
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<OutputHits>
  /** What was printed for a host, for a task, or for a task at a host
   *
   * 409 output_without_marks: the output has no marks, because its ansible prints everything at the end. */
  getJobOutputPieces(
    request: {
      /** Only what was printed for this host */
      host?: string
      /** Only what was printed for the task or play with this id of the outline */
      task?: number
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** Why a playbook job failed: tasks, hosts and messages, equal ones together
   *
   * Failures that were ignored or rescued are left out. A job of steps has none of its own. */
  getJobFailures(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobFailures>
  /** Output from a byte offset on, as it is, for following a job
   *
   * At most 1 MiB an answer; X-Next-Offset is where to go on. Empty: nothing more yet. With the header Range: bytes= the answer is 206 with at most 1 MiB of that range. With follow=true the answer stays open, and bytes come as they are stored. It ends when the job has ended, when the output begins anew, and after five minutes: then go on from the byte that was reached. A session may have as many open as EVENT_STREAMS_PER_SESSION. */
  getJobOutput(
    request: {
      /** 0 when left out */
      offset?: number
      /** Most bytes of the answer, at most 1048576 */
      limit?: number
      /** true: the answer stays open, and bytes come as they are stored */
      follow?: boolean
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Response>
  /** Which line is where in the output */
  getJobOutputIndex(
    request: {
      /** Only points behind this byte */
      after?: number
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<OutputIndex>
  /** The steps or nodes of a multistep or workflow job
   *
   * In the order of the plan, each with its state and with what follows it. Steps follow each other. 404 for a job without child jobs. */
  getJobNodes(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobNodeList>
  /** One node of a workflow job
   *
   * Its state, its job with its extra variables, and what it published with set_stats. 404 for a job that is no workflow. */
  getJobNode(
    request: {
      /** A whole number */
      id: number
      /** The identifier of the node, as the workflow file has it */
      nodeId: string
    },
    options?: RequestOptions,
  ): Promise<{
    node: {
      identifier: string
      /** The playbook, the other workflow, or what the approval asks */
      name: string
      type: 'job_template' | 'workflow_job_template' | 'workflow_approval_template' | AnotherWord
      status:
        'waiting' | 'running' | 'approve' | 'success' | 'failed' | 'aborted' | 'skipped' | 'do not run' | AnotherWord
      /** Why it failed, was skipped or did not run */
      reason: string | null
      start: string | null
      end: string | null
      /** The nodes that follow, by when */
      links: {
        success: string[]
        failure: string[]
        always: string[]
      }
      approval: {
        title: string | null
        /** With the markup (HTML) of its author. Values are text: they are escaped */
        message: string | null
        /** Who may give it, beside admins; default means everyone */
        roles: string[]
        notifications: string[]
        /** Whoever launched the job may give it, too */
        allowSelf: boolean
        state: 'waiting' | 'approved' | 'rejected' | AnotherWord
        decided_by: string | null
        decided_by_type: string | null
        decided_at: string | null
        /** The form and the files that the approval is about */
        subject: {
          /** Hash of the manifest of the playbook folder; null: it could not be read */
          manifest_sha256: string | null
          /** Of the form with its subforms, constants and workflows; null: the form was gone */
          form_sha256: string | null
        }
        /** It was given although the form or the files had changed since it was asked for */
        forced: boolean
      } | null
    }
    /** The job of the node; null when it did not run */
    job: number | null
    extravars: Record<string, unknown>
    /** What it published with set_stats */
    artifacts: Record<string, unknown>
  }>
  /** What differs between a job and the last good run of its form, or another job
   *
   * The last good run is the newest job before this one that ran the same, ended as success, and is in the lists of the caller. 404 no_run_to_compare: there is none. The caller must have the right to read both jobs. Properties of the other job begin with with_. */
  compareJob(
    request: {
      /** The id of the other job */
      with?: number
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<JobComparison>
  /** The own schedules; for an admin all */
  listSchedules(request?: NoParameters, options?: RequestOptions): Promise<ScheduleList>
  /** Launch a form at given times
   *
   * The launches have the rights that the account of the caller has when they start, and are checked like any other launch. Values of password fields are refused. */
  createSchedule(
    request: {
      body: NewSchedule
    },
    options?: RequestOptions,
  ): Promise<Schedule>
  /** The next starts that a schedule with these times would have */
  nextRunsOfTimes(
    request: {
      /** Five parts: minute, hour, day of the month, month, day of the week */
      cron: string
      /** Time zone of cron, such as Europe/Berlin; default UTC */
      time_zone?: string
      /** 1 to 100; 5 if left out */
      count?: number
    },
    options?: RequestOptions,
  ): Promise<NextRuns>
  /** One schedule */
  getSchedule(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Schedule>
  /** Change the given properties of a schedule (only its owner) */
  changeSchedule(
    request: {
      /** A whole number */
      id: number
      body: ScheduleChange
    },
    options?: RequestOptions,
  ): Promise<Schedule>
  /** Delete a schedule (its owner, or an admin) */
  deleteSchedule(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** The next starts of a schedule */
  nextRunsOfSchedule(
    request: {
      /** 1 to 100; 5 if left out */
      count?: number
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<NextRuns>
  /** Start nothing until it is resumed (its owner, or an admin) */
  pauseSchedule(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Schedule>
  /** Start again from the next time on (its owner, or an admin) */
  resumeSchedule(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Schedule>
  /** Upload the file of a file field
   *
   * Only for users who may use a form with a file field. 413: larger than UPLOAD_MAX_GB, or over the quota of the user (upload_quota). 503: over the quota of all users (upload_quota_of_all), or not enough free space on the disk (upload_disk_full). Uploads that are under way count with their announced size. */
  uploadFile(
    request: {
      body: FormData
    },
    options?: RequestOptions,
  ): Promise<Upload>
  /** List join tokens */
  listJoinTokens(request?: NoParameters, options?: RequestOptions): Promise<JoinTokenList>
  /** Make a join token for one runner, which is shown only once */
  createJoinToken(
    request?: {
      body?: {
        name?: string
        /** 30 when left out */
        ttl_minutes?: number
      } | null
    },
    options?: RequestOptions,
  ): Promise<NewJoinToken>
  /** Take a join token back */
  removeJoinToken(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** List the addresses of runners that the control plane dials */
  listRunnerAddresses(request?: NoParameters, options?: RequestOptions): Promise<RunnerAddressList>
  /** Dial a runner whose host may not dial out; it asks to join like any other */
  addRunnerAddress(
    request: {
      body: NewRunnerAddress
    },
    options?: RequestOptions,
  ): Promise<RunnerAddress>
  /** List runners and requests */
  listRunners(request?: NoParameters, options?: RequestOptions): Promise<RunnerList>
  /** Dial an address no more; its runner stays */
  removeRunnerAddress(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** One runner */
  getRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Runner>
  /** Change what an admin sets */
  changeRunner(
    request: {
      /** A whole number */
      id: number
      body: RunnerChanges
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Remove a runner */
  deleteRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Let a waiting runner in */
  approveRunner(
    request: {
      /** A whole number */
      id: number
      body?: {
        /** The fingerprint that was compared with the host; with another one by now the answer is 409 */
        fingerprint?: string
      } | null
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Turn a request down */
  rejectRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Shut an approved runner out */
  revokeRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Let a revoked runner in again */
  reinstateRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** Let in the process that was refused as a clone, because the state folder of the runner was restored */
  acceptRunner(
    request: {
      /** A whole number */
      id: number
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** List jobs of runners that wait for an admin */
  listRunnerOrphans(request?: NoParameters, options?: RequestOptions): Promise<RunnerOrphanList>
  /** Adopt an unknown job of a runner: it becomes a job here and gets its real outcome */
  adoptRunnerOrphan(
    request: {
      /** A whole number */
      id: number
      body: RunnerOrphanChoice
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** End the playbook of an unknown job; the runner keeps the job */
  endRunnerOrphan(
    request: {
      /** A whole number */
      id: number
      body: RunnerOrphanChoice
    },
    options?: RequestOptions,
  ): Promise<Message>
  /** End an unknown job, and remove everything that its runner has of it */
  forgetRunnerOrphan(
    request: {
      /** A whole number */
      id: number
      body: RunnerOrphanChoice
    },
    options?: RequestOptions,
  ): Promise<Message>
}

/** How each operation is asked for and what it answers. */
export const operations = {
  getLive: {
    method: 'GET',
    path: '/live',
    query: [],
    accept: 'application/json',
    schema: v.looseObject({ status: v.string() }),
    open: true,
  },
  getReady: {
    method: 'GET',
    path: '/ready',
    query: [],
    accept: 'application/json',
    schema: v.looseObject({ status: v.string(), warnings: v.optional(v.array(v.string())) }),
    open: true,
  },
  getVersion: {
    method: 'GET',
    path: '/version',
    query: [],
    accept: 'application/json',
    schema: v.looseObject({ version: v.string(), api: v.string() }),
    open: true,
  },
  getSchema: {
    method: 'GET',
    path: '/schema',
    query: [],
    accept: 'application/json',
    schema: databaseSchemaSchema,
    open: true,
  },
  getAppConfig: {
    method: 'GET',
    path: '/app/config',
    query: [],
    accept: 'application/json',
    schema: appConfigSchema,
    open: true,
  },
  getLogo: { method: 'GET', path: '/logo', query: [], accept: 'application/json', schema: logoSchema, open: true },
  getLogoutAddress: {
    method: 'GET',
    path: '/auth/logout',
    query: [],
    accept: 'application/json',
    schema: logoutUrlSchema,
    open: true,
  },
  logout: { method: 'POST', path: '/auth/logout', query: [], accept: 'application/json', schema: signedOutSchema },
  getMetrics: { method: 'GET', path: '/metrics', query: [], accept: 'text/plain', schema: null },
  listAudit: {
    method: 'GET',
    path: '/audit',
    query: ['records', 'before', 'user', 'user_type', 'action'],
    accept: 'application/json',
    schema: auditListSchema,
  },
  verifyAudit: {
    method: 'GET',
    path: '/audit/verify',
    query: ['position', 'hash'],
    accept: 'application/json',
    schema: auditVerificationSchema,
  },
  getAppearance: {
    method: 'GET',
    path: '/settings/appearance',
    query: [],
    accept: 'application/json',
    schema: appearanceSchema,
  },
  changeAppearance: {
    method: 'PUT',
    path: '/settings/appearance',
    query: [],
    accept: 'application/json',
    schema: appearanceSchema,
  },
  listNotificationTargets: {
    method: 'GET',
    path: '/notification-target',
    query: [],
    accept: 'application/json',
    schema: notificationTargetListSchema,
  },
  createNotificationTarget: {
    method: 'POST',
    path: '/notification-target',
    query: [],
    accept: 'application/json',
    schema: madeNotificationTargetSchema,
  },
  changeNotificationTarget: {
    method: 'PUT',
    path: '/notification-target/{id}',
    query: [],
    accept: 'application/json',
    schema: notificationTargetSchema,
  },
  deleteNotificationTarget: {
    method: 'DELETE',
    path: '/notification-target/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  testNotificationTarget: {
    method: 'POST',
    path: '/notification-target/{id}/test',
    query: [],
    accept: 'application/json',
    schema: notificationSchema,
  },
  listNotifications: {
    method: 'GET',
    path: '/notification',
    query: ['state', 'job', 'target', 'records'],
    accept: 'application/json',
    schema: notificationListSchema,
  },
  retryNotification: {
    method: 'POST',
    path: '/notification/{id}/retry',
    query: [],
    accept: 'application/json',
    schema: notificationSchema,
  },
  sendTestMail: {
    method: 'POST',
    path: '/notification/test-mail',
    query: [],
    accept: 'application/json',
    schema: notificationSchema,
  },
  listServiceSettings: {
    method: 'GET',
    path: '/settings/service',
    query: [],
    accept: 'application/json',
    schema: serviceSettingListSchema,
  },
  watchEvents: { method: 'GET', path: '/events', query: [], accept: 'text/event-stream', schema: null },
  login: {
    method: 'POST',
    path: '/auth/login',
    query: ['expiryDays', 'name'],
    accept: 'application/json',
    schema: tokensSchema,
    open: true,
  },
  refreshTokens: {
    method: 'POST',
    path: '/token',
    query: [],
    accept: 'application/json',
    schema: tokensSchema,
    open: true,
  },
  beginBrowserSession: {
    method: 'POST',
    path: '/auth/session',
    query: [],
    accept: 'application/json',
    schema: signedInSchema,
    open: true,
  },
  endBrowserSession: {
    method: 'DELETE',
    path: '/auth/session',
    query: [],
    accept: 'application/json',
    schema: signedOutSchema,
  },
  getSignInKinds: {
    method: 'GET',
    path: '/auth/settings',
    query: [],
    accept: 'application/json',
    schema: signInKindsSchema,
    open: true,
  },
  askSignIn: {
    method: 'GET',
    path: '/auth/confirm',
    query: ['sign_in'],
    accept: 'text/html',
    schema: null,
    open: true,
  },
  exchangeSignInCode: {
    method: 'POST',
    path: '/auth/exchange',
    query: [],
    accept: 'application/json',
    schema: tokensSchema,
    open: true,
  },
  getProfile: { method: 'GET', path: '/profile', query: [], accept: 'application/json', schema: profileSchema },
  changePassword: { method: 'PUT', path: '/profile', query: [], accept: 'application/json', schema: messageSchema },
  listApiTokens: {
    method: 'GET',
    path: '/profile/tokens',
    query: [],
    accept: 'application/json',
    schema: apiTokenListSchema,
  },
  createApiToken: {
    method: 'POST',
    path: '/profile/tokens',
    query: [],
    accept: 'application/json',
    schema: newApiTokenSchema,
  },
  revokeApiToken: {
    method: 'DELETE',
    path: '/profile/tokens/{sid}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  listUsers: { method: 'GET', path: '/user', query: [], accept: 'application/json', schema: userListSchema },
  createUser: { method: 'POST', path: '/user', query: [], accept: 'application/json', schema: userSchema },
  getUser: { method: 'GET', path: '/user/{id}', query: [], accept: 'application/json', schema: userSchema },
  changeUser: { method: 'PUT', path: '/user/{id}', query: [], accept: 'application/json', schema: userSchema },
  deleteUser: { method: 'DELETE', path: '/user/{id}', query: [], accept: 'application/json', schema: messageSchema },
  acceptUserName: {
    method: 'POST',
    path: '/user/{id}/accept-name',
    query: [],
    accept: 'application/json',
    schema: userSchema,
  },
  listRoles: { method: 'GET', path: '/role', query: [], accept: 'application/json', schema: roleListSchema },
  rotateEncryptionSecret: {
    method: 'POST',
    path: '/secret/encryption/rotate',
    query: [],
    accept: 'application/json',
    schema: reencryptionSchema,
  },
  rotateAccessTokenSecret: {
    method: 'POST',
    path: '/secret/access-token/rotate',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  listOwnSessions: {
    method: 'GET',
    path: '/profile/sessions',
    query: [],
    accept: 'application/json',
    schema: ownSessionListSchema,
  },
  endOwnSession: {
    method: 'DELETE',
    path: '/profile/sessions/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  listSessions: {
    method: 'GET',
    path: '/session',
    query: ['user_id'],
    accept: 'application/json',
    schema: userSessionListSchema,
  },
  endSession: { method: 'DELETE', path: '/session/{id}', query: [], accept: 'application/json', schema: messageSchema },
  listCredentials: {
    method: 'GET',
    path: '/credential',
    query: [],
    accept: 'application/json',
    schema: credentialListSchema,
  },
  createCredential: {
    method: 'POST',
    path: '/credential',
    query: [],
    accept: 'application/json',
    schema: credentialSchema,
  },
  getCredential: {
    method: 'GET',
    path: '/credential/{id}',
    query: [],
    accept: 'application/json',
    schema: credentialSchema,
  },
  changeCredential: {
    method: 'PUT',
    path: '/credential/{id}',
    query: [],
    accept: 'application/json',
    schema: credentialSchema,
  },
  deleteCredential: {
    method: 'DELETE',
    path: '/credential/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  getServiceKey: {
    method: 'GET',
    path: '/service/key',
    query: [],
    accept: 'application/json',
    schema: serviceKeySchema,
  },
  rotateServiceKey: {
    method: 'POST',
    path: '/service/key/rotate',
    query: [],
    accept: 'application/json',
    schema: serviceKeySchema,
  },
  getAttention: { method: 'GET', path: '/attention', query: [], accept: 'application/json', schema: attentionSchema },
  listForms: { method: 'GET', path: '/forms', query: ['fields'], accept: 'application/json', schema: formListSchema },
  getListedForm: {
    method: 'GET',
    path: '/forms/{name}',
    query: [],
    accept: 'application/json',
    schema: listedFormSchema,
  },
  evaluateForm: {
    method: 'POST',
    path: '/forms/{name}/evaluate',
    query: [],
    accept: 'application/json',
    schema: formEvaluationSchema,
  },
  evaluateExpression: {
    method: 'POST',
    path: '/expression',
    query: [],
    accept: 'application/json',
    schema: v.unknown(),
  },
  runQuery: { method: 'POST', path: '/query', query: [], accept: 'application/json', schema: v.unknown() },
  getFormList: {
    method: 'GET',
    path: '/config/formlist',
    query: [],
    accept: 'application/json',
    schema: formConfigSchema,
  },
  getForm: {
    method: 'GET',
    path: '/config/form',
    query: ['name'],
    accept: 'application/json',
    schema: wholeFormSchema,
  },
  getConfig: { method: 'GET', path: '/config', query: [], accept: 'application/json', schema: formConfigSchema },
  getLock: { method: 'GET', path: '/lock', query: [], accept: 'application/json', schema: lockStateSchema },
  takeLock: { method: 'POST', path: '/lock', query: [], accept: 'application/json', schema: lockStateSchema },
  releaseLock: { method: 'DELETE', path: '/lock', query: [], accept: 'application/json', schema: messageSchema },
  getJobRawformdata: {
    method: 'GET',
    path: '/job/{id}/rawformdata',
    query: [],
    accept: 'application/json',
    schema: v.record(v.string(), v.unknown()),
  },
  relaunchJob: {
    method: 'POST',
    path: '/job/{id}/relaunch',
    query: ['verbose'],
    accept: 'application/json',
    schema: relaunchedSchema,
  },
  launchJob: { method: 'POST', path: '/job', query: [], accept: 'application/json', schema: launchedSchema },
  listJobs: {
    method: 'GET',
    path: '/job',
    query: [
      'records',
      'user',
      'user_type',
      'runner',
      'waiting',
      'before',
      'status',
      'queued',
      'form',
      'q',
      'parts',
      'place',
      'from',
      'to',
    ],
    accept: 'application/json',
    schema: jobListSchema,
  },
  getJob: {
    method: 'GET',
    path: '/job/{id}',
    query: ['text', 'output'],
    accept: 'application/json',
    schema: jobSchema,
  },
  deleteJob: { method: 'DELETE', path: '/job/{id}', query: [], accept: 'application/json', schema: messageSchema },
  abortJob: {
    method: 'POST',
    path: '/job/{id}/abort',
    query: ['abandoned'],
    accept: 'application/json',
    schema: messageSchema,
  },
  getJobApprovals: {
    method: 'GET',
    path: '/job/approvals',
    query: [],
    accept: 'application/json',
    schema: v.pipe(v.number(), v.safeInteger()),
  },
  approveJob: {
    method: 'POST',
    path: '/job/{id}/approve',
    query: ['force'],
    accept: 'application/json',
    schema: messageSchema,
  },
  rejectJob: { method: 'POST', path: '/job/{id}/reject', query: [], accept: 'application/json', schema: messageSchema },
  getJobEvents: {
    method: 'GET',
    path: '/job/{id}/events',
    query: ['after', 'before', 'limit', 'order', 'host', 'task', 'type', 'status', 'from', 'to', 'outcome'],
    accept: 'application/json',
    schema: jobEventListSchema,
  },
  getJobEvent: {
    method: 'GET',
    path: '/job/{id}/events/{order}',
    query: [],
    accept: 'application/json',
    schema: jobEventSchema,
  },
  downloadJobOutput: { method: 'GET', path: '/job/{id}/download', query: [], accept: 'text/plain', schema: null },
  getJobOutline: {
    method: 'GET',
    path: '/job/{id}/outline',
    query: ['after', 'hosts'],
    accept: 'application/json',
    schema: jobOutlineSchema,
  },
  getJobMatrix: {
    method: 'GET',
    path: '/job/{id}/matrix',
    query: ['hosts', 'tasks', 'outcome'],
    accept: 'application/json',
    schema: jobMatrixSchema,
  },
  getJobOutputSearch: {
    method: 'GET',
    path: '/job/{id}/output/search',
    query: ['q', 'case', 'from', 'limit'],
    accept: 'application/json',
    schema: outputHitsSchema,
  },
  getJobOutputPieces: {
    method: 'GET',
    path: '/job/{id}/output/pieces',
    query: ['host', 'task'],
    accept: 'text/plain',
    schema: null,
  },
  getJobFailures: {
    method: 'GET',
    path: '/job/{id}/failures',
    query: [],
    accept: 'application/json',
    schema: jobFailuresSchema,
  },
  getJobOutput: {
    method: 'GET',
    path: '/job/{id}/output',
    query: ['offset', 'limit', 'follow'],
    accept: 'text/plain',
    schema: null,
  },
  getJobOutputIndex: {
    method: 'GET',
    path: '/job/{id}/output/index',
    query: ['after'],
    accept: 'application/json',
    schema: outputIndexSchema,
  },
  getJobNodes: {
    method: 'GET',
    path: '/job/{id}/nodes',
    query: [],
    accept: 'application/json',
    schema: jobNodeListSchema,
  },
  getJobNode: {
    method: 'GET',
    path: '/job/{id}/node/{nodeId}',
    query: [],
    accept: 'application/json',
    schema: v.looseObject({
      node: v.looseObject({
        identifier: v.string(),
        name: v.string(),
        type: v.string(),
        status: v.string(),
        reason: v.nullable(v.string()),
        start: v.nullable(v.string()),
        end: v.nullable(v.string()),
        links: v.looseObject({
          success: v.array(v.string()),
          failure: v.array(v.string()),
          always: v.array(v.string()),
        }),
        approval: v.nullable(
          v.looseObject({
            title: v.nullable(v.string()),
            message: v.nullable(v.string()),
            roles: v.array(v.string()),
            notifications: v.array(v.string()),
            allowSelf: v.boolean(),
            state: v.string(),
            decided_by: v.nullable(v.string()),
            decided_by_type: v.nullable(v.string()),
            decided_at: v.nullable(v.string()),
            subject: v.looseObject({ manifest_sha256: v.nullable(v.string()), form_sha256: v.nullable(v.string()) }),
            forced: v.boolean(),
          }),
        ),
      }),
      job: v.nullable(v.pipe(v.number(), v.safeInteger())),
      extravars: v.record(v.string(), v.unknown()),
      artifacts: v.record(v.string(), v.unknown()),
    }),
  },
  compareJob: {
    method: 'GET',
    path: '/job/{id}/compare',
    query: ['with'],
    accept: 'application/json',
    schema: jobComparisonSchema,
  },
  listSchedules: {
    method: 'GET',
    path: '/schedule',
    query: [],
    accept: 'application/json',
    schema: scheduleListSchema,
  },
  createSchedule: { method: 'POST', path: '/schedule', query: [], accept: 'application/json', schema: scheduleSchema },
  nextRunsOfTimes: {
    method: 'GET',
    path: '/schedule/next-runs',
    query: ['cron', 'time_zone', 'count'],
    accept: 'application/json',
    schema: nextRunsSchema,
  },
  getSchedule: { method: 'GET', path: '/schedule/{id}', query: [], accept: 'application/json', schema: scheduleSchema },
  changeSchedule: {
    method: 'PUT',
    path: '/schedule/{id}',
    query: [],
    accept: 'application/json',
    schema: scheduleSchema,
  },
  deleteSchedule: {
    method: 'DELETE',
    path: '/schedule/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  nextRunsOfSchedule: {
    method: 'GET',
    path: '/schedule/{id}/next-runs',
    query: ['count'],
    accept: 'application/json',
    schema: nextRunsSchema,
  },
  pauseSchedule: {
    method: 'POST',
    path: '/schedule/{id}/pause',
    query: [],
    accept: 'application/json',
    schema: scheduleSchema,
  },
  resumeSchedule: {
    method: 'POST',
    path: '/schedule/{id}/resume',
    query: [],
    accept: 'application/json',
    schema: scheduleSchema,
  },
  uploadFile: { method: 'POST', path: '/job/upload', query: [], accept: 'application/json', schema: uploadSchema },
  listJoinTokens: {
    method: 'GET',
    path: '/runner/join-tokens',
    query: [],
    accept: 'application/json',
    schema: joinTokenListSchema,
  },
  createJoinToken: {
    method: 'POST',
    path: '/runner/join-tokens',
    query: [],
    accept: 'application/json',
    schema: newJoinTokenSchema,
  },
  removeJoinToken: {
    method: 'DELETE',
    path: '/runner/join-tokens/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  listRunnerAddresses: {
    method: 'GET',
    path: '/runner/addresses',
    query: [],
    accept: 'application/json',
    schema: runnerAddressListSchema,
  },
  addRunnerAddress: {
    method: 'POST',
    path: '/runner',
    query: [],
    accept: 'application/json',
    schema: runnerAddressSchema,
  },
  listRunners: { method: 'GET', path: '/runner', query: [], accept: 'application/json', schema: runnerListSchema },
  removeRunnerAddress: {
    method: 'DELETE',
    path: '/runner/addresses/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  getRunner: { method: 'GET', path: '/runner/{id}', query: [], accept: 'application/json', schema: runnerSchema },
  changeRunner: { method: 'PUT', path: '/runner/{id}', query: [], accept: 'application/json', schema: messageSchema },
  deleteRunner: {
    method: 'DELETE',
    path: '/runner/{id}',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  approveRunner: {
    method: 'POST',
    path: '/runner/{id}/approve',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  rejectRunner: {
    method: 'POST',
    path: '/runner/{id}/reject',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  revokeRunner: {
    method: 'POST',
    path: '/runner/{id}/revoke',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  reinstateRunner: {
    method: 'POST',
    path: '/runner/{id}/reinstate',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  acceptRunner: {
    method: 'POST',
    path: '/runner/{id}/accept',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  listRunnerOrphans: {
    method: 'GET',
    path: '/runner/orphans',
    query: [],
    accept: 'application/json',
    schema: runnerOrphanListSchema,
  },
  adoptRunnerOrphan: {
    method: 'POST',
    path: '/runner/{id}/orphans/adopt',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  endRunnerOrphan: {
    method: 'POST',
    path: '/runner/{id}/orphans/end',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
  forgetRunnerOrphan: {
    method: 'POST',
    path: '/runner/{id}/orphans/forget',
    query: [],
    accept: 'application/json',
    schema: messageSchema,
  },
} as const satisfies Readonly<Record<keyof Operations, Operation>>

/** The texts by which the answers of operations can be narrowed, each with its sentence. */
export const narrowings = {
  listAudit: { user: 'Only what this user did', action: 'Only this action' },
  verifyAudit: { hash: 'Of a head that was noted before' },
  login: { name: 'What that API token is for' },
  askSignIn: { sign_in: 'Which sign-in of this browser' },
  getForm: { name: 'Of the form' },
  listJobs: {
    user: 'Only the jobs of this user',
    runner: 'Only the jobs that ran on this runner',
    status:
      'Only jobs with one of these, with commas: running,approve,success,failed,warning,aborted,rejected,abandoned',
    form: 'Only jobs of the form with this name',
    q: 'Only jobs with this text in form, target, user, runner or reason, or with this number',
    from: 'Only jobs that started then or later, ISO 8601',
    to: 'Only jobs that started before, ISO 8601',
  },
  getJobEvents: {
    host: 'Only events of this host',
    task: 'Only events of tasks of this name',
    type: 'Only events of this type',
    outcome:
      'As status, with one or several of these, with commas: ok,changed,failed,ignored,rescued,skipped,unreachable',
  },
  getJobMatrix: {
    hosts: 'Only these hosts, with commas',
    tasks: 'Only the tasks with these ids, with commas',
    outcome:
      'Only tasks and hosts with one of these, with commas: running,ok,changed,failed,ignored,rescued,skipped,unreachable',
  },
  getJobOutputSearch: { q: 'Literal text' },
  getJobOutputPieces: { host: 'Only what was printed for this host' },
  nextRunsOfTimes: {
    cron: 'Five parts: minute, hour, day of the month, month, day of the week',
    time_zone: 'Time zone of cron, such as Europe/Berlin; default UTC',
  },
} as const
