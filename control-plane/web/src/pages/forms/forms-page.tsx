import type { FormList, ListedForm } from '@holdfast/client'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { words } from '../../words/en.js'

/** The forms that one may launch, by category. */
export function FormsPage() {
  const [text, setText] = useState('')
  const answer = useAnswer('forms', ['designer'], (signal) => api.listForms({ fields: false }, { signal }))
  return (
    <>
      <PageTitle text={words.forms.title} />
      <Content answer={answer}>
        {({ records, errors = [] }) => (
          <>
            {records.length > 0 && (
              <div class="filters" role="search">
                <label>
                  <span class="hidden">{words.forms.search}</span>
                  <input
                    type="search"
                    placeholder={words.forms.search}
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                  />
                </label>
              </div>
            )}
            <Categories forms={records.filter((form) => hasWords(form, text))} isFiltered={text !== ''} />
            <LeftOut errors={errors} />
          </>
        )}
      </Content>
    </>
  )
}

function Categories({ forms, isFiltered }: { readonly forms: readonly ListedForm[]; readonly isFiltered: boolean }) {
  if (forms.length === 0) return <Empty text={isFiltered ? words.forms.emptyFiltered : words.forms.empty} />
  const byCategory = new Map<string, ListedForm[]>()
  for (const form of forms) {
    const category = form.categories[0] ?? words.forms.other
    byCategory.set(category, [...(byCategory.get(category) ?? []), form])
  }
  return (
    <>
      {[...byCategory].map(([category, members]) => (
        <section key={category} class="category">
          <h2>{category}</h2>
          <ul class="tiles">
            {members.map(({ name, description }) => (
              <li key={name}>
                <a class="tile" href={addressOf(`/forms/${encodeURIComponent(name)}`)}>
                  <strong>{name}</strong>
                  {description !== null && <span class="soft">{description}</span>}
                </a>
              </li>
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
      <summary>{words.forms.leftOut(errors.length)}</summary>
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

function hasWords({ name, description }: ListedForm, text: string): boolean {
  const all = `${name} ${description ?? ''}`.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word))
}
