import { useState } from 'preact/hooks'
import { scheduleWords } from '../../words/en-schedules.js'
import { ScheduleDialog, newTiming } from '../schedules/schedule-dialog.js'
import type { Planning } from './planning.js'

const { dialog: plan } = scheduleWords

/** What the question for the times gets. */
export interface PlanDialogProps {
  /** Name of the form. */
  readonly form: string
  readonly kind: 'later' | 'regularly'
  readonly planning: Planning
}

/** Asks for the times of launches that do not begin now. */
export function PlanDialog({ form, kind, planning }: PlanDialogProps) {
  const [start] = useState(() => newTiming(form, kind))
  return (
    <ScheduleDialog
      title={kind === 'later' ? plan.laterTitle(form) : plan.regularlyTitle(form)}
      submit={plan.make}
      start={start}
      receipt={plan.made}
      send={planning.make}
      explained={planning.explained}
      close={planning.close}
    />
  )
}
