import type { FormList, JobRecord, ListedForm } from '@holdfast/client'
import { useMemo, useState } from 'preact/hooks'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { favourites } from './favourites.js'
import { FormTile } from './form-tile.js'
import { formsWords } from '../../words/en-forms.js'

/** Among so many of the newest jobs of a user the last run of each form is looked for. */
const LAST_RUNS = 200

/** The forms that one may launch: those that the user marked, and all of them by category. */
export function FormsPage() {
  const [text, setText] = useState('')
  const answer = useAnswer('forms', ['designer'], (signal) => api.listForms({ fields: false }, { signal }))
  const last = useLastRuns()
  return (
    <>
      <PageTitle text={formsWords.title} />
      <Content answer={answer}>
        {({ records, errors = [], files_left_out: files = [] }) => (
          <>
            {records.length > 0 && (
              <div class="filters" role="search">
                <label>
                  <span class="hidden">{formsWords.search}</span>
                  <input
                    type="search"
                    placeholder={formsWords.search}
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                  />
                </label>
              </div>
            )}
            <Categories forms={records.filter((form) => hasWords(form, text))} last={last} isFiltered={text !== ''} />
            <LeftOut errors={errors} />
            <FilesLeftOut files={files} />
          </>
        )}
      </Content>
    </>
  )
}

/** The newest job of each form that the user launched, by the name of the form. */
function useLastRuns(): ReadonlyMap<string, JobRecord> {
  const { value } = session
  const user = 'user' in value ? value.user : null
  const { value: list } = useAnswer('last-runs', ['jobs'], (signal) =>
    api.listJobs({ user: user?.username, user_type: user?.type, parts: false, records: LAST_RUNS }, { signal }),
  )
  return useMemo(() => new Map((list?.records ?? []).toReversed().map((job) => [job.form, job])), [list])
}

interface TilesProps {
  readonly forms: readonly ListedForm[]
  readonly last: ReadonlyMap<string, JobRecord>
}

function Categories({ forms, last, isFiltered }: TilesProps & { readonly isFiltered: boolean }) {
  if (forms.length === 0) return <Empty text={isFiltered ? formsWords.emptyFiltered : formsWords.empty} />
  const byCategory = new Map<string, ListedForm[]>()
  const marked = forms.filter(({ name }) => favourites.value.has(name))
  if (marked.length > 0) byCategory.set(formsWords.favourites, marked)
  for (const form of forms) {
    const category = form.categories[0] ?? formsWords.other
    byCategory.set(category, [...(byCategory.get(category) ?? []), form])
  }
  return (
    <>
      {[...byCategory].map(([category, members]) => (
        <section key={category} class="category">
          <h2>{category}</h2>
          <ul class="tiles">
            {members.map((form) => (
              <FormTile key={form.name} form={form} last={last.get(form.name)} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

/** For admins: what could not be loaded, and where. */
function LeftOut({ errors }: { readonly errors: NonNullable<FormList['errors']> }) {
  if (errors.length === 0) return null
  return (
    <details class="notice warn">
      <summary>{formsWords.leftOut(errors.length)}</summary>
      <ul>
        {errors.map(({ file, line, reason }) => (
          <li key={`${file}:${line}:${reason}`}>
            <code>{line === null ? file : `${file}:${line}`}</code> {reason}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** For admins: what of the playbook folder no runner gets, and why. */
function FilesLeftOut({ files }: { readonly files: NonNullable<FormList['files_left_out']> }) {
  if (files.length === 0) return null
  return (
    <details class="notice warn">
      <summary>{formsWords.filesLeftOut(files.length)}</summary>
      <ul>
        {files.map(({ path, reason }) => (
          <li key={`${path}:${reason}`}>
            <code>{path}</code> {reason}
          </li>
        ))}
      </ul>
    </details>
  )
}

function hasWords({ name, description }: ListedForm, text: string): boolean {
  const all = `${name} ${description ?? ''}`.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}
