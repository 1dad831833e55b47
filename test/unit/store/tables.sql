CREATE TABLE "appearance" ("id" integer primary key,
  "theme" text not null,
  "name" text not null,
  "announcement" text not null,
  "environment" text not null);

CREATE TABLE "audit" ("id" integer primary key autoincrement,
  "time" integer not null,
  "user_name" text,
  "user_type" text,
  "user_id" integer,
  "address" text not null,
  "action" text not null,
  "object_kind" text not null,
  "object_id" text,
  "object_name" text,
  "status" integer,
  "request_id" text not null,
  "detail" text,
  "position" integer,
  "hash" text);

CREATE INDEX "audit_action" on "audit" ("action", "id");

CREATE UNIQUE INDEX "audit_position" on "audit" ("position");

CREATE INDEX "audit_time" on "audit" ("time");

CREATE INDEX "audit_unchained" on "audit" ("id") where position is null;

CREATE INDEX "audit_user" on "audit" ("user_name", "id");

CREATE TABLE "audit_chain" ("id" integer primary key,
  "head_position" integer not null,
  "head_hash" text not null,
  "anchor_position" integer not null,
  "anchor_hash" text not null);

CREATE TABLE "audit_export" ("name" text primary key,
  "position" integer not null,
  "holder" text,
  "held_until" integer not null);

CREATE TABLE "awaited_approval" ("role" text not null,
  "job_id" integer not null references "job" ("id") on delete cascade,
  "allow_self" integer not null,
  "user_id" integer,
  "user_name" text not null,
  "user_type" text not null,
  constraint "awaited_approval_key" primary key ("role", "job_id"));

CREATE INDEX "awaited_approval_job" on "awaited_approval" ("job_id");

CREATE TABLE "credential" ("id" integer primary key autoincrement,
  "name" text not null unique,
  "type" text not null,
  "user_name" text,
  "host" text,
  "port" integer,
  "description" text not null,
  "options" text,
  "secret" blob not null,
  "created_at" integer not null,
  "updated_at" integer not null);

CREATE TABLE "database_id" ("row" integer primary key,
  "id" text not null);

CREATE TABLE "job" ("id" integer primary key autoincrement,
  "run_id" text not null,
  "form" text not null,
  "target" text not null,
  "job_type" text not null,
  "status" text not null,
  "status_reason" text,
  "detail" text,
  "start_time" integer not null,
  "end_time" integer,
  "user_id" integer,
  "user_name" text not null,
  "user_type" text not null,
  "runner_id" integer,
  "runner_name" text,
  "older_copy" text,
  "runner_key" text,
  "dispatch" text not null,
  "wait_until" integer,
  "parent_id" integer,
  "step" text,
  "approval" text,
  "abort_requested" integer not null,
  "abort_requested_by" text,
  "abandoned_at" integer,
  "held_epoch" integer,
  "extravars" text not null,
  "credentials" text not null,
  "raw_form_data" text,
  "password_fields" text,
  "playbook" text not null,
  "approved_manifest" text,
  "adopted_at" integer,
  "schedule_id" integer,
  "schedule_name" text,
  "time_limit_ms" integer,
  "ran_ms" integer default 0 not null,
  "counted_at" integer,
  "concurrency_group" text,
  "concurrency_limit" integer,
  "has_place" integer default 0 not null,
  "notifications" text);

CREATE INDEX "job_concurrency_group" on "job" ("concurrency_group", "dispatch", "id");

CREATE INDEX "job_dispatch" on "job" ("dispatch", "runner_id", "id");

CREATE INDEX "job_end" on "job" ("end_time") where end_time is not null;

CREATE INDEX "job_form" on "job" ("form", "id");

CREATE INDEX "job_owner" on "job" ("user_id", "id");

CREATE INDEX "job_owner_runner" on "job" ("user_id", "runner_name", "id");

CREATE INDEX "job_parent" on "job" ("parent_id");

