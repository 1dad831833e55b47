import type { FormModel, Schedule } from '@holdfast/client'
import { useRoute } from 'preact-iso/router'
import { useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { timeText } from '../../parts/time.js'
import { formWords } from '../../words/en-form.js'
import { scheduleWords } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'
import { type Draft, draftKey, readDraft, removeDraft } from './draft.js'
import { FilledForm } from './filled-form.js'
import { readForm } from '@holdfast/client'
import { type Values } from './form-parts.js'

/**
 * A form to be filled in and launched. With `from` in the address: with the values of an earlier job. With `schedule`: the
 * values of a schedule are changed, and nothing is launched.
 */
export function FormPage() {
  const { params, query } = useRoute()
  const name = params.name ?? ''
  const from = /^\d+$/.test(query.from ?? '') ? Number(query.from) : null
  const ofSchedule = /^\d+$/.test(query.schedule ?? '') ? Number(query.schedule) : null
  // What could not be run again as it was.
  const asked = new URLSearchParams(location.search).getAll('ask')
  // It is not read again while somebody types.
  const answer = useAnswer(`form/${name}/${from ?? ''}/${ofSchedule ?? ''}`, [], async (signal) => {
    const [form, earlier, schedule] = await Promise.all([
      api.getForm({ name }, { signal }),
      from === null ? null : api.getJobRawformdata({ id: from }, { signal }),
      ofSchedule === null ? null : api.getSchedule({ id: ofSchedule }, { signal }),
    ])
    return { form: readForm(name, form), values: (earlier ?? schedule?.values ?? {}) as Values, schedule }
  })
  return (
    <>
      <PageTitle text={name} />
      <Content answer={answer}>
        {({ form, values, schedule }) =>
          form === null ? (
            <p class="notice bad">{words.error.gone}</p>
          ) : (
            <>
              {form.description !== null && <p class="lead">{form.description}</p>}
              {from !== null && (
                <p class={`notice ${asked.length > 0 ? 'warn' : 'info'}`}>
                  {asked.length > 0 ? formWords.asked(from) : formWords.relaunching(from)}
                </p>
              )}
              {schedule && <p class="notice info">{scheduleWords.dialog.valuesOf(schedule.name)}</p>}
              <Begun
                key={`${name}/${from ?? ''}/${ofSchedule ?? ''}`}
                form={form}
                values={values}
                from={from}
                schedule={schedule}
                asked={asked}
              />
            </>
          )
        }
      </Content>
    </>
  )
}

/** Asks first whether somebody goes on with what they began to enter. */
function Begun(props: {
  readonly form: FormModel
  readonly values: Values
  readonly from: number | null
  readonly schedule: Schedule | null
  readonly asked: readonly string[]
}) {
  const [key] = useState(() => draftKey(props.form.name, props.schedule ? `schedule ${props.schedule.id}` : props.from))
  const [found, setFound] = useState<Draft | null>(() => readDraft(key))
  const [draft, setDraft] = useState<Draft | null>(null)
  if (found === null) return <FilledForm {...props} keep={key} draft={draft?.typed ?? null} />
  const goOn = () => {
    setDraft(found)
    setFound(null)
  }
  const beginAnew = () => {
    removeDraft(key)
    setFound(null)
  }
  return (
    <div class="form card">
      <p>{formWords.begun(timeText(found.at))}</p>
      <div class="buttons">
        <button type="button" class="main" onClick={goOn}>
          {formWords.goOn}
        </button>
        <button type="button" onClick={beginAnew}>
          {formWords.beginAnew}
        </button>
      </div>
    </div>
  )
}
