import { hostname } from 'node:os'
import { createAuditFile } from './audit-file.js'
import type { AuditTarget } from './export.js'
import { type SyslogPlace, createSyslog } from './syslog.js'

/** The places that the settings name. */
export function auditTargetsOf(settings: {
  readonly auditFile: string | null
  readonly auditSyslog: SyslogPlace | null
}): AuditTarget[] {
  const sender = { hostname: hostname(), processId: process.pid, now: () => new Date().toISOString() }
  return [
    ...(settings.auditFile === null ? [] : [createAuditFile(settings.auditFile)]),
    ...(settings.auditSyslog ? [createSyslog(settings.auditSyslog, sender)] : []),
  ]
}