CREATE INDEX "job_run" on "job" ("run_id");

CREATE INDEX "job_runner" on "job" ("runner_name", "id");

CREATE INDEX "job_status" on "job" ("status", "id");

CREATE INDEX "job_user" on "job" ("user_type", "user_name", "id");

CREATE INDEX "job_user_runner" on "job" ("user_type", "user_name", "runner_name", "id");

CREATE TABLE "job_event" ("job_id" integer not null references "job" ("id") on delete cascade,
  "position" integer not null,
  "type" text not null,
  "play" text,
  "task" text,
  "host" text,
  "duration" real,
  "time" text not null,
  "line" blob not null,
  constraint "job_event_key" primary key ("job_id", "position"));

CREATE TABLE "job_file" ("job_id" integer not null references "job" ("id") on delete cascade,
  "field" text not null,
  "upload_id" integer not null references "upload" ("id"),
  constraint "job_file_key" primary key ("job_id", "field"));

CREATE INDEX "job_file_upload" on "job_file" ("upload_id");

CREATE TABLE "job_output" ("job_id" integer not null references "job" ("id") on delete cascade,
  "position" integer not null,
  "origin" text not null,
  "data" blob not null,
  constraint "job_output_key" primary key ("job_id", "position"));

CREATE TABLE "job_output_block" ("job_id" integer not null references "job" ("id") on delete cascade,
  "block" integer not null,
  "lines" integer not null,
  constraint "job_output_block_key" primary key ("job_id", "block"));

CREATE TABLE "job_output_mark" ("job_id" integer not null references "job" ("id") on delete cascade,
  "at" integer not null,
  "event" integer not null,
  "shown" integer not null,
  "line" integer,
  "mark" blob not null,
  constraint "job_output_mark_key" primary key ("job_id", "at"));

CREATE INDEX "job_output_mark_event" on "job_output_mark" ("job_id", "event");

CREATE TABLE "job_secret" ("job_id" integer primary key references "job" ("id") on delete cascade,
  "sealed" blob not null,
  "names" text not null);

CREATE TABLE "job_sequence" ("job_id" integer primary key references "job" ("id") on delete cascade,
  "version" integer not null,
  "plan" text not null);

CREATE TABLE "job_stage" ("id" integer primary key autoincrement,
  "job_id" integer not null references "job" ("id") on delete cascade,
  "state" text not null,
  "since" integer not null,
  "until" integer);

CREATE INDEX "job_stage_job" on "job_stage" ("job_id", "state");

CREATE TABLE "job_stream" ("job_id" integer primary key references "job" ("id") on delete cascade,
  "output_length" integer not null,
  "shown_length" integer not null,
  "events_length" integer not null,
  "events_count" integer not null,
  "output_full" integer default 0 not null,
  "events_full" integer default 0 not null,
  "generation" integer default 0 not null,
  "shown_lines" integer,
  "integrity" text,
  "output_sha256" text,
  "events_sha256" text,
  "verified_at" integer);

CREATE TABLE "job_transition" ("job_id" integer not null references "job" ("id") on delete cascade,
  "time" integer not null,
  "from_status" text not null,
  "to_status" text not null,
  "reason" text);

CREATE INDEX "job_transition_job" on "job_transition" ("job_id");

CREATE TABLE "join_token" ("id" integer primary key autoincrement,
  "name" text,
  "hash" text not null unique,
  "created_at" integer not null,
  "created_by" text not null,
  "expires_at" integer not null,
  "used_at" integer,
  "used_by" text);

CREATE TABLE "known_network" ("user_id" integer not null references "user" ("id") on delete cascade,
  "network" text not null,
  "last_at" integer not null,
  constraint "known_network_key" primary key ("user_id", "network"));

CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key,
  "timestamp" varchar(255) not null);

CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key,
  "is_locked" integer default 0 not null);

CREATE TABLE "lock" ("name" text primary key,
  "holder" text not null,
  "holder_id" integer,
  "taken_at" integer not null,
  "touched_at" integer not null);

