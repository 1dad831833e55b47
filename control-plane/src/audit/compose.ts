import type { Ages } from '../ages/age-limits.js'
import type { Ground } from '../ground/ground.js'
import type { RawStore } from '../store/store.js'
import { createAuditChain } from './chain.js'
import { createAuditExport } from './export.js'
import { createAuditRetention } from './retention.js'
import type { SyslogPlace } from './syslog.js'
import { auditTargetsOf } from './targets.js'
import { createAuditTrail } from './trail.js'

/** What the audit trail needs of the settings. */
export interface AuditSettings {
  /** True: requests that read jobs have records, too. */
  readonly auditReads: boolean
  readonly auditFile: string | null
  readonly auditSyslog: SyslogPlace | null
  /** In milliseconds; null: kept for ever. */
  readonly auditRetentionMs: number | null
}

/** The parts of this room, ready to use. */
export type AuditParts = ReturnType<typeof composeAudit>

/**
 * Builds the audit trail: how records are stored, the chain that protects them, where they are sent, and how long they
 * are kept.
 */
export function composeAudit(
  ground: Ground,
  settings: AuditSettings,
  needs: { readonly database: RawStore; readonly ages: Ages },
) {
  const { clock, timers, random, log, onClose } = ground
  const { database, ages } = needs
  const trail = createAuditTrail({ store: database, clock, log, keepsReads: settings.auditReads })
  onClose(() => trail.close())
  const chain = createAuditChain({ store: database, clock, timers, log })
  onClose(() => chain.close())
  const targets = auditTargetsOf(settings)
  if (targets.length > 0) {
    const holder = random(8).toString('hex')
    const exported = createAuditExport({ store: database, clock, timers, log, holder, targets })
    onClose(() => exported.close())
  }
  const keepMs = settings.auditRetentionMs
  const retention = createAuditRetention({ store: trail.store, clock, ages, timers, log, chain, keepMs })
  onClose(() => retention.close())
  return { trail, chain, retention }
}
