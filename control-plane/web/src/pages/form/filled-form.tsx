import { useRef } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { session } from '../../live/session.js'
import { Empty } from '../../parts/content.js'
import { Dialog } from '../../parts/dialog.js'
import { Failure } from '../../parts/failure.js'
import { formWords } from '../../words/en-form.js'
import { scheduleWords } from '../../words/en-schedules.js'
import { changedLabels } from './changes.js'
import { MAX_DRAFT_DAYS } from './draft.js'
import { type Filling, useFilling } from './filling.js'
import { FormPartView } from './form-part-view.js'
import type { Values } from './form-parts.js'
import type { PlanDialogProps } from './plan-dialog.js'
import { WillRun } from './will-run.js'

const { dialog: plan } = scheduleWords
const PLANS = ['later', 'regularly'] as const

/**
 * The fields of a form and its launch. Only the control plane checks the values. What it finds is shown at the fields.
 */
export function FilledForm(props: Filling) {
  const { form, from, schedule } = props
  const element = useRef<HTMLFormElement>(null)
  const { start, entries, wizard, leaving, launch, planning } = useFilling(props, element)
  const { error, isBusy, isVerbose, setVerbose, goOn } = launch
  const { problems } = entries
  const changed = from === null ? [] : changedLabels(form, start, entries.typed)

  const mayPlan = wizard.isLast && from === null && schedule === null
  const submit = schedule === null ? formWords.launch : plan.saveValues

  return (
    <>
      <form
        ref={element}
        class="form card"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          goOn()
        }}
      >
        {form.parts.map((part, index) => (
          <FormPartView
            key={part.step}
            part={part}
            place={[index + 1, form.parts.length]}
            values={entries.typed[part.step ?? ''] ?? {}}
            state={entries}
            subforms={form.subforms}
            change={(name, value, at) => entries.change(part, name, value, at)}
            isCurrent={part === wizard.current}
            before={from === null ? null : part.step === null ? start : ((start[part.step] ?? {}) as Values)}
          />
        ))}
        {form.parts.every(({ fields }) => fields.length === 0) && <Empty text={formWords.noFields} />}
        {problems.size > 0 && (
          <p class="notice bad" role="alert">
            {formWords.problems(problems.size)}
          </p>
        )}
        {error && <Failure error={error} />}
        {mayBeVerbose() && (
          <label class="check">
            <input type="checkbox" checked={isVerbose} onChange={(event) => setVerbose(event.currentTarget.checked)} />
            {formWords.verbose}
          </label>
        )}
        {from !== null && changed.length > 0 && <p>{formWords.changes(changed.join(', '))}</p>}
        {entries.evaluation && <WillRun evaluation={entries.evaluation} />}
        <div class="buttons">
          {!wizard.isFirst && (
            <button type="button" onClick={wizard.back}>
              {formWords.back}
            </button>
          )}
          <button type="submit" class="main" aria-disabled={isBusy}>
            {!wizard.isLast ? formWords.next : isBusy ? formWords.launching : submit}
          </button>
          {mayPlan &&
            PLANS.map((kind) => (
              <button key={kind} type="button" onClick={() => planning.ask(kind)}>
                {plan[kind]}
              </button>
            ))}
        </div>
      </form>
      {leaving.asked && <Question leave={leaving.asked} stay={leaving.stay} />}
      {planning.kind !== null && <PlanDialog form={form.name} kind={planning.kind} planning={planning} />}
    </>
  )
}

/** The question for the times of launches that do not begin now. It is loaded when somebody wants it. */
function PlanDialog(props: PlanDialogProps) {
  const { value } = useAnswer('plan-dialog', [], () => import('./plan-dialog.js'))
  return value && <value.PlanDialog {...props} />
}

/** Asks whether somebody wants to leave what they have entered. */
function Question({ leave, stay }: { readonly leave: () => void; readonly stay: () => void }) {
  return (
    <Dialog title={formWords.leaveTitle} onClose={stay}>
      <p>{formWords.leaveText(MAX_DRAFT_DAYS)}</p>
      <div class="buttons">
        <button type="button" class="main" onClick={stay}>
          {formWords.stay}
        </button>
        <button
          type="button"
          onClick={() => {
            stay()
            leave()
          }}
        >
          {formWords.leave}
        </button>
      </div>
    </Dialog>
  )
}

/** Whether the roles of who is signed in allow a verbose launch. */
function mayBeVerbose(): boolean {
  const { value } = session
  return 'user' in value && value.user.options.allowVerboseMode === true
}