CREATE TABLE "node" ("id" text primary key,
  "version" text not null,
  "address" text not null,
  "started_at" integer not null,
  "last_seen" integer not null);

CREATE TABLE "notification_delivery" ("id" integer primary key autoincrement,
  "uid" text not null unique,
  "lane" text not null,
  "target_id" integer,
  "recipient" text not null,
  "event" text not null,
  "event_at" integer not null,
  "job_id" integer,
  "subject" text,
  "body" text not null,
  "state" text not null,
  "attempts" integer not null,
  "next_at" integer,
  "lease" text,
  "lease_until" integer,
  "problem" text,
  "created_at" integer not null,
  "ended_at" integer);

CREATE INDEX "notification_due" on "notification_delivery" ("next_at");

CREATE INDEX "notification_ended" on "notification_delivery" ("ended_at");

CREATE TABLE "notification_event" ("id" integer primary key autoincrement,
  "kind" text not null,
  "at" integer not null,
  "data" text not null);

CREATE TABLE "notification_target" ("id" integer primary key autoincrement,
  "name" text not null unique,
  "kind" text not null,
  "url" text not null,
  "secret" blob not null,
  "events" text not null,
  "enabled" integer not null,
  "created_at" integer not null,
  "created_by" text not null);

CREATE TABLE "orphan" ("runner_id" integer not null references "runner" ("id") on delete cascade,
  "run_id" text not null,
  "job_number" integer not null,
  "reason" text not null,
  "service" text,
  "ended" integer not null,
  "output_bytes" integer not null,
  "events_bytes" integer not null,
  "form" text,
  "user_name" text,
  "user_type" text,
  "claimed_at" integer,
  "reported_at" integer not null,
  "decision" text,
  "decided_by" text,
  constraint "orphan_key" primary key ("runner_id", "run_id"));

CREATE TABLE "past_name" ("type" text not null,
  "username_key" text not null,
  "user_id" integer not null,
  constraint "past_name_key" primary key ("type", "username_key"));

CREATE TABLE "past_run" ("run_id" text primary key,
  "how" text not null,
  "deleted_at" integer not null);

CREATE INDEX "past_run_deleted" on "past_run" ("deleted_at");

CREATE TABLE "runner" ("id" integer primary key autoincrement,
  "name" text not null,
  "state" text not null,
  "enabled" integer not null,
  "is_default" integer not null,
  "mode" text not null,
  "fingerprint" text not null unique,
  "identity_key" text not null,
  "sealing_key" text not null,
  "host" text not null,
  "ip" text not null,
  "version" text not null,
  "contract" integer not null,
  "ansible_version" text,
  "isolation" text,
  "agent_max_jobs" integer not null,
  "max_jobs" integer,
  "generation" integer not null,
  "instance" text not null,
  "epoch" integer not null,
  "running_jobs" integer not null,
  "draining" integer not null,
  "spool_bytes" integer not null,
  "clock_skew_ms" integer not null,
  "requested_at" integer not null,
  "approved_at" integer,
  "approved_by" text,
  "last_seen" integer not null,
  "description" text not null,
  "clone_seen_at" integer,
  "clone_host" text,
  "clone_ip" text,
  "clone_generation" integer,
  "clone_instance" text,
  "replaced_instance" text,
  "copy_accepted_by" text,
  "connected_node" text,
  "kept_by" text,
  "lost_at" integer);

CREATE UNIQUE INDEX "runner_name" on "runner" ("name") where state <> 'denied';

CREATE TABLE "runner_address" ("id" integer primary key autoincrement,
  "address" text not null unique,
  "name" text,
  "fingerprint" text,
  "created_at" integer not null,
  "created_by" text not null,
  "node" text,
  "problem" text);

CREATE TABLE "schedule" ("id" integer primary key autoincrement,
  "name" text not null,
  "form" text not null,
  "cron" text,
  "time_zone" text not null,
  "once_at" integer,
  "missed" text not null,
  "paused" integer not null,
  "user_id" integer not null,
  "user_name" text not null,
  "user_type" text not null,
  "form_values" text not null,
  "credentials" text not null,
  "verbose" integer not null,
  "turn" integer not null,
  "next_at" integer,
  "last_at" integer,
  "last_job_id" integer,
  "last_problem" text,
  "created_at" integer not null);

CREATE INDEX "schedule_next" on "schedule" ("next_at");

CREATE TABLE "sequence_node" ("job_id" integer not null references "job_sequence" ("job_id") on delete cascade,
  "position" integer not null,
  "identifier" text not null,
  "status" text not null,
  "subjob_id" integer references "job" ("id") on delete set null,
  "start_time" integer,
  "end_time" integer,
  "reason" text,
  "approval" text,
  "due_time" integer,
  "artifacts" text,
  constraint "sequence_node_key" primary key ("job_id", "position"),
  constraint "sequence_node_identifier" unique ("job_id", "identifier"));

CREATE INDEX "sequence_node_due" on "sequence_node" ("due_time");

CREATE INDEX "sequence_node_subjob" on "sequence_node" ("subjob_id");

CREATE TABLE "service_clock" ("id" integer primary key,
  "time" integer not null,
  "turn" integer not null);

CREATE TABLE "service_key" ("id" integer primary key autoincrement,
  "public_key" text not null unique,
  "private_key" blob,
  "signature" text,
  "created_at" integer not null);

CREATE TABLE "session" ("id" text primary key,
  "user_id" integer not null references "user" ("id") on delete cascade,
  "kind" text not null,
  "name" text,
  "refresh_hash" text,
  "token_hash" text,
  "created_at" integer not null,
  "expires_at" integer not null,
  "last_used_at" integer,
  "network" text,
  "scopes" text);

CREATE INDEX "session_expiry" on "session" ("expires_at");

CREATE INDEX "session_user" on "session" ("user_id");

CREATE TABLE "shown_time" ("hour" integer primary key,
  "earliest" integer not null,
  "latest" integer not null);

CREATE TABLE "sign_in_code" ("hash" text primary key,
  "user_id" integer not null references "user" ("id") on delete cascade,
  "challenge" text not null,
  "expires_at" integer not null);

CREATE INDEX "sign_in_code_user" on "sign_in_code" ("user_id");

CREATE TABLE "sign_in_failure" ("key" text primary key,
  "failures" integer not null,
  "first_at" integer not null,
  "locked_until" integer,
  "locks" integer default 0 not null,
  "locks_count_until" integer);

CREATE TABLE "upload" ("id" integer primary key autoincrement,
  "stored_name" text not null unique,
  "owner_id" integer,
  "owner_name" text not null,
  "owner_type" text not null,
  "size" integer not null,
  "sha256" text not null,
  "original_name" text not null,
  "mime_type" text not null,
  "encoding" text not null,
  "created_at" integer not null,
  "used" integer not null);

CREATE INDEX "upload_age" on "upload" ("created_at");

CREATE INDEX "upload_owner_size" on "upload" ("owner_id", "size");

CREATE TABLE "upload_claim" ("id" integer primary key autoincrement,
  "owner_id" integer not null,
  "bytes" integer not null,
  "written" integer not null,
  "touched_at" integer not null);

CREATE TABLE "user" ("id" integer primary key autoincrement,
  "username" text not null,
  "username_key" text not null,
  "type" text not null,
  "password_hash" text,
  "subject" text,
  "email" text,
  "groups" text not null,
  "enabled" integer not null,
  "groups_left_out" integer default 0 not null,
  "created_at" integer not null,
  "password_must_change" integer default 0 not null,
  "name_had_by" integer,
  constraint "user_name" unique ("type", "username_key"));

CREATE UNIQUE INDEX "user_subject" on "user" ("type", "subject");
